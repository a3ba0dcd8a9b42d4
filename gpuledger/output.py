"""A frame as a table, CSV or JSON on stdout, with the same cells in each.

Owns stdout: data goes there and nothing else does. Refuses to round: a table shows what JSON has,
shortened only by the number format of a column.
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
from rich.console import Console
from rich.table import Table

Format = Literal["table", "csv", "json"]
MISSING = "–"

_json_encoder = msgspec.json.Encoder(decimal_format="number")


def write_frame(frame: pl.DataFrame, output_format: Format, title: str | None = None) -> None:
    """Print `frame` on stdout in `output_format`; `title` heads a table only."""
    rows = frame.to_dicts()
    if output_format == "json":
        write_json(rows)
    elif output_format == "csv":
        _write_csv(frame.columns, rows)
    else:
        _write_table(frame, rows, title)


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


def _write_csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if row[c] is None else row[c] for c in columns] for row in rows])
    click.echo(buffer.getvalue(), nl=False)


def _write_table(frame: pl.DataFrame, rows: Sequence[dict[str, Any]], title: str | None) -> None:
    table = Table(title=title, title_justify="left", header_style="bold")
    for name, kind in frame.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in rows:
        table.add_row(*[cell_text(value) for value in row.values()])
    width = None if sys.stdout.isatty() else 10_000
    Console(file=sys.stdout, width=width, markup=False, highlight=False).print(table)


def cell_text(value: Any) -> str:
    """The text of one table cell: a dash for what is not known, six significant digits."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 1e5 else f"{value:,.6g}"
    if isinstance(value, Decimal):
        return f"{value:,.2f}" if abs(value) >= 1 else f"{value:,.6f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)
