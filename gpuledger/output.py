"""A frame as a table, CSV or JSON on stdout, with the same rows and columns in each.

Owns stdout: data goes there and nothing else does. CSV and JSON carry every digit; a table rounds
for the eye. Where a terminal is too narrow for it, it is cut into bands of columns, or becomes
records, where it has many.
"""

import csv
import io
import math
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import click
import msgspec
import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from analysis.money import money_places, rounded, rounded_to_total, total
from gpuledger.records import record_lines

Format = Literal["table", "csv", "json"]
Row = dict[str, Any]
MISSING = "–"
ADDING_UP = "cost"
"""The column whose cells are lines of one bill."""
ALL_COST = {"cost", "cost_with_idle"}
"""Where both are shown, equal amounts have equal texts, and neither is rounded to its sum."""
ROUNDED_SCALE = 3
"""A column of at most so many places was rounded by its question, and is shown as it is."""
COLUMN_GAP = 3
MAX_CELL_WIDTH = 60
"""Of a terminal's table; longer texts are folded there, and nowhere else."""
UNLIMITED_WIDTH = 100_000
MOST_COLUMNS = 24
"""Rows of more columns than these are read one by one, not compared: they become records."""

_json_encoder = msgspec.json.Encoder(decimal_format="number")


def write_frame(frame: pl.DataFrame, output_format: Format, title: str | None = None) -> None:
    """Print `frame` on stdout in `output_format`; `title` heads a table only."""
    rows = frame.to_dicts()
    if output_format == "json":
        write_json(rows)
    elif output_format == "csv":
        _write_csv(frame.columns, rows)
    else:
        _write_table(frame, title)


def write_json(value: Any) -> None:
    """Print `value` as indented JSON; a number that is not finite is null, as JSON demands."""
    click.echo(msgspec.json.format(_json_encoder.encode(_finite(value)), indent=2).decode())


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _write_csv(columns: Sequence[str], rows: Sequence[Row]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_csv_text(row[name]) for name in columns] for row in rows])
    click.echo(buffer.getvalue(), nl=False)


def _csv_text(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:f}" if isinstance(value, Decimal) else value


def _write_table(frame: pl.DataFrame, title: str | None) -> None:
    console = Console(file=sys.stdout, markup=False, highlight=False)
    is_terminal = sys.stdout.isatty()
    console.width = console.width if is_terminal else UNLIMITED_WIDTH
    widest_cell = MAX_CELL_WIDTH if is_terminal else UNLIMITED_WIDTH
    is_bill = not set(frame.columns) >= ALL_COST
    texts = {name: _column_texts(frame[name], is_bill=is_bill) for name in frame.columns}
    widths = {
        name: min(max(map(len, [name, *cells])), widest_cell) for name, cells in texts.items()
    }
    bands = column_bands(frame, widths, console.width)
    if len(bands) > 1 and frame.width > MOST_COLUMNS:
        lines = record_lines(texts, console.width, widest_cell)
        click.echo("\n".join([*([title] if title else []), *lines]))
        return
    for number, band in enumerate(bands):
        table = Table(box=box.SIMPLE_HEAD, title_justify="left", header_style="bold")
        table.title = title if number == 0 else None
        for name in band:
            justify: Literal["left", "right"] = (
                "right" if frame.schema[name].is_numeric() else "left"
            )
            table.add_column(name, justify=justify, overflow="fold", max_width=widest_cell)
        for cells in zip(*(texts[name] for name in band), strict=True):
            table.add_row(*cells)
        console.print(table)


def column_bands(frame: pl.DataFrame, widths: dict[str, int], width: int) -> list[list[str]]:
    """The columns in as few bands of at most `width` characters as keep their order.

    The text columns that a frame begins with say what a row is, so each band begins with those of
    them that leave it half of the width.
    """
    labels: list[str] = []
    margin = COLUMN_GAP
    for name in frame.columns:
        needed = widths[name] + COLUMN_GAP
        if frame.schema[name].is_numeric() or margin + needed > width // 2:
            break
        labels.append(name)
        margin += needed
    bands: list[list[str]] = [[]]
    used = margin
    for name in frame.columns[len(labels) :]:
        needed = widths[name] + COLUMN_GAP
        if bands[-1] and used + needed > width:
            bands.append([])
            used = margin
        bands[-1].append(name)
        used += needed
    return [labels + band for band in bands]


def _column_texts(column: pl.Series, *, is_bill: bool) -> list[str]:
    if isinstance(column.dtype, pl.Decimal) and column.dtype.scale <= ROUNDED_SCALE:
        places = column.dtype.scale
        return [MISSING if value is None else f"{value:,.{places}f}" for value in column.to_list()]
    if column.dtype.is_decimal():
        return _money_texts(column.to_list(), adds_up=is_bill and column.name == ADDING_UP)
    return [cell_text(value) for value in column.to_list()]


def _money_texts(values: Sequence[Decimal | None], *, adds_up: bool = False) -> list[str]:
    """Amounts of one column with as many decimals as its largest needs: cents, or millionths.

    Where the column adds up, what is shown adds up to the rounded sum.
    """
    known = [value for value in values if value is not None]
    places = money_places(known)
    quantum = Decimal(1).scaleb(-places)
    shown = known
    if adds_up:
        shown = rounded_to_total(known, rounded(total(known), quantum), quantum)
    texts = iter(shown)
    return [MISSING if value is None else f"{next(texts):,.{places}f}" for value in values]


def cell_text(value: Any) -> str:
    """The text of one table cell: a dash for what is not known, six significant digits.

    Control characters are spelled out, so that no name can write on the terminal.
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        unsigned = abs(value) if value == 0 else value
        return f"{value:,.0f}" if abs(value) >= 100_000 else f"{unsigned:,.6g}"
    if isinstance(value, Decimal):
        return _money_texts([value])[0]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
