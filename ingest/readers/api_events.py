"""Events of a streamed answer, put together to the answer that they tell.

Owns server-sent events, and which event of a stream has the last word on usage. Refuses to add up
usage that a stream repeats.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from ingest.readers.documents import Document, lines
from ingest.readers.json_text import loads
from ingest.readers.rejection import rejected
from ingest.records import Json, Reject

MAX_OPEN_ANSWERS = 4_096
_ANTHROPIC = ("message_start", "message_delta", "message_stop", "content_block_", "ping", "error")
CHUNKS = "streamed_chunks"
"""Key under which an answer from a stream has the count of its chunks with content."""


def is_event(record: Mapping[str, Json]) -> bool:
    """Whether a record is one event of a stream and not a whole answer."""
    kind = str(record.get("type"))
    is_response = kind.startswith("response.") or kind.startswith(_ANTHROPIC)
    return str(record.get("object")).endswith(".chunk") or is_response


def sent_events(stream: Iterable[tuple[int, bytes]]) -> Iterator[Document | Reject]:
    """The data of each server-sent event, with the line on which it stands."""
    for number, line in stream:
        field, _, data = line.partition(b":")
        content = data.strip()
        if field != b"data" or content in (b"", b"[DONE]"):
            continue
        try:
            yield Document(f"line {number}", loads(content))
        except ValueError as error:
            yield rejected(f"line {number}", error, content)


def events_of_file(stream: BinaryIO) -> Iterator[Document | Reject]:
    """The events of a file of server-sent events."""
    return sent_events(lines(stream))


def events_of_text(text: str) -> list[Json]:
    """The data of the events in one body."""
    numbered = enumerate(text.encode("utf-8", "replace").splitlines(), 1)
    return [item.value for item in sent_events(numbered) if isinstance(item, Document)]


class Streams:
    """Answers whose events are still coming: so many are held, the oldest is given up first."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[str, dict[str, Any]]] = OrderedDict()
        self._current = ""

    def take(self, event: Mapping[str, Json], position: str) -> list[tuple[str, dict[str, Any]]]:
        """Add an event; the answers that cannot wait any longer, with their positions."""
        inner = event.get("response") or event.get("message")
        holder = inner if isinstance(inner, dict) else event
        self._current = str(holder.get("id") or self._current)
        _, answer = self._open.setdefault(self._current, (position, {CHUNKS: 0, "stream": True}))
        _add(answer, event)
        full = len(self._open) > MAX_OPEN_ANSWERS
        return [self._open.popitem(last=False)[1]] if full else []

    def rest(self) -> list[tuple[str, dict[str, Any]]]:
        """The answers that are left, in the order in which they began."""
        left, self._open = list(self._open.values()), OrderedDict()
        return left


def answer_of_events(events: Iterable[Json]) -> dict[str, Any] | None:
    """The one answer that the events of a body tell; None where they tell none."""
    streams = Streams()
    for event in events:
        if isinstance(event, dict):
            streams.take(event, "")
    told = streams.rest()
    return told[0][1] if told else None


def _add(answer: dict[str, Any], event: Mapping[str, Json]) -> None:
    kind = str(event.get("type"))
    if kind.startswith("response."):
        if isinstance(event.get("response"), dict):
            answer.update(event["response"])
        answer[CHUNKS] += kind == "response.output_text.delta"
    elif kind.startswith(_ANTHROPIC):
        _add_anthropic(answer, event, kind)
    else:
        _add_chunk(answer, event)


def _add_anthropic(answer: dict[str, Any], event: Mapping[str, Json], kind: str) -> None:
    message, delta = event.get("message"), event.get("delta")
    before = answer.get("usage") or {}
    if kind == "message_start" and isinstance(message, dict):
        answer.update(message)
    elif kind == "message_delta" and isinstance(delta, dict):
        answer.update({key: value for key, value in delta.items() if value is not None})
    elif kind == "error":
        answer["error"] = event.get("error")
    answer[CHUNKS] += kind == "content_block_delta"
    usage = event.get("usage")
    if isinstance(usage, dict):
        told = {key: value for key, value in usage.items() if value is not None}
        answer["usage"] = {**(before if isinstance(before, dict) else {}), **told}


def _add_chunk(answer: dict[str, Any], event: Mapping[str, Json]) -> None:
    known = {key: value for key, value in event.items() if value is not None and key != "choices"}
    answer.update(known, object=str(event.get("object")).removesuffix(".chunk"))
    choices = event.get("choices")
    reasons = answer.setdefault("choices", [])
    for choice in choices if isinstance(choices, list) else []:
        if not isinstance(choice, dict):
            continue
        delta = choice.get("delta")
        answer[CHUNKS] += bool(delta.get("content")) if isinstance(delta, dict) else 0
        if choice.get("finish_reason") is not None:
            reasons.append({"finish_reason": choice["finish_reason"]})
