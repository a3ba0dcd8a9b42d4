"""Reads request lifecycles of one vLLM engine: arrival on one clock, phases on another.

Owns the one offset that places the engine's monotonic clock in time. Refuses to subtract across
the clocks: queue, prefill and decode come from the monotonic one alone.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.calls.timing import LATEST_AT, quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import Document, records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import held, instant_of_seconds
from ingest.readers.json_text import loads
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of, seconds_or_none, tokens_of
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"input_toks", "output_toks", "arrival_time", "queued_ts"})
_PHASES = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
_META = "meta.json"


@dataclass(frozen=True, slots=True)
class _Engine:
    """What is known of the engine of a file, and when its monotonic clock was zero."""

    model: str | None
    replica: str
    clock_zero_at: int | None


class VllmLifecycle:
    """Request lifecycles of one vLLM engine."""

    name = "vllm-lifecycle"
    title = "vLLM request lifecycles, JSON lines"
    recognised_by = "JSON lines with input_toks, output_toks, arrival_time and queued_ts"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a lifecycle."""
        return opening(head).keys >= _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls; the file is read twice, first for the offset of its clocks."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    engine = _engine(source)
    occurrences = Occurrences(VllmLifecycle.name)
    for document in records(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(document.value, engine, occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _engine(source: Source) -> _Engine:
    """The engine of a file: its model from the meta.json beside it, its clock from all records.

    The clock's zero is the latest of arrival minus queueing: the earliest with which no request
    queues before it arrives.
    """
    digest = hashlib.sha256()
    clock_zero_at: int | None = None
    for document in records(source, names_nan=True):
        if isinstance(document, Document):
            zero_at = _clock_zero(document.value)
            if zero_at is not None:
                digest.update(b"%d," % zero_at)
                clock_zero_at = zero_at if clock_zero_at is None else max(clock_zero_at, zero_at)
    meta = source.sibling(_META)
    named_by = digest if meta is None else hashlib.sha256(meta)
    return _Engine(
        model=None if meta is None else _model(meta),
        replica=f"vllm-{named_by.hexdigest()[:12]}",
        clock_zero_at=clock_zero_at,
    )


def _clock_zero(value: Json) -> int | None:
    """When the monotonic clock was zero if this request queued the moment it arrived."""
    try:
        record = record_of(value)
        arrived_at, queued = _at(record, "arrival_time"), _at(record, "queued_ts")
    except ValueError:
        return None
    if arrived_at is None or queued is None or max(abs(arrived_at), abs(queued)) >= LATEST_AT:
        return None
    return arrived_at - queued


def _model(meta: bytes) -> str | None:
    try:
        value = loads(meta)
    except ValueError:
        return None
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) and model else None


def _call_of(value: Json, engine: _Engine, occurrences: Occurrences) -> Call:
    record = record_of(value)
    if engine.clock_zero_at is None:
        raise RecordError("no record of the file has both arrival_time and queued_ts")
    queued, scheduled, first_token, last_token = (
        _placed(_at(record, key), engine.clock_zero_at) for key in _PHASES
    )
    counts = buckets(
        input_tokens=tokens_of(record, "input_toks"), output_tokens=tokens_of(record, "output_toks")
    )
    call: dict[str, Any] = {
        "timing_source": "engine",
        "timing_quality": quality(queued, scheduled, first_token, last_token),
        "model": engine.model,
        "replica": engine.replica,
        "arrived_at": queued,
        "started_at": scheduled,
        "first_token_at": first_token,
        "ended_at": last_token,
        **counts.columns(),
    }
    return Call(identity=occurrences.identity(canonical_bytes(record)), **with_notes(call))


def _at(record: dict[str, Json], key: str) -> int | None:
    """Nanoseconds on the clock of the field; None where it is absent."""
    seconds = seconds_or_none(record, key)
    return None if seconds is None else instant_of_seconds(seconds)


def _placed(monotonic: int | None, clock_zero_at: int) -> int | None:
    return None if monotonic is None else held(clock_zero_at + monotonic)
