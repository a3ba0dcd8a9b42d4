"""The report's documents as files: written whole or not at all.

Owns file names. Refuses to leave half a file behind.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from dashboard.guarded_csv import guarded_csv
from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.page import report_page
from dashboard.monthly.tables import Table
from dashboard.monthly.workbook import workbook_bytes

FORMATS = ("xlsx", "html", "csv")


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
    """`table` as CSV under its columns' keys; a text that a spreadsheet would compute is quoted."""
    return guarded_csv(table.frame, [column.key for column in table.columns])


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
