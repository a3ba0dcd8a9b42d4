"""What was read of a source, until all of it is: then it enters the ledger part by part.

Owns the cut into parts. A part is small enough that the ledger is soon free for others, and holds
whole traces, so that each is derived once in whatever order its spans stand. Refuses to grow: what
is more than a part waits in a database of its own, which writes to the disk beyond a limit.
"""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from ingest.ledger import Connection, open_scratch
from ingest.rows import Rows, together
from ingest.store.statements import statement

PART_RECORDS = 8_000
"""Records of each kind in a part, about; a larger trace is a part of its own."""
PART_BYTES = 64 * 2**20
"""Bytes of a part's texts, about."""
MEMORY_LIMIT = "128MB"
"""Of what waits; the rest is on the disk."""


class Hold:
    """Rows on their way. `beside` is the ledger's file, next to which there is room for them."""

    def __init__(self, nothing: Rows, beside: Path | None) -> None:
        self._nothing = nothing
        self._beside = beside
        self._shares: list[Rows] = []
        self._count = self._size_bytes = 0
        self._scratch: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._scratch is not None:
            self._scratch.close()

    @property
    def is_large(self) -> bool:
        """Whether it holds more than a part."""
        return self._count > PART_RECORDS or self._size_bytes > PART_BYTES

    def add(self, rows: Rows) -> None:
        """Keep `rows` behind those that are there."""
        self._count += rows.count
        self._size_bytes += rows.size_bytes
        self._shares.append(rows)
        if self.is_large:
            self._put_aside()

    def parts(self) -> Iterator[Rows]:
        """All that was added; at least one part. Nothing can be added any more."""
        if self._scratch is None:
            yield together([self._nothing, *self._shares])
            return
        terms = {"part_records": PART_RECORDS, "part_bytes": PART_BYTES}
        self._scratch.execute(statement("held_plan"), terms)
        ((last,),) = self._scratch.execute("select max(part_no) from held_parts").fetchall()
        for part_no in range(int(last) + 1):
            yield _part(self._scratch, part_no)

    def _put_aside(self) -> None:
        scratch = self._scratch
        if scratch is None:
            scratch = self._scratch = open_scratch(self._beside, memory_limit=MEMORY_LIMIT)
            for name, table in self._nothing.tables().items():
                scratch.from_arrow(table).create(f"held_{name}")
            scratch.execute("begin transaction")
        for name, table in together(self._shares).tables().items():
            if table.num_rows:
                scratch.from_arrow(table).insert_into(f"held_{name}")
        self._shares = []


def _part(scratch: Connection, part_no: int) -> Rows:
    def read(name: str) -> pa.Table:
        relation = scratch.sql(statement(f"held_{name}"), params={"part_no": part_no})
        table: pa.Table = relation.to_arrow_table()
        return table

    return Rows(**{each.name: read(each.name) for each in fields(Rows)})
