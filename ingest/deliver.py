"""The path of one delivery: a source through its reader into the ledger, all of it or nothing.

Owns the order of things and the transaction around them. Refuses to hold more of a source than a
batch, and to commit half of one: a crash or an interrupt leaves the ledger as it was.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import msgspec

from ingest.calls.derive import derive_trace
from ingest.charging import charge, mark_stale
from ingest.config import Configuration
from ingest.files import RefusedSourceError, Source, open_sources
from ingest.ledger import Connection, Ledger
from ingest.readers import reader_named, recognise
from ingest.readers.reader import Reader
from ingest.records import Batch, Span
from ingest.redact import Redaction
from ingest.store.calls import CallStage, merge_calls
from ingest.store.deliveries import (
    Delivery,
    DeliveryCounts,
    RejectReason,
    keep_delivery,
    keep_rejects,
    next_delivery_id,
    reject_reasons,
)
from ingest.store.derived import stage_derived
from ingest.store.spans import merge_spans, spans_of_touched_traces, stage_spans
from ingest.store.statements import statement

Progress = Callable[[Source], None]
"""Told after every batch; `source.read_position()` says how far the reader is, in bytes."""

Clock = Callable[[], int]
"""Gives the present, nanoseconds since 1970."""

MAP_FACT = "map_digest"
"""The ledger's fact that tells with which `[map]` its calls were derived."""

MAX_KEY_BYTES = 64
"""More of a key the digest of a span's content does not take."""

