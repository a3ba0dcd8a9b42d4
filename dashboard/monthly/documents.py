"""The report's documents as files: written whole or not at all.

Owns file names and how a plain table guards its texts. Refuses to leave half a file behind.
"""

import csv
import os
import tempfile
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.page import report_page
from dashboard.monthly.tables import Table
from dashboard.monthly.workbook import workbook_bytes

FORMATS = ("xlsx", "html", "csv")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_report(figures: MonthlyFigures, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The files written into `folder`, which is created where absent; older ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in _documents(figures, formats):
        path = folder / name
        replace_file(path, content)
        written.append(path)
    return written


def table_csv(table: Table) -> str:
    """`table` as CSV under its columns' keys; a text that a spreadsheet would compute is quoted.

    Such a text (it begins with = + - @, a tab or a carriage return) gets a leading apostrophe.
    """
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    for row in table.frame.iter_rows(named=True):
        writer.writerow([_csv_cell(row[column.key]) for column in table.columns])
    return buffer.getvalue()


def replace_file(path: Path, content: bytes) -> None:
    """`content` under `path`: a reader sees the old file or the new one, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _documents(figures: MonthlyFigures, formats: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    stem = f"gpuledger-{figures.month}"
    if "xlsx" in formats:
        yield f"{stem}.xlsx", workbook_bytes(figures)
    if "html" in formats:
        yield f"{stem}.html", report_page(figures).encode()
    if "csv" in formats:
        for table in figures.tables():
            ending = table.name.lower().replace(" ", "-")
            yield f"{stem}-{ending}.csv", table_csv(table).encode()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value
