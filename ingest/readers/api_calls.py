"""Reads answers of OpenAI's and of Anthropic's API, and of servers that speak as they do: alone,
beside their requests, as output of a batch, or as the events of a stream.

Owns one call for each answer, whichever log tells it. Refuses to place an answer in time that says
nothing of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.calls.fingerprints import json_text
from ingest.files import Source
from ingest.readers.api_answers import answer_columns, identity_of
from ingest.readers.api_events import Streams, events_of_file, is_event
from ingest.readers.api_exchanges import Exchange, exchange_of
from ingest.readers.call_notes import failed_as, instants, request_parameters, with_notes
from ingest.readers.documents import Document, records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_PARAMETERS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stream": "stream",
    "n_choices": "n",
}
_WRAPPINGS = tuple(
    frozenset(keys)
    for keys in (
        ("custom_id", "response"),
        ("custom_id", "result"),
        ("request", "response"),
        ("status", "body"),
        ("headers", "body"),
        ("messages", "final_message"),
    )
)
_EVENT_LINES = (b"data:", b"event:", b"id:", b": ")
_OTHERS = ("timings", "sessionId", "session_id", "run_type", "call_type")
"""Keys of formats that have answers inside of them, too."""


@dataclass(frozen=True, slots=True)
class ApiAnswers:
    """Answers of one dialect; a file in which the other occurs is read all the same."""

    name: str
    title: str
    recognised_by: str
    marks: tuple[bytes, ...]
    answers: tuple[frozenset[str], ...]

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is an answer of the dialect, or a wrapping of one."""
        first = opening(head)
        if not first.keys:
            return _is_stream(head) and self._is_marked(head)
        if any(key in first.keys for key in _OTHERS) or first.keys >= {"data", "meta"}:
            return False
        is_answer = any(first.keys >= keys for keys in (*self.answers, *_WRAPPINGS))
        return is_answer and self._is_marked(head)

    def _is_marked(self, head: bytes) -> bool:
        plain = _plain(head)
        return any(mark in plain for mark in self.marks)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls; an answer says when it was begun, or nothing of time.

        Raises `UnreadableSourceError` for a stream of another API.
        """
        if _is_stream(source.head) and not self._is_marked(source.head):
            raise source.refusal(f"not in the format {self.name}: events of another API")
        return batches(_calls(source, self.name))


OPENAI_ANSWERS = ApiAnswers(
    name="openai",
    title="answers of an OpenAI-style API: JSON, JSON lines, batch output, streams",
    recognised_by=(
        "JSON objects with object and model that are completions, responses or embeddings, the "
        "same beside a request or in a batch's output or a body, or server-sent events of them"
    ),
    marks=(
        b'"object":"chat.completion',
        b'"object":"text_completion"',
        b'"object":"response"',
        b'"object":"embedding"',
        b'"choices":[',
        b'"type":"response.',
    ),
    answers=(
        frozenset({"object", "model"}),
        frozenset({"choices", "usage"}),
        frozenset({"type", "response"}),
    ),
)
ANTHROPIC_MESSAGES = ApiAnswers(
    name="anthropic",
    title="messages of Anthropic's API: JSON, JSON lines, batch results, streams",
    recognised_by=(
        "JSON objects with role, content and usage that are messages, the same beside a request "
        "or in a batch's results or a body, or server-sent events of them"
    ),
    marks=(b'"type":"message"', b'"type":"message_start"', b'"stop_reason":'),
    answers=(frozenset({"role", "content", "usage"}), frozenset({"type", "message"})),
)


def _is_stream(head: bytes) -> bool:
    return opening(head).first_line.startswith(_EVENT_LINES)


def _plain(head: bytes) -> bytes:
    """The head without blanks and without the escapes of JSON inside of JSON."""
    return head.replace(b" ", b"").replace(b"\n", b"").replace(b"\\", b"")


def _calls(source: Source, format_name: str) -> Iterator[Call | Reject]:
    occurrences, streams = Occurrences(format_name), Streams()
    for item in _documents(source):
        if isinstance(item, Reject):
            yield item
            continue
        try:
            record = record_of(item.value)
            whole = [(item.position, record)]
            if is_event(record):
                whole = streams.take(record, item.position)
        except ValueError as error:
            yield rejected(item.where, error, item.value)
            continue
        yield from (_taken(position, answer, occurrences) for position, answer in whole)
    yield from (_taken(position, answer, occurrences) for position, answer in streams.rest())


def _documents(source: Source) -> Iterator[Document | Reject]:
    if _is_stream(source.head):
        with source.open() as stream:
            yield from events_of_file(stream)
        return
    yield from records(source)


def _taken(position: str, record: dict[str, Json], occurrences: Occurrences) -> Call | Reject:
    try:
        return _call_of(exchange_of(record), record, occurrences)
    except ValueError as error:
        return rejected(position or "the document", error, record)


def _call_of(found: Exchange, record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    request = found.request
    told = answer_columns(found.answer)
    call: dict[str, Any] = {
        **told,
        "model_requested": text_or_none(request.get("model")),
        "user_id": text_or_none(request.get("user")),
        "http_status": found.http_status,
        "prompt": _text(request.get("messages", request.get("input", request.get("prompt")))),
        "completion": _text(_content(found.answer)),
        **_parameters(request, found.answer),
    }
    if found.status or (found.http_status or 0) >= 400:
        call["status"] = found.status or failed_as(found.http_status, told.get("error_type"))
    placing = "begun in the second of `created`" if told["arrived_at"] is not None else None
    if found.arrived_at is not None:
        call |= instants(found.arrived_at, None, found.ended_at)
        placing = None
    identity = identity_of(found.answer) or occurrences.identity(canonical_bytes(dict(record)))
    return Call(identity=identity, **with_notes(call, placing))


def _parameters(request: Mapping[str, Json], answer: Mapping[str, Json]) -> dict[str, Any]:
    """What was asked for: by the request, else as a response of OpenAI's repeats it."""
    repeated = {**answer, "max_tokens": answer.get("max_output_tokens")}
    said = request or repeated
    limit = request.get("max_completion_tokens", request.get("max_output_tokens"))
    given = said if limit is None else {**said, "max_tokens": limit}
    names = _PARAMETERS if request else {k: v for k, v in _PARAMETERS.items() if v != "n"}
    return request_parameters(given, names)


def _content(answer: Mapping[str, Json]) -> Json:
    """What was answered, without what stands around it; None where a stream told it in pieces."""
    choices = answer.get("choices")
    if isinstance(choices, list):
        said = [choice.get("message", choice.get("text")) for choice in map(record_of, choices)]
        return [text for text in said if text is not None] or None
    return answer.get("output") or answer.get("content")


def _text(value: Json) -> str | None:
    if value is None or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else json_text(value)
