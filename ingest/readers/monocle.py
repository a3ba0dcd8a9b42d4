"""Names of the conventions for what Monocle writes in entities and events.

Owns the reading of its entities by their types, and of usage in the event `metadata`. Refuses to
overrule an attribute that is there.
"""

from collections.abc import Iterator, Mapping, Sequence

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
_FINISH_EVENT = "data.output"
_NAME_OF = (
    ("model.llm.", "gen_ai.request.model"),
    ("model.embedding.", "gen_ai.request.model"),
    ("agent.", "gen_ai.agent.name"),
    ("tool.", "gen_ai.tool.name"),
)


def described(attributes: Mapping[str, Json], events: Sequence[SpanEvent]) -> dict[str, Json]:
    """`attributes` with the names that the alias table reads; as they are where Monocle is absent.

    Tokens are those of the event `metadata`; a span of its own for each inference has them once.
    """
    if _VERSION not in attributes:
        return dict(attributes)
    kind = attributes.get(_KIND)
    operation = next((known for name, known in _OPERATIONS if _is_kind(kind, name)), None)
    found = dict(_entities(attributes))
    if operation is not None:
        found["gen_ai.operation.name"] = operation
    if operation in _MODEL_OPERATIONS:
        found.update(_usage(events))
    else:
        found.pop("gen_ai.request.model", None)
    return {**found, **attributes}


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
        if event.name in (_USAGE_EVENT, _FINISH_EVENT):
            for key, told in _USAGE:
                if event.attributes.get(key) is not None:
                    yield told, event.attributes[key]
