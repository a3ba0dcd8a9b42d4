"""Reads sessions of Gemini CLI: one JSON document a session, of which its answers are calls.

Owns the answer's id, which stays the same when the session is saved again with more of it. Refuses
to take the person's messages for calls.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import Document, records
from ingest.readers.gemini_tokens import gemini_columns
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"sessionId", "projectHash", "messages"})
_ANSWER = "gemini"


class GeminiSession:
    """Sessions of Gemini CLI."""

    name = "gemini-cli"
    title = "Gemini CLI session, JSON"
    recognised_by = "a JSON object with sessionId, projectHash and messages"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a session."""
        return opening(head).keys >= _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know when they ended."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(GeminiSession.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        session = document.value
        messages = session.get("messages") if isinstance(session, dict) else None
        if not isinstance(messages, list):
            yield rejected(document.where, "no session: no list of messages", session)
            continue
        session_id = text_or_none(session.get("sessionId"))
        yield from _of_session(document, messages, session_id, occurrences)


def _of_session(
    document: Document, messages: list[Json], session_id: str | None, occurrences: Occurrences
) -> Iterator[Call | Reject]:
    for index, message in enumerate(messages):
        try:
            record = record_of(message)
            if record.get("type") == _ANSWER:
                yield _call_of(record, session_id, occurrences)
        except ValueError as error:
            yield rejected(document.at(f"messages[{index}]"), error, message)


def _call_of(record: Mapping[str, Json], session_id: str | None, occurrences: Occurrences) -> Call:
    ended_at = instant_or_none(record, "timestamp")
    call: dict[str, Any] = {
        "model": text_or_none(record.get("model")),
        "conversation_id": session_id,
        "ended_at": ended_at,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, ended_at),
        **_tokens(record.get("tokens")),
    }
    message_id = text_or_none(record.get("id"))
    identity = f"{GeminiSession.name}:{message_id}" if message_id else None
    return Call(
        identity=identity or occurrences.identity(canonical_bytes(record)), **with_notes(call)
    )


def _tokens(tokens: Json) -> dict[str, Any]:
    if tokens is None:
        return buckets().columns()
    if not isinstance(tokens, dict):
        raise RecordError(f"tokens {str(tokens)[:40]!r} is no object")
    return gemini_columns(
        prompt=tokens.get("input"),
        tool=tokens.get("tool"),
        answer=tokens.get("output"),
        thoughts=tokens.get("thoughts"),
        cached=tokens.get("cached"),
        total=tokens.get("total"),
    )
