"""Reads what Claude Code prints as stream-json, and recordings that its SDK makes of it.

Owns the answers whose output is a placeholder until the run's result tells it. Refuses to take the
placeholder for a count: without the result the output is unknown.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import quality
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.claude_runs import Run
from ingest.readers.claude_usage import SYNTHETIC, claude_columns
from ingest.readers.documents import Document, records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_STREAM = frozenset({"type", "session_id"})
_STREAM_MARKS = (b'"subtype"', b'"parent_tool_use_id"')
_RECORDING = frozenset({"metadata", "messages"})
_RECORDING_MARKS = (b'"direction"', b'"message"')


class ClaudeStream:
    """Streams of Claude Code."""

    name = "claude-code-stream"
    title = "Claude Code stream-json, and recordings of its SDK"
    recognised_by = (
        "JSON lines with type and session_id, and subtype or parent_tool_use_id among them, "
        "or a JSON object with metadata and messages that have a direction"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a line of such a stream, or a recording of one."""
        keys = opening(head).keys
        if keys >= _RECORDING:
            return all(mark in head for mark in _RECORDING_MARKS)
        return keys >= _STREAM and any(mark in head for mark in _STREAM_MARKS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls without times; the calls of a run wait for its result."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(ClaudeStream.name)
    runs: dict[str | None, Run] = {}
    for item in _lines(source):
        if isinstance(item, Reject):
            yield item
            continue
        try:
            record = record_of(item.value)
            run = runs.setdefault(text_or_none(record.get("session_id")), Run())
            yield from _of_line(record, run, occurrences)
        except ValueError as error:
            yield rejected(item.where, error, item.value)
    for run in runs.values():
        yield from run.calls.values()


def _lines(source: Source) -> Iterator[Document | Reject]:
    """Each line of a stream; of a recording what was received."""
    for document in records(source):
        if isinstance(document, Reject) or not _is_recording(document.value):
            yield document
            continue
        for index, item in enumerate(document.value["messages"]):
            line = item if isinstance(item, dict) else {"message": item}
            if line.get("direction") != "send":
                yield Document(document.at(f"messages[{index}]"), line.get("message"))


def _is_recording(value: Json) -> bool:
    return (
        isinstance(value, dict) and "type" not in value and isinstance(value.get("messages"), list)
    )


def _of_line(record: Mapping[str, Json], run: Run, occurrences: Occurrences) -> Iterator[Call]:
    """The calls that a line settles: those of a run with its result. Others are kept in `run`."""
    if record.get("type") == "assistant":
        message = record.get("message")
        if not isinstance(message, dict):
            raise RecordError("an assistant's line without a message")
        if message.get("model") != SYNTHETIC:
            run.take(_call_of(record, message, occurrences))
    elif record.get("type") == "result":
        models = record.get("modelUsage")
        if models is None:
            raise RecordError("a result without modelUsage: what its calls put out is unknown")
        identity = text_or_none(record.get("uuid"))
        if identity is None:
            identity = occurrences.identity(canonical_bytes(record))
        session_id = text_or_none(record.get("session_id"))
        yield from run.told(record_of(models), f"{ClaudeStream.name}:{identity}", session_id)


def _call_of(
    record: Mapping[str, Json], message: Mapping[str, Json], occurrences: Occurrences
) -> Call:
    """An answer; one that had not stopped when it was written has no count of its output yet."""
    usage = message.get("usage")
    stop_reason = text_or_none(message.get("stop_reason"))
    if isinstance(usage, dict) and stop_reason is None:
        usage = {**usage, "output_tokens": None}
    call: dict[str, Any] = {
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, None),
        "model": text_or_none(message.get("model")),
        "conversation_id": text_or_none(record.get("session_id")),
        "finish_reason": stop_reason,
        **claude_columns(usage),
    }
    message_id = text_or_none(message.get("id"))
    identity = f"claude-code:{message_id}" if message_id else None
    return Call(
        identity=identity or occurrences.identity(canonical_bytes(record)), **with_notes(call)
    )
