"""Names of the conventions for what Monocle writes in entities and events.

Owns the reading of its entities by their types, of usage in the event `metadata`, and of texts in
the events `data.input` and `data.output`. Refuses to overrule an attribute that is there, and to
leave a text where the privacy setting does not look for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ingest.readers.json_text import loads
from ingest.records import Json, SpanEvent

_VERSION = "monocle_apptrace.version"
_KIND = "span.type"
_OPERATIONS = (
    ("inference", "chat"),
    ("embedding", "embeddings"),
    ("retrieval", "retrieval"),
    ("agentic.invocation", "invoke_agent"),
    ("agentic.tool.invocation", "execute_tool"),
)
_MODEL_OPERATIONS = ("chat", "embeddings")
_USAGE_EVENT = "metadata"
_USAGE = (
    ("prompt_tokens", "gen_ai.usage.input_tokens"),
    ("completion_tokens", "gen_ai.usage.output_tokens"),
    ("total_tokens", "gen_ai.usage.total_tokens"),
    ("finish_reason", "gen_ai.response.finish_reasons"),
)
_INPUT_EVENT, _OUTPUT_EVENT = "data.input", "data.output"
_TEXTS = {_INPUT_EVENT: ("input",), _OUTPUT_EVENT: ("response", "output")}
_MESSAGES = {
    _INPUT_EVENT: ("gen_ai.input.messages", "user"),
    _OUTPUT_EVENT: ("gen_ai.output.messages", "assistant"),
}
_VALUES = {_INPUT_EVENT: "input.value", _OUTPUT_EVENT: "output.value"}
_NAME_OF = (
    ("model.llm.", "gen_ai.request.model"),
    ("model.embedding.", "gen_ai.request.model"),
    ("agent.", "gen_ai.agent.name"),
    ("tool.", "gen_ai.tool.name"),
)


def described(
    attributes: dict[str, Json], events: list[SpanEvent]
) -> tuple[dict[str, Json], list[SpanEvent]]:
    """`attributes` with the names that the alias table reads, and `events` without texts.

    Both are as they were where Monocle is absent. Tokens are those of the event `metadata`; a span
    of its own for each inference has them once.
    """
    if _VERSION not in attributes:
        return attributes, events
    kind = attributes.get(_KIND)
    operation = next((known for name, known in _OPERATIONS if _is_kind(kind, name)), None)
    found = dict(_entities(attributes))
    if operation is not None:
        found["gen_ai.operation.name"] = operation
    if operation in _MODEL_OPERATIONS:
        found.update(_usage(events))
    else:
        found.pop("gen_ai.request.model", None)
    found.update(_texts(events, is_model=operation in _MODEL_OPERATIONS))
    return {**found, **attributes}, [_without_text(event) for event in events]


def _is_kind(kind: Json, name: str) -> bool:
    return isinstance(kind, str) and (kind == name or kind.startswith(f"{name}."))


def _entities(attributes: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What the numbered entities say: a model, an agent, a tool, and who provides the model."""
    for key, value in attributes.items():
        prefix, _, part = key.rpartition(".")
        if not prefix.startswith("entity.") or not isinstance(value, str):
            continue
        if part == "provider_name":
            yield "gen_ai.provider.name", value
        elif part == "type":
            name = attributes.get(f"{prefix}.name")
            for kind, told in _NAME_OF:
                if value.startswith(kind) and isinstance(name, str):
                    yield told, name


def _usage(events: Sequence[SpanEvent]) -> Iterator[tuple[str, Json]]:
    for event in events:
        if event.name in (_USAGE_EVENT, _OUTPUT_EVENT):
            for key, told in _USAGE:
                if event.attributes.get(key) is not None:
                    yield told, event.attributes[key]


def _texts(events: Sequence[SpanEvent], *, is_model: bool) -> Iterator[tuple[str, Json]]:
    """What was asked and answered: as messages of a model, as one value of anything else."""
    for event in events:
        for key in _TEXTS.get(event.name, ()):
            text = event.attributes.get(key)
            if text is None:
                continue
            if is_model:
                name, role = _MESSAGES[event.name]
                items = text if isinstance(text, list) else [text]
                yield name, [message for item in items for message in _messages(item, role)]
            else:
                yield _VALUES[event.name], text


def _messages(item: Json, role: str) -> Iterator[dict[str, Json]]:
    """The messages of one text, which is mostly an object of contents by role."""
    value = item
    if isinstance(item, str) and item.startswith("{"):
        try:
            value = loads(item.encode("utf-8", "replace"))
        except ValueError:
            value = item
    if isinstance(value, dict):
        yield from ({"role": name, "content": content} for name, content in value.items())
    else:
        yield {"role": role, "content": value}


def _without_text(event: SpanEvent) -> SpanEvent:
    texts = _TEXTS.get(event.name)
    if texts is None:
        return event
    left = {key: value for key, value in event.attributes.items() if key not in texts}
    return replace(event, attributes=left)
