"""Reads sessions of Claude Code: JSON lines, of which the assistant's are model calls.

Owns the answers that are written in several lines, one a block: they are one call, and the later
usage replaces the earlier. Refuses to count the usage that a sub-agent's result repeats, and what
the client wrote itself without asking a model.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import quality
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.claude_usage import SYNTHETIC, claude_columns
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.latest import latest
from ingest.readers.native_columns import native_value
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_SHAPES = tuple(
    frozenset(keys)
    for keys in (
        ("sessionId", "message"),
        ("sessionId", "uuid", "type"),
        ("sessionId", "operation", "type"),
        ("messageId", "snapshot", "type"),
        ("leafUuid", "summary", "type"),
    )
)


class ClaudeCode:
    """Sessions of Claude Code."""

    name = "claude-code"
    title = "Claude Code session, JSON lines"
    recognised_by = (
        "JSON lines with sessionId and message, uuid or operation, or a summary with leafUuid, "
        "or a snapshot with messageId"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a line of such a session."""
        keys = opening(head).keys
        return any(keys >= shape for shape in _SHAPES)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know when they ended; lines of other kinds are no records."""
        return batches(latest(_calls(source)))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(ClaudeCode.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            record = record_of(document.value)
            if _is_call(record):
                yield _call_of(record, occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _is_call(record: Mapping[str, Json]) -> bool:
    """Whether a line is a model's answer, or says that the model could not be asked."""
    message = record.get("message")
    if not isinstance(message, dict):
        if record.get("type") == "assistant":
            raise RecordError("an assistant's line without a message")
        return False
    if message.get("model") == SYNTHETIC:
        return record.get("isApiErrorMessage") is True
    return message.get("role", record.get("type")) == "assistant"


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    message = record_of(record["message"])
    is_failed = record.get("isApiErrorMessage") is True
    ended_at = instant_or_none(record, "timestamp")
    tokens = {"tokens_source": "unknown"} if is_failed else claude_columns(message.get("usage"))
    call: dict[str, Any] = {
        "status": "error" if is_failed else "ok",
        "ended_at": ended_at,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, ended_at),
        "model": None if is_failed else text_or_none(message.get("model")),
        "conversation_id": text_or_none(record.get("sessionId")),
        "finish_reason": text_or_none(message.get("stop_reason")),
        "error_type": text_or_none(record.get("error")) if is_failed else None,
        **tokens,
        **_cost(record),
    }
    return Call(identity=_identity(record, message, occurrences), **with_notes(call))


def _identity(
    record: Mapping[str, Json], message: Mapping[str, Json], occurrences: Occurrences
) -> str:
    """The id of the answer: each line has another uuid, and some lack the id of the request."""
    message_id = text_or_none(message.get("id"))
    if message_id is not None:
        return f"{ClaudeCode.name}:{message_id}"
    return occurrences.identity(canonical_bytes(record))


def _cost(record: Mapping[str, Json]) -> dict[str, Any]:
    """What the client reckoned, in dollars: versions before 2 wrote it."""
    cost = record.get("costUSD")
    if cost is None:
        return {}
    return {"reported_cost": native_value("reported_cost", cost), "reported_currency": "USD"}
