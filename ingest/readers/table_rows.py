"""Rows of a file of records, whatever holds them: CSV, JSON, JSON lines or Parquet.

Owns the names of the columns that a file shows before its rows. Refuses to hold more of a Parquet
file than a batch of rows.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ingest.files import Source
from ingest.readers.csv_rows import csv_rows, header_cells
from ingest.readers.documents import Document, records
from ingest.readers.foreign import PARQUET_MAGIC
from ingest.readers.instants import NS_PER_S
from ingest.readers.opening import begins_as_json, opening
from ingest.records import Reject

_BATCH_ROWS = 5_000


def is_parquet(source: Source) -> bool:
    """Whether the source is a Parquet file."""
    return source.head.startswith(PARQUET_MAGIC)


def named_columns(source: Source) -> tuple[str, ...]:
    """The columns that the file names before its rows; those of the first object in JSON.

    Raises `UnreadableSourceError` for a damaged Parquet file.
    """
    if is_parquet(source):
        with _parquet(source) as file:
            return tuple(file.schema_arrow.names)
    first = opening(source.head)
    return tuple(sorted(first.keys)) or tuple(header_cells(first.first_line))


def has_fixed_columns(source: Source) -> bool:
    """Whether every row has the columns that the file names; records of JSON may lack some."""
    return is_parquet(source) or not begins_as_json(source.head)


def table_rows(source: Source) -> Iterator[Document | Reject]:
    """Each row as an object by column, with its position; or the reject in its place.

    Raises `UnreadableSourceError` where there is none.
    """
    if is_parquet(source):
        return _parquet_rows(source)
    return csv_rows(source) if has_fixed_columns(source) else records(source)


def _parquet_rows(source: Source) -> Iterator[Document | Reject]:
    number = 0
    with _parquet(source) as file:
        try:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                columns = [_values(column) for column in batch.columns]
                for values in zip(*columns, strict=True):
                    number += 1
                    row = dict(zip(batch.schema.names, values, strict=True))
                    yield Document(f"row {number}", row)
        except (pa.ArrowException, OSError) as error:
            raise source.refusal(f"a damaged Parquet file: {error}") from error


@contextmanager
def _parquet(source: Source) -> Iterator[parquet.ParquetFile]:
    """The file with its footer read, from a copy on disk: the source is read forward only."""
    with tempfile.TemporaryFile() as copy:
        with source.open() as stream:
            shutil.copyfileobj(stream, copy)
        copy.seek(0)
        try:
            file = parquet.ParquetFile(copy)
        except (pa.ArrowException, OSError) as error:
            raise source.refusal(f"a damaged Parquet file: {error}") from error
        with file:
            yield file


def _values(column: "pa.Array[Any]") -> Sequence[Any]:
    """The values of a column; instants in nanoseconds as text, which keeps every digit."""
    kind = column.type
    if not pa.types.is_timestamp(kind) or kind.unit != "ns":
        return column.to_pylist()
    counts = column.cast(pa.int64()).to_pylist()
    zone = "" if kind.tz is None else "Z"
    return [None if count is None else _instant_text(count) + zone for count in counts]


def _instant_text(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, NS_PER_S)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}"
