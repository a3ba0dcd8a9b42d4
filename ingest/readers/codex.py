"""Reads sessions of Codex: JSON lines, of which the counts of tokens tell the model calls.

Owns the two usages of a count, of the last call and of the session so far: a count that repeats
the session's total repeats a call. Refuses to count twice the history that a sub-agent's or a
forked session begins with: a call has the same identity wherever its count is copied.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.calls.missing import missing_note
from ingest.calls.timing import outside_notes, quality
from ingest.calls.tokens import buckets, token_count
from ingest.files import Source
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"type", "payload"})
_TYPE = re.compile(rb'"type"\s*:\s*"(session_meta|turn_context|event_msg|response_item)"')
_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)

Usage = Mapping[str, Json]


class Codex:
    """Sessions of Codex."""

    name = "codex"
    title = "Codex session, JSON lines"
    recognised_by = (
        "JSON lines with type and payload, the type one of session_meta, turn_context, event_msg "
        "and response_item"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a line of such a session."""
        return opening(head).keys >= _KEYS and _TYPE.search(head) is not None

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know when they ended; lines of other kinds are no records."""
        return batches(_calls(source))


@dataclass(slots=True)
class _Session:
    """What the lines so far say of the session: its id, its model and its total usage."""

    occurrences: Occurrences = field(default_factory=lambda: Occurrences(Codex.name))
    session_id: str | None = None
    begun_at: int | None = None
    provider: str | None = None
    model: str | None = None
    total: Usage | None = None


def _calls(source: Source) -> Iterator[Call | Reject]:
    session = _Session()
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            call = _call_or_none(record_of(document.value), session)
            if call is not None:
                yield call
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_or_none(record: Mapping[str, Json], session: _Session) -> Call | None:
    """The call that a line counts; what other lines say is kept in `session`."""
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return None
    kind = record.get("type")
    if kind == "session_meta" and session.session_id is None:
        session.session_id = text_or_none(payload.get("id"))
        session.provider = text_or_none(payload.get("model_provider"))
        told = (instant_or_none(each, "timestamp") for each in (payload, record))
        session.begun_at = next((at for at in told if at is not None), None)
    elif kind == "turn_context":
        session.model = text_or_none(payload.get("model")) or session.model
    elif kind == "event_msg" and payload.get("type") == "token_count":
        return _counted(record, payload, session)
    return None


def _counted(
    record: Mapping[str, Json], payload: Mapping[str, Json], session: _Session
) -> Call | None:
    info = payload.get("info")
    if info is None:
        return None
    last, total = _usage(record_of(info), "last_token_usage"), _usage(info, "total_token_usage")
    before = session.total
    if total is not None:
        session.total = total
        if before == total:
            return None
    grown = None if total is None else _grown(before, total)
    usage = grown if last is None else last
    if usage is None:
        raise RecordError("a token_count with neither last_token_usage nor total_token_usage")
    session.model = text_or_none(info.get("model")) or session.model
    if all(token_count(usage[name]) == 0 for name in _COUNTS[:-1]):
        return None
    return _call_of(record, usage, None if before is None else grown, session)


def _usage(info: Mapping[str, Json], key: str) -> Usage | None:
    usage = info.get(key)
    if usage is None:
        return None
    if not isinstance(usage, dict):
        raise RecordError(f"{key} {str(usage)[:40]!r} is no object")
    return {name: usage.get(name) for name in _COUNTS}


def _grown(before: Usage | None, total: Usage) -> Usage:
    """By how much the total grew; one that fell began anew."""
    earlier = {name: token_count((before or {}).get(name)) or 0 for name in _COUNTS}
    later = {name: token_count(total.get(name)) for name in _COUNTS}
    if any(count is not None and count < earlier[name] for name, count in later.items()):
        return total
    return {name: None if count is None else count - earlier[name] for name, count in later.items()}


def _call_of(
    record: Mapping[str, Json], usage: Usage, grown: Usage | None, session: _Session
) -> Call:
    ended_at = instant_or_none(record, "timestamp")
    begun_at = session.begun_at
    is_history = ended_at is not None and begun_at is not None and ended_at < begun_at
    call: dict[str, Any] = {
        "ended_at": ended_at,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, ended_at),
        "model": session.model,
        "provider": session.provider,
        "conversation_id": None if is_history else session.session_id,
        **_tokens(usage),
    }
    notes = [call["tokens_note"], _growth_note(usage, grown), _missing(call), *outside_notes(call)]
    call["tokens_note"] = "; ".join(note for note in notes if note) or None
    said = {"timestamp": record.get("timestamp"), "usage": usage, "total": session.total}
    return Call(identity=session.occurrences.identity(canonical_bytes(said)), **call)


def _tokens(usage: Usage) -> dict[str, Any]:
    """The buckets: cached tokens are a part of input, reasoning a part of output.

    That is how Codex defines them; its total is kept and noted where it says otherwise.
    """
    counts = [token_count(usage[name]) for name in ("input_tokens", "output_tokens")]
    defined = None if None in counts else sum(count or 0 for count in counts)
    made = buckets(
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cache_read_tokens=usage["cached_input_tokens"],
        reasoning_tokens=usage["reasoning_output_tokens"],
        total_tokens=defined,
    ).columns()
    total = token_count(usage["total_tokens"])
    is_other = total is not None and defined is not None and total != defined
    note = f"total {total} is not input {counts[0]} + output {counts[1]}" if is_other else None
    notes = "; ".join(each for each in (made["tokens_note"], note) if each) or None
    return {**made, "reported_total_tokens": total, "tokens_note": notes}


def _growth_note(usage: Usage, grown: Usage | None) -> str | None:
    """What is said where the session's total grew by another count than the call's."""
    if grown is None or all(grown[name] == usage[name] for name in _COUNTS[:-1]):
        return None
    return (
        f"the session's total grew by {grown['input_tokens']} input and "
        f"{grown['output_tokens']} output tokens"
    )


def _missing(call: Mapping[str, Any]) -> str | None:
    return missing_note(
        call["uncached_input_tokens"],
        call["visible_output_tokens"],
        status="ok",
        http_status=None,
        is_stream=False,
        operation="chat",
    )
