"""Reads answers of the Gemini API as Gemini CLI records them: a line a call, its chunks in a list.

Owns the usage that every chunk repeats: the last one counts. Refuses calls of other methods, such
as countTokens, which generate nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import records
from ingest.readers.gemini_tokens import gemini_columns
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import instant_of_text
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"method", "response"})
_STREAM = "generateContentStream"
_METHODS = (_STREAM, "generateContent")


class GeminiResponses:
    """Recorded answers of the Gemini API."""

    name = "gemini-responses"
    title = "Gemini API answers as Gemini CLI records them, JSON lines"
    recognised_by = "JSON lines with method and response, and candidates or usageMetadata inside"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such an answer."""
        is_gemini = b'"candidates"' in head or b'"usageMetadata"' in head
        return opening(head).keys >= _KEYS and is_gemini

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls; they know no time, unless an answer says when it was created."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(GeminiResponses.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(record_of(document.value), occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    """The call of one answer. What to ask a stream without usage for is no option of this API, so
    the notes do not know that it is one.
    """
    method = record.get("method")
    if method not in _METHODS:
        raise RecordError(f"method {str(method)[:40]!r} is none that generates content")
    chunks = _chunks(record.get("response"))
    ended_at = _last_text(chunks, "createTime")
    at = None if ended_at is None else instant_of_text(ended_at)
    call: dict[str, Any] = {
        "model": _last_text(chunks, "modelVersion"),
        "finish_reason": _finish_reason(chunks),
        "ended_at": at,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, at),
        **_tokens(_last(chunks, "usageMetadata")),
    }
    return Call(
        identity=_identity(record, chunks, occurrences),
        stream=method == _STREAM,
        **with_notes(call),
    )


def _identity(
    record: Mapping[str, Json], chunks: Sequence[Mapping[str, Json]], occurrences: Occurrences
) -> str:
    response_id = _last_text(chunks, "responseId")
    if response_id is not None:
        return f"{GeminiResponses.name}:{response_id}"
    return occurrences.identity(canonical_bytes(record))


def _chunks(response: Json) -> list[dict[str, Json]]:
    """The chunks of a streamed answer; an answer in one piece is the only one."""
    items = response if isinstance(response, list) else [response]
    return [record_of(item) for item in items]


def _last(chunks: Sequence[Mapping[str, Json]], key: str) -> Json:
    """The value of the last chunk that has one."""
    return next((chunk[key] for chunk in reversed(chunks) if chunk.get(key) is not None), None)


def _last_text(chunks: Sequence[Mapping[str, Json]], key: str) -> str | None:
    return text_or_none(_last(chunks, key))


def _finish_reason(chunks: Sequence[Mapping[str, Json]]) -> str | None:
    candidates = _last(chunks, "candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return text_or_none(first.get("finishReason")) if isinstance(first, dict) else None


def _tokens(usage: Json) -> dict[str, Any]:
    if usage is None:
        return buckets().columns()
    if not isinstance(usage, dict):
        raise RecordError(f"usageMetadata {str(usage)[:40]!r} is no object")
    return gemini_columns(
        prompt=usage.get("promptTokenCount"),
        tool=usage.get("toolUsePromptTokenCount"),
        answer=usage.get("candidatesTokenCount"),
        thoughts=usage.get("thoughtsTokenCount"),
        cached=usage.get("cachedContentTokenCount"),
        total=usage.get("totalTokenCount"),
    )
