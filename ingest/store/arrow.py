"""Records as Arrow tables, and those into a staging table.

Owns the one way in which Python values become rows. Refuses nothing by the batch: where a value
does not fit its column, that record alone is set aside with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ingest.ledger import Connection

Row = tuple[Any, ...]

UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError)
"""What Arrow raises for a value that its column cannot hold."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """The row at `index` cannot be stored; `reason` says which value is at fault."""

    index: int
    reason: str


def arrow_table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """`rows` as columns of `schema`; raises one of `UNFIT` where a value does not fit."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def fitting_table(rows: Sequence[Row], schema: pa.Schema) -> tuple[pa.Table, list[Unfit]]:
    """The rows that fit `schema`, and the others with the reason; only those cost a second look."""
    try:
        return arrow_table(rows, schema), []
    except UNFIT:
        unfit = [
            Unfit(index, reason)
            for index, row in enumerate(rows)
            if (reason := _misfit(row, schema)) is not None
        ]
        left_out = {row.index for row in unfit}
        fitting = [row for index, row in enumerate(rows) if index not in left_out]
        return arrow_table(fitting, schema), unfit


def _misfit(row: Row, schema: pa.Schema) -> str | None:
    for value, field in zip(row, schema, strict=True):
        try:
            pa.array([value], field.type)
        except UNFIT as error:
            return f"{field.name} cannot be stored: {error}"
    return None


def append(
    connection: Connection,
    statement: str,
    arriving: pa.Table,
    values: Mapping[str, object] | None = None,
) -> None:
    """Run `statement`, which reads the rows of `arriving` under that name, and `values` by name."""
    connection.register("arriving", arriving)
    try:
        connection.execute(statement, values)
    finally:
        connection.unregister("arriving")
