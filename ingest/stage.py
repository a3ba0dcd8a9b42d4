"""One delivery's records between the reader and the ledger.

Owns the staging tables and the order in which they are merged: spans, then what is derived from
their traces, then calls; samples of engines by themselves. Refuses to open a transaction: whoever
delivers does.
"""

from collections.abc import Sequence

import pyarrow as pa

from ingest.calls.derive import derive_trace
from ingest.charging import mark_stale
from ingest.config import Configuration
from ingest.ledger import Connection
from ingest.records import Span
from ingest.redact import Redaction
from ingest.rows import Rows
from ingest.store.calls import CallStage, CallTables
from ingest.store.deliveries import DeliveryCounts, keep_rejects
from ingest.store.derived import stage_derived
from ingest.store.links import merge_linked_calls
from ingest.store.samples import merge_samples, stage_sample_table
from ingest.store.spans import merge_spans, spans_of_touched_traces, stage_span_table
from ingest.store.statements import statement

TOUCHED_CALLS = "touched_calls"
"""The temp table of calls that entered the ledger or left it, for charging."""


class Stage:
    """One delivery's records on their way: taken batch by batch, settled together."""

    def __init__(
        self, connection: Connection, delivery_id: int, configuration: Configuration
    ) -> None:
        connection.execute(statement("stage"))
        self._connection = connection
        self._delivery_id = delivery_id
        self._configuration = configuration
        self._redaction = Redaction(configuration)
        self._calls = CallStage(connection, delivery_id)
        self._rejected_count = 0
        self._ignored_count = 0

    def take(self, rows: Rows) -> None:
        """Put `rows` beside the ledger, its rejects into it."""
        self._calls.put(CallTables(rows.calls, rows.cohorts))
        stage_sample_table(self._connection, rows.samples, delivery_id=self._delivery_id)
        self.take_spans(rows.spans, rows.rejects, 0)

    def take_spans(self, spans: pa.Table, rejects: pa.Table, ignored_count: int) -> None:
        """Put rows of `SPAN_SCHEMA` beside the ledger that were made when they were received."""
        stage_span_table(self._connection, spans, delivery_id=self._delivery_id)
        self._keep(rejects, ignored_count)

    def take_samples(self, samples: pa.Table, rejects: pa.Table, ignored_count: int) -> None:
        """Put rows of `SAMPLE_SCHEMA` beside the ledger that were made when they were received."""
        stage_sample_table(self._connection, samples, delivery_id=self._delivery_id)
        self._keep(rejects, ignored_count)

    def _keep(self, rejects: pa.Table, ignored_count: int) -> None:
        """Store what could not be taken, and count it with the values that no question reads."""
        keep_rejects(self._connection, self._delivery_id, rejects)
        self._rejected_count += rejects.num_rows
        self._ignored_count += ignored_count

    def settle(self) -> DeliveryCounts:
        """Merge what was taken into the ledger, derive the touched traces, mark charges stale."""
        spans = merge_spans(self._connection)
        for traces in spans_of_touched_traces(self._connection):
            self._derive(traces)
        calls = merge_linked_calls(self._connection, self._calls)
        samples = merge_samples(self._connection)
        mark_stale(self._connection, TOUCHED_CALLS)
        self._connection.execute(statement("unstage"))
        read = spans.read + calls.read + samples.read
        new = spans.new + calls.new + samples.new
        return DeliveryCounts(
            read=read + self._rejected_count,
            new=new,
            duplicate=read - new,
            rejected=self._rejected_count,
            conflict=spans.conflict + calls.conflict + samples.conflict,
            ignored=self._ignored_count,
        )

    def _derive(self, traces: Sequence[Sequence[Span]]) -> None:
        derived = [derive_trace(spans, self._configuration) for spans in traces]
        calls = [self._redaction.call(call) for trace in derived for call in trace.calls]
        self._calls.add(calls, is_derived=True)
        stage_derived(self._connection, derived, self._delivery_id)
