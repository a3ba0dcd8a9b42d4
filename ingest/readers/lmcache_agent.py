"""Reads agent traces of LMCache: the text of a call and of its answer, and when it was sent.

Owns calls that tell no count: their texts are all that is known of their tokens. Refuses to take
the order of the lines for one of time.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import instants, with_notes
from ingest.readers.clock import instant_of
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"timestamp", "input", "output", "session_id"})
_EMPTY_ANSWER = "the answer is empty"


class LmCacheAgent:
    """Agent traces of LMCache."""

    name = "lmcache-agent"
    title = "LMCache agent trace, JSON lines"
    recognised_by = "JSON lines with timestamp, input, output and session_id, and no other key"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a line of such a trace."""
        return opening(head).keys == _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know when they were sent."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(LmCacheAgent.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(record_of(document.value), occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    arrived_at = instant_of(record.get("timestamp"), "timestamp")
    if arrived_at is None:
        raise RecordError("timestamp is missing")
    call: dict[str, Any] = {
        "conversation_id": text_or_none(record.get("session_id")),
        "prompt": _text(record, "input"),
        "completion": _text(record, "output"),
        **instants(arrived_at, None, None),
        **buckets().columns(),
    }
    note = _EMPTY_ANSWER if record.get("output") == "" else None
    return Call(identity=occurrences.identity(canonical_bytes(record)), **with_notes(call, note))


def _text(record: Mapping[str, Json], key: str) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise RecordError(f"{key} {str(value)[:40]!r} is no text")
    return value or None
