"""Rows of a CSV file as objects, with the line on which each begins.

Owns quoted cells, also those over many lines, and the choice of the separator. Refuses a cell of
more than 64 MiB: a quote that is never closed must not swallow a file.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator

from ingest.files import Source
from ingest.files.content import UTF8_BOM
from ingest.readers.documents import Document, records
from ingest.readers.opening import opening
from ingest.readers.rejection import rejected
from ingest.records import Reject

MAX_CELL_CHARACTERS = 64 * 2**20
_SEPARATORS = (",", ";", "\t")

csv.field_size_limit(MAX_CELL_CHARACTERS)


def header_cells(first_line: bytes) -> list[str]:
    """The names of the columns that a file's first line holds."""
    text = first_line.removeprefix(UTF8_BOM).decode("utf-8", "replace")
    try:
        cells = next(csv.reader([text], delimiter=_separator(text)), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def rows_or_records(
    source: Source, is_header: Callable[[frozenset[str]], bool]
) -> Iterator[Document | Reject]:
    """The rows of a CSV file where its first line is such a header, else its JSON records."""
    first = opening(source.head)
    if not first.keys and is_header(frozenset(header_cells(first.first_line))):
        return csv_rows(source)
    return records(source)


def csv_rows(source: Source) -> Iterator[Document | Reject]:
    """Each row as an object of texts by column, an empty cell as None; or its reject.

    Raises `UnreadableSourceError` where there is no header.
    """
    with source.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
        header_number, first = _first_line(text)
        columns = header_cells(first.encode())
        if not any(columns):
            raise source.refusal("a CSV file without a header")
        yield from _rows(columns, text, _separator(first), header_number)


def _first_line(text: io.TextIOWrapper) -> tuple[int, str]:
    """The first line that is not blank, without its end, and its number."""
    for number, line in enumerate(text, 1):
        if line.strip():
            return number, line.rstrip("\r\n")
    return 0, ""


def _rows(
    columns: list[str], text: Iterable[str], separator: str, header_number: int
) -> Iterator[Document | Reject]:
    reader = csv.reader(text, delimiter=separator)
    while True:
        position = f"line {header_number + reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield rejected(position, f"no valid CSV: {error}")
            continue
        if len(cells) == len(columns):
            yield Document(position, {c: v or None for c, v in zip(columns, cells, strict=True)})
        elif any(cell.strip() for cell in cells):
            reason = f"{len(cells)} cells in a row, {len(columns)} in the header"
            yield rejected(position, reason, ",".join(cells))


def _separator(header: str) -> str:
    """What separates the most cells of a header; a comma where nothing does."""
    return max(_SEPARATORS, key=header.count)
