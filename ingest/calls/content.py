"""Prompts and completions as one list of messages, whichever of four ways they were sent.

Owns the ways: whole messages, indexed attributes, events, the whole request or response. Refuses
to change a text: normalising belongs to `fingerprints`.
"""

from collections.abc import Mapping
from typing import Any

from ingest.calls.aliases import AliasTable, ContentNames
from ingest.calls.shapes import shape_of
from ingest.calls.values import parsed_json
from ingest.records import Json, Span, SpanEvent

Message = dict[str, Json]
"""`role` and `content` (text), or `role` and `parts` where there is more than text."""

_WRAPPERS = ("message", "prompt", "completion", "embedding")
_TEXT_TYPES = (None, "text", "input_text", "output_text")
_LISTS_IN_A_REQUEST = ("messages", "choices", "prompt", "input", "output", "contents")
_MESSAGE_KEYS = frozenset(
    {
        *("role", "content", "contents", "parts", "text", "type", "tool_calls", "tool_call"),
        *(*_WRAPPERS, "messages", "message_content", "function", "arguments", "functionCall"),
        *("functionResponse", "function_call", "function_response", "generations", "choices"),
        *("kwargs", "data", "output", "input"),
        *("inlineData", "fileData", "inline_data", "file_data"),
    }
)
"""Keys that some sender gives a message, or a part of one."""
_MAX_INDEX = 100_000
_MAX_STEPS = 32


def prompt(span: Span, table: AliasTable) -> list[Message] | None:
    """What was asked, oldest message first; None where the span does not say."""
    return _nameless(named_prompt(span, table))


def named_prompt(span: Span, table: AliasTable) -> list[Message] | None:
    """`prompt`, its messages with the `name` that the request gives their speakers."""
    known, names = table.file.content.prompt, shape_of(span.attributes, table).prompt
    found = _content(span, known, names, "user")
    if found is None:
        return None
    system = [
        message
        for name in names.system
        for message in _messages(span.attributes.get(name), "system")
    ]
    text = "\n".join(str(message.get("content") or message.get("parts")) for message in system)
    return [{"role": "system", "content": text}, *found] if system else found


def completion(span: Span, table: AliasTable) -> list[Message] | None:
    """What was answered, one message for each choice; None where the span does not say."""
    known, names = table.file.content.completion, shape_of(span.attributes, table).completion
    return _nameless(_content(span, known, names, "assistant"))


def _nameless(messages: list[Message] | None) -> list[Message] | None:
    """`messages` without the names of their speakers, by which no two texts are told apart."""
    if messages is None or not any("name" in message for message in messages):
        return messages
    return [{key: message[key] for key in message if key != "name"} for message in messages]


def messages_of(text: str | None, role: str) -> list[Message] | None:
    """The messages in `text` as a record has it: JSON of them, or plain text of `role`."""
    return _messages(text, role) or None


def _content(
    span: Span, known: ContentNames, names: ContentNames, role: str
) -> list[Message] | None:
    """The first content that there is: `names` are those `known` that the span itself has."""
    for name in names.messages:
        found = _messages(span.attributes.get(name), role)
        if found:
            return found
    for prefix in names.indexed:
        found = [_message(item, role) for item in indexed(span.attributes, prefix)]
        if found:
            return found
    found = [message for event in span.events for message in _of_event(event, known, role)]
    if found:
        return found
    for name in names.whole:
        found = _of_whole(span.attributes.get(name), role)
        if found:
            return found
    return None


def _of_event(event: SpanEvent, names: ContentNames, role: str) -> list[Message]:
    """The messages that one event carries: a list of them, or the event is one itself."""
    if event.name not in names.events:
        return []
    for name in names.messages:
        found = _messages(event.attributes.get(name), role)
        if found:
            return found
    body = parsed_json(event.attributes.get("body") or event.attributes.get("event.body"))
    given = body if isinstance(body, Mapping) else event.attributes
    if not any(key in given for key in ("content", "message", "tool_calls")):
        return []
    spoken_by = event.name.removeprefix("gen_ai.").removesuffix(".message")
    known = spoken_by if spoken_by in {"system", "user", "assistant", "tool"} else role
    message = parsed_json(given.get("message"))
    said = {"content": message} if isinstance(message, str) else {"message": message}
    return [_message({**given, **said}, known)]


def _of_whole(raw: Json, role: str) -> list[Message]:
    """The messages inside of a request or response body."""
    body = parsed_json(raw)
    if not isinstance(body, Mapping):
        return _messages(body, role)
    system = _messages(body.get("system"), "system")
    for key in _LISTS_IN_A_REQUEST:
        found = _messages(body.get(key), role)
        if found:
            return system + found
    return [{"role": role, "parts": [body]}]


