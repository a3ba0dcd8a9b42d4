"""Tables as CSV that a spreadsheet may open.

Owns how a text is kept from being computed. Refuses to round: what is written is the frame.
"""

import csv
from collections.abc import Sequence
from typing import Any

import polars as pl

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

QUOTED_BREAK = "\r\n"
"""The csv module quotes a text with a character of its own row end: here each kind of break."""


def guarded_csv(frame: pl.DataFrame, columns: Sequence[str] | None = None) -> str:
    """`columns` of `frame` (all where None) under their names; what is not known is empty.

    A text that a spreadsheet would compute (it begins with = + - @ in any width, a tab or a line
    break) gets a leading apostrophe.
    """
    shown = frame.columns if columns is None else list(columns)
    rows = _Rows()
    writer = csv.writer(rows, lineterminator=QUOTED_BREAK)
    writer.writerow(shown)
    for row in frame.select(shown).iter_rows():
        writer.writerow([_cell(value) for value in row])
    return "".join(rows.written)


class _Rows:
    """Rows as the csv module writes them, each ended by a plain line break."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, row: str) -> None:
        """Take one row."""
        self.written.append(row.removesuffix(QUOTED_BREAK) + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value
