"""What is derived from the spans of touched traces, put beside the ledger.

Owns the staging of tools and retrievals. Refuses to derive: `ingest.calls` does.
"""

from collections.abc import Sequence
from operator import attrgetter

import pyarrow as pa

from ingest.calls.derive import Derived
from ingest.ledger import Connection
from ingest.store.arrow import append, arrow_table
from ingest.store.statements import statement


def stage_derived(connection: Connection, derived: Sequence[Derived], delivery_id: int) -> None:
    """Stage the tool runs and retrievals of `derived`."""
    tools = [run for trace in derived for run in trace.tool_runs]
    retrievals = [found for trace in derived for found in trace.retrievals]
    _stage(connection, "staged_tool_runs", "tool_runs_append", tools, delivery_id)
    _stage(connection, "staged_retrievals", "retrievals_append", retrievals, delivery_id)


def _stage(
    connection: Connection, table: str, name: str, records: Sequence[object], delivery_id: int
) -> None:
    if not records:
        return
    schema: pa.Schema = connection.table(table).limit(0).to_arrow_table().schema
    columns = [column for column in schema.names if column != "delivery_id"]
    values_of = attrgetter(*columns)
    rows = [(*values_of(record), delivery_id) for record in records]
    schema = pa.schema([schema.field(column) for column in (*columns, "delivery_id")])
    append(connection, statement(name), arrow_table(rows, schema))