def _messages(raw: Json, role: str) -> list[Message]:
    """`raw` as messages: a list of them, one of them, or plain text."""
    given = parsed_json(raw)
    if given is None or given in ("", []):
        return []
    if isinstance(raw, str) and _is_text_in_json(given):
        return [{"role": role, "content": raw}]
    if isinstance(given, Mapping):
        inside = given.get("messages")
        return _messages(inside, role) if inside else [_message(given, role)]
    if isinstance(given, list | tuple):
        return [_message(item, role) for item in given]
    return [{"role": role, "content": str(raw)}]


def _is_text_in_json(given: Json) -> bool:
    """Whether `given` is what was said, in JSON, and not messages: no key of one is in it."""
    items = given if isinstance(given, list | tuple) else [given]
    return bool(items) and all(
        isinstance(item, Mapping) and item and _MESSAGE_KEYS.isdisjoint(item) for item in items
    )


def _message(raw: Json, role: str) -> Message:
    if not isinstance(raw, Mapping):
        return {"role": role, "content": raw if isinstance(raw, str) else str(raw)}
    for wrapper in _WRAPPERS:
        if isinstance(raw.get(wrapper), Mapping):
            raw = raw[wrapper]
    parts = [_part(part) for part in _parts(raw)]
    parts += [_part(parsed_json(call)) for call in _listed(raw.get("tool_calls"))]
    named = raw.get("name")
    spoken_by = {"role": str(raw.get("role") or role)}
    spoken_by |= {"name": named} if isinstance(named, str) and named else {}
    if all(isinstance(part, str) for part in parts):
        return {**spoken_by, "content": "\n".join(parts)}
    return {**spoken_by, "parts": parts}


def _parts(raw: Mapping[str, Json]) -> list[Json]:
    for key in ("parts", "content", "contents", "text"):
        if raw.get(key) is not None:
            return _listed(raw[key])
    return []


def _part(raw: Json) -> Json:
    """Text as text; a tool call with its arguments parsed; everything else as it is."""
    if not isinstance(raw, Mapping):
        return raw if isinstance(raw, str) else str(raw)
    for wrapper in ("message_content", "tool_call"):
        if isinstance(raw.get(wrapper), Mapping):
            raw = raw[wrapper]
    text = raw.get("text", raw.get("content"))
    if raw.get("type") in _TEXT_TYPES and isinstance(text, str):
        return text
    function = raw.get("function")
    called: Mapping[str, Any] = function if isinstance(function, Mapping) else raw
    if "arguments" not in called:
        return dict(raw)
    return {
        "type": "tool_call",
        "id": raw.get("id"),
        "name": called.get("name"),
        "arguments": parsed_json(called["arguments"]),
    }


def _listed(raw: Json) -> list[Json]:
    """`raw` as a list; a list sent as JSON text too, other text as its one element."""
    if raw is None:
        return []
    given = parsed_json(raw) if isinstance(raw, str) and raw.startswith("[") else raw
    is_list = isinstance(given, list | tuple) and not (
        isinstance(raw, str) and _is_text_in_json(given)
    )
    return list(given) if is_list else [raw]


def listed_attributes(attributes: Mapping[str, Json], prefix: str) -> dict[str, Json]:
    """The attributes `PREFIX0.…`, `PREFIX1.…` under their full names."""
    return {
        name: value
        for name, value in attributes.items()
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1].isdigit()
    }


def indexed(attributes: Mapping[str, Json], prefix: str) -> list[Json]:
    """The list that attributes `PREFIX0.a.b`, `PREFIX1.a.b` spell out, in order of index."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(prefix):
            continue
        path = name.removeprefix(prefix).split(".")
        if not _is_index(path[0]) or len(path) > _MAX_STEPS:
            continue
        _put(root, path, value)
    return _in_order(root) if root else []


def _put(root: dict[str, Any], path: list[str], value: Json) -> None:
    node = root
    for step in path[:-1]:
        below = node.setdefault(step, {})
        if not isinstance(below, dict):
            return
        node = below
    node[path[-1]] = value


def _in_order(node: Any) -> Any:
    """Dictionaries whose keys are all indices become lists."""
    if not isinstance(node, dict):
        return node
    if node and all(_is_index(key) for key in node):
        return [_in_order(node[key]) for key in sorted(node, key=int)]
    return {key: _in_order(value) for key, value in node.items()}


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < _MAX_INDEX
