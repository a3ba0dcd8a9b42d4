"""The text inside of a message's parts.

Owns which parts are text to a model and as what they are written. Refuses to call a picture, a
sound or a file text: such a part is counted as one that could not be read.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.calls.content import Message
from ingest.calls.fingerprints import json_text
from ingest.records import Json

RETRIEVED_TYPES = ("document", "search_result")
"""Parts in which a request hands over what a retrieval found."""
REASONING_TYPES = ("reasoning", "thinking")
_CALL_KEYS = ("functionCall", "functionResponse", "function_call", "function_response")
_RESPONSE_TYPES = ("tool_call_response", "tool_result", "function_call_output")
_TEXT_KEYS = ("text", "content", "thinking", "response", "output", "result", "data")
_MAX_DEPTH = 8


class Text(NamedTuple):
    """One text of a message: `kind` is plain, retrieved, result, reasoning or structured."""

    kind: str
    text: str


def parts_of(message: Message) -> list[Text | None]:
    """What `message`, as `ingest.calls.content` makes it, says; None for a part that is no text."""
    given = message.get("parts")
    listed = [message.get("content", "")] if given is None else given
    found = [text for part in listed for text in _texts(part, 0)]
    return [text for text in found if text is None or text.text]


def _texts(part: Json, depth: int) -> Iterator[Text | None]:
    """The texts of one part; None for a part, or a part of it, that is no text."""
    if isinstance(part, str):
        yield Text("plain", part)
        return
    if not isinstance(part, Mapping) or depth > _MAX_DEPTH:
        yield None
        return
    kind = part.get("type")
    if kind == "tool_call" or any(key in part for key in _CALL_KEYS):
        yield Text("structured", _call(part))
    elif kind is None:
        yield Text("structured", json_text(part) or "")
    elif kind in RETRIEVED_TYPES:
        yield from _of_kind("retrieved", part, depth)
    elif kind in REASONING_TYPES:
        yield from _of_kind("reasoning", part, depth)
    elif kind in _RESPONSE_TYPES:
        yield from _of_kind("result", part, depth)
    elif kind == "text":
        yield from _of_kind("plain", part, depth)
    else:
        yield None


def _call(part: Mapping[str, Json]) -> str:
    """A tool call as its name and its arguments in JSON."""
    inside = next((part[key] for key in _CALL_KEYS if isinstance(part.get(key), Mapping)), part)
    told = [inside.get("name"), inside.get("arguments", inside.get("args", inside.get("response")))]
    return " ".join(text for item in told if item is not None and (text := _written(item)))


def _of_kind(kind: str, part: Mapping[str, Json], depth: int) -> Iterator[Text | None]:
    """The texts inside of a part that wraps them, all taken for `kind` where they are plain."""
    source = part.get("source")
    holder = source if isinstance(source, Mapping) else part
    if holder.get("type") in {"base64", "url", "file"}:
        yield None
        return
    inside = next((holder[key] for key in _TEXT_KEYS if holder.get(key) is not None), None)
    if isinstance(inside, list | tuple):
        for item in inside:
            for text in _texts(item, depth + 1):
                yield None if text is None else _as(kind, text)
    elif inside is not None:
        yield Text(kind, _written(inside))


def _as(kind: str, text: Text) -> Text:
    return text._replace(kind=kind) if text.kind == "plain" else text


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value) or ""
