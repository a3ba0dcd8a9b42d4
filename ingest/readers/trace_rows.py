"""Rows of a published trace as calls: CSV whose cells hold neither commas nor ends of lines.

Owns the columns that such a file must have, and the line at which a bad row stands. Refuses a row
of more or fewer cells than the header has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ingest.files import Source
from ingest.readers.documents import lines
from ingest.readers.opening import opening
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Call, Reject

Row = Mapping[str, str | None]
"""The cells of a row by column; an empty one is None."""


def has_columns(head: bytes, columns: Sequence[str]) -> bool:
    """Whether the first line is a header with all of `columns`."""
    return set(_cells(opening(head).first_line)) >= set(columns)


def calls_of_rows(
    source: Source, columns: Sequence[str], call_of: Callable[[Row], Call]
) -> Iterator[Call | Reject]:
    """What `call_of` makes of each row, or the row's reject where that raises `ValueError`.

    Raises `UnreadableSourceError` where the header lacks one of `columns`.
    """
    with source.open() as stream:
        rows = lines(stream)
        _, header = next(rows, (0, b""))
        names = _cells(header)
        if missing := [column for column in columns if column not in names]:
            raise source.refusal(f"a CSV file without the column {missing[0]}")
        for number, row in rows:
            try:
                yield call_of(_row(names, _cells(row)))
            except ValueError as error:
                yield rejected(f"line {number}", error, row)


def _cells(line: bytes) -> list[str]:
    return [cell.strip().strip('"') for cell in line.decode("utf-8", "replace").split(",")]


def _row(names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        raise RecordError(f"{len(cells)} cells in a row, {len(names)} in the header")
    return {name: cell or None for name, cell in zip(names, cells, strict=True)}
