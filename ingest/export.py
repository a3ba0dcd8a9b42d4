"""The ledger as files: the native format, and Parquet for other tools.

Owns the promise that a ledger exported and ingested again is the same ledger. Refuses to compute
anything: what is exported is what is stored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ingest.ledger import Connection
from ingest.store.statements import statement

EXPORT_ROWS = 5_000
"""Calls that are held in memory while they are written."""

PARQUET_TABLES = ("calls", "cohorts", "charges", "token_charges", "pools")


def write_native(connection: Connection, out: BinaryIO) -> int:
    """How many calls were written to `out`, one JSON object a line; what is not known is left out.

    Money is written as a number with all its digits, instants as integer nanoseconds.
    """
    encoder = msgspec.json.Encoder(decimal_format="number")
    count = 0
    reader = connection.sql(statement("calls_export")).to_arrow_reader(EXPORT_ROWS)
    for batch in reader:
        lines = [encoder.encode(_known(row)) for row in batch.to_pylist()]
        out.write(b"".join(line + b"\n" for line in lines))
        count += len(lines)
    return count


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def write_parquet(connection: Connection, folder: Path) -> list[Path]:
    """The files written to `folder`, one a table: the calls, and what they were charged."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in PARQUET_TABLES:
        path = folder / f"{table}.parquet"
        connection.table(table).write_parquet(str(path), compression="zstd")
        written.append(path)
    return written
