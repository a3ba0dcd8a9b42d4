"""The levers for a terminal: a block each, for its sentences are too long for the cells of a table.

Owns that layout. Refuses to leave a cell out that has a value, and to write past the width.
"""

from collections.abc import Iterator

import polars as pl
from rich.cells import cell_len

from gpuledger.output import cell_text

INDENT, GAP = 4, 3
HEADING = ("number", "lever")
FIGURES = (
    ("tier", "letter", "applies", "evaluate"),
    ("attributed_gpu_seconds", "alone_gpu_seconds", "busy_ratio"),
    ("attributed_cost", "alone_cost", "currency", "bill_ratio", "unpriced_call_count"),
)
SENTENCES = ("evidence", "missing", "risk")
LABEL_WIDTH = max(map(len, SENTENCES)) + GAP


def block_lines(frame: pl.DataFrame, width: int) -> Iterator[str]:
    """The rows of `gpuledger levers` as lines of at most `width` characters, as far as words fit.

    A cell without a value is left out.
    """
    for row in frame.iter_rows(named=True):
        number, name = (cell_text(row[column]) for column in HEADING)
        yield f"{number:>{INDENT - 1}} {name}"
        for columns in FIGURES:
            told = [column for column in columns if row[column] is not None]
            cells = [f"{column} {cell_text(row[column])}" for column in told]
            yield from _wrapped(cells, " " * GAP, width)
        for column in SENTENCES:
            if row[column] is not None:
                label = f"{column:<{LABEL_WIDTH}}"
                words = cell_text(row[column]).split(" ")
                yield from _wrapped(words, " ", width, label)


def _wrapped(parts: list[str], between: str, width: int, label: str = "") -> Iterator[str]:
    """`parts` in lines of at most `width`, below each other behind `label`."""
    margin, line = " " * INDENT + label, ""
    for part in parts:
        longer = f"{line}{between}{part}" if line else part
        if line and cell_len(margin) + cell_len(longer) > width:
            yield margin + line
            margin, longer = " " * (INDENT + len(label)), part
        line = longer
    if line:
        yield margin + line