TOUCHED_CALLS = "touched_calls"
"""The temp table of calls that entered the ledger or left it, for charging."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryResult:
    """What became of one source: its counts, or in `error` why it could not be read."""

    source: str
    format_name: str | None
    counts: DeliveryCounts | None = None
    reject_reasons: tuple[RejectReason, ...] = ()
    error: str | None = None
    is_companion: bool = False


def deliver_paths(  # noqa: PLR0913 - what and how, then three that only a few callers set
    ledger: Ledger,
    paths: Sequence[str],
    configuration: Configuration,
    *,
    format_name: str | None = None,
    map_override: Mapping[str, tuple[str, ...]] | None = None,
    progress: Progress | None = None,
    clock: Clock = time.time_ns,
) -> list[DeliveryResult]:
    """What became of each source under `paths`; one that cannot be read does not stop the others.

    Each source is a transaction of its own. Afterwards what they touched is charged again.
    `map_override` takes the place of the configured `[map]` for these sources alone. Raises the
    error of `reader_named` for an unknown `format_name`.
    """
    reader = None if format_name is None else reader_named(format_name)
    if not is_mapped(ledger, configuration):
        derive_again(ledger, configuration)
    terms = configuration
    if map_override is not None:
        terms = msgspec.structs.replace(configuration, map=dict(map_override))
    take = partial(deliver, ledger, configuration=terms, progress=progress, clock=clock)
    results = [_result(ledger, opened, reader, take) for opened in open_sources(paths)]
    charge(ledger, configuration)
    return results


def _result(
    ledger: Ledger,
    opened: Source | RefusedSourceError,
    reader: Reader | None,
    take: Callable[[Source, Reader], DeliveryCounts],
) -> DeliveryResult:
    name = None if reader is None else reader.name
    if isinstance(opened, RefusedSourceError):
        return DeliveryResult(source=opened.name, format_name=name, error=opened.found)
    try:
        reader = reader or recognise(opened)
        name = reader.name
        counts = take(opened, reader)
    except RefusedSourceError as error:
        return DeliveryResult(
            source=opened.name,
            format_name=name,
            error=error.found,
            is_companion=error.is_companion,
        )
    reasons = reject_reasons(ledger.connection) if counts.rejected else []
    return DeliveryResult(
        source=opened.name, format_name=name, counts=counts, reject_reasons=tuple(reasons)
    )


def deliver(  # noqa: PLR0913 - the parts of a delivery, and time as an argument
    ledger: Ledger,
    source: Source,
    reader: Reader,
    configuration: Configuration,
    progress: Progress | None = None,
    *,
    clock: Clock = time.time_ns,
) -> DeliveryCounts:
    """How many records of `source` were read, new, duplicate and rejected, once all are stored.

    One transaction; charges are marked stale and not computed. Raises `UnreadableSourceError`
    where the source turns out to be damaged, and then takes nothing of it.
    """
    with ledger.transaction() as connection:
        delivery = Delivery(
            delivery_id=next_delivery_id(connection),
            source=source.name,
            format_name=reader.name,
            checksum=source.checksum,
            delivered_at=clock(),
        )
        stage = _Stage(connection, delivery.delivery_id, configuration)
        for batch in reader.read(source):
            stage.take(batch)
            if progress is not None:
                progress(source)
        counts = stage.settle()
        keep_delivery(connection, delivery, counts)
    return counts


def is_mapped(ledger: Ledger, configuration: Configuration) -> bool:
    """Whether the calls of the ledger were derived with the `[map]` of `configuration`."""
    return ledger.fact(MAP_FACT) == _map_digest(configuration)


def derive_again(ledger: Ledger, configuration: Configuration) -> None:
    """Derive the calls of every trace of the ledger again, as `configuration` maps them now."""
    with ledger.transaction() as connection:
        stage = _Stage(connection, next_delivery_id(connection) - 1, configuration)
        connection.execute(statement("traces_touch_all"))
        stage.settle()
        ledger.set_fact(MAP_FACT, _map_digest(configuration))


def _map_digest(configuration: Configuration) -> str:
    return sha256(msgspec.json.encode(configuration.map, order="sorted")).hexdigest()


class _Stage:
    """One delivery's records on their way: taken batch by batch, settled together."""

    def __init__(
        self, connection: Connection, delivery_id: int, configuration: Configuration
    ) -> None:
        connection.execute(statement("stage"))
        self._connection = connection
        self._delivery_id = delivery_id
        self._configuration = configuration
        self._redaction = Redaction(configuration)
        self._key = (configuration.hash_key or "").encode()[:MAX_KEY_BYTES]
        self._calls = CallStage(connection, delivery_id)
        self._rejected_count = 0

    def take(self, batch: Batch) -> None:
        """Put the records of `batch` beside the ledger, its rejects into it."""
        clean = self._redaction.spans(batch.spans)
        rejects = stage_spans(
            self._connection,
            batch.spans,
            clean,
            delivery_id=self._delivery_id,
            key=self._key,
        )
        calls = [self._redaction.call(call) for call in batch.calls]
        rejects += self._calls.add(calls, is_derived=False)
        rejects += [self._redaction.reject(reject) for reject in batch.rejects]
        keep_rejects(self._connection, self._delivery_id, rejects)
        self._rejected_count += len(rejects)

    def settle(self) -> DeliveryCounts:
        """Merge what was taken into the ledger, derive the touched traces, mark charges stale."""
        spans = merge_spans(self._connection)
        for traces in spans_of_touched_traces(self._connection):
            self._derive(traces)
        calls = merge_calls(self._connection)
        mark_stale(self._connection, TOUCHED_CALLS)
        self._connection.execute(statement("unstage"))
        read = spans.read + calls.read
        new = spans.new + calls.new
        return DeliveryCounts(
            read=read + self._rejected_count,
            new=new,
            duplicate=read - new,
            rejected=self._rejected_count,
            conflict=spans.conflict + calls.conflict,
        )

    def _derive(self, traces: Sequence[Sequence[Span]]) -> None:
        derived = [derive_trace(spans, self._configuration) for spans in traces]
        calls = [self._redaction.call(call) for trace in derived for call in trace.calls]
        self._calls.add(calls, is_derived=True)
        stage_derived(self._connection, derived, self._delivery_id)
