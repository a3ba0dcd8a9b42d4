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
from ingest.records import Batch, Reject, Span
from ingest.redact import Redaction
from ingest.store.calls import CallStage
from ingest.store.deliveries import DeliveryCounts, keep_rejects, rejects_table
from ingest.store.derived import stage_derived
from ingest.store.links import merge_linked_calls
from ingest.store.samples import merge_samples, stage_sample_table, stage_samples
from ingest.store.spans import (
    digest_key,
    merge_spans,
    spans_of_touched_traces,
    stage_span_table,
    stage_spans,
)
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
        self._key = digest_key(configuration)
        self._calls = CallStage(connection, delivery_id)
        self._rejected_count = 0
        self._ignored_count = 0

    def take(self, batch: Batch) -> None:
        """Put the records of `batch` beside the ledger, its rejects into it."""
        clean = self._redaction.spans(batch.spans)
        rejects = stage_spans(
            self._connection,
            self._redaction.weighed(batch.spans, clean),
            clean,
            delivery_id=self._delivery_id,
            key=self._key,
        )
        calls = self._redaction.calls(batch.calls)
        rejects += self._calls.add(calls, is_derived=False)
        rejects += self._stage_samples(batch)
        rejects = list(self._redaction.rejects([*rejects, *batch.rejects]))
        self._keep(rejects_table(rejects), batch.ignored_count)

    def _stage_samples(self, batch: Batch) -> list[Reject]:
        samples = self._redaction.samples(batch.samples)
        return stage_samples(self._connection, samples, delivery_id=self._delivery_id)

    def take_rows(self, spans: pa.Table, rejects: pa.Table, ignored_count: int = 0) -> None:
        """Put rows beside the ledger that were made, and redacted, when they were received."""
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
            masked=self._redaction.masked,
        )

    def _derive(self, traces: Sequence[Sequence[Span]]) -> None:
        derived = [derive_trace(spans, self._configuration) for spans in traces]
        calls = [self._redaction.call(call) for trace in derived for call in trace.calls]
        self._calls.add(calls, is_derived=True)
        stage_derived(self._connection, derived, self._delivery_id)
