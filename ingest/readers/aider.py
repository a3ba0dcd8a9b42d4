"""Reads the analytics log of aider: JSON lines of events, of which `message_send` is a call.

Owns the pairing of a call with the event that began it, the latest of the same user within an
hour, since no id joins them.
Refuses to lose a call that began and told no result, and to take the session's cost, which is
cumulative, for that of a call.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import client_cost, with_notes
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import NS_PER_S, instant_of_seconds
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of, seconds_or_none
from ingest.readers.rejection import rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"event", "properties", "user_id", "time"})
_BEGUN = "message_send_starting"
_SENT = "message_send"
_NO_MODEL = "None"
_NO_RESULT = "begun and never told a result: it failed, was aborted, or is not over"
LONGEST_NS = 3_600 * NS_PER_S
"""A message that began longer ago than an hour is not the one that a result belongs to."""


class _Begun(NamedTuple):
    """A message that was begun: its identity, and when."""

    identity: str
    at: int | None


class Aider:
    """The analytics log of aider."""

    name = "aider"
    title = "aider analytics log, JSON lines"
    recognised_by = "JSON lines with event, properties, user_id and time"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such an event."""
        return opening(head).keys >= _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls, whose times are whole seconds; other events are no records."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(Aider.name)
    users: dict[str | None, list[_Begun]] = {}
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield from _of_event(record_of(document.value), occurrences, users)
        except ValueError as error:
            yield rejected(document.where, error, document.value)
    for user_id, begun in users.items():
        for message in begun:
            yield _without_result(message, user_id)


def _of_event(
    record: Mapping[str, Json], occurrences: Occurrences, users: dict[str | None, list[_Begun]]
) -> Iterator[Call]:
    """The call that an event ends, and those that were begun so long before that none will."""
    event = record.get("event")
    if event not in (_BEGUN, _SENT):
        return
    user_id, at = text_or_none(record.get("user_id")), _instant(record)
    begun = users.setdefault(user_id, [])
    while begun and at is not None and (begun[0].at is None or at - begun[0].at > LONGEST_NS):
        yield _without_result(begun.pop(0), user_id)
    if event == _BEGUN:
        begun.append(_Begun(occurrences.identity(canonical_bytes(record)), at))
        return
    call = _call_of(record, user_id, begun, at)
    own = begun.pop().identity if begun else occurrences.identity(canonical_bytes(record))
    yield Call(identity=own, **call)


def _call_of(
    record: Mapping[str, Json], user_id: str | None, begun: Sequence[_Begun], ended_at: int | None
) -> dict[str, Any]:
    """The columns of a call that was sent: it is the latest of those that were begun."""
    properties = record_of(record.get("properties"))
    arrived_at = begun[-1].at if begun else None
    model = _model(properties)
    call: dict[str, Any] = {
        "user_id": user_id,
        "model_requested": model,
        "model": model,
        "arrived_at": arrived_at,
        "ended_at": ended_at,
        "timing_source": "tokens" if None in (arrived_at, ended_at) else "span",
        "timing_quality": quality(arrived_at, None, None, ended_at),
        **buckets(
            input_tokens=properties.get("prompt_tokens"),
            output_tokens=properties.get("completion_tokens"),
            total_tokens=properties.get("total_tokens"),
        ).columns(),
        **client_cost(properties, "cost"),
    }
    is_assumed = len(begun) > 1
    assumed = f"{len(begun)} messages had begun, it is assumed to be the latest"
    return with_notes(call, assumed if is_assumed else None)


def _without_result(begun: _Begun, user_id: str | None) -> Call:
    """A call of which only the beginning is told. Its result, told later, has its identity."""
    call: dict[str, Any] = {
        "user_id": user_id,
        "status": "cancelled",
        "arrived_at": begun.at,
        "timing_source": "tokens",
        "timing_quality": quality(begun.at, None, None, None),
        "tokens_source": "unknown",
        "tokens_note": _NO_RESULT,
    }
    return Call(identity=begun.identity, **with_notes(call))


def _instant(record: Mapping[str, Json]) -> int | None:
    seconds = seconds_or_none(record, "time")
    return None if seconds is None else instant_of_seconds(seconds)


def _model(properties: Mapping[str, Json]) -> str | None:
    """The model that was asked; aider writes an absent one as "None"."""
    model = text_or_none(properties.get("main_model"))
    return None if model == _NO_MODEL else model
