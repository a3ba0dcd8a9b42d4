"""Which attribute says what: `aliases.toml` as frozen values.

Owns the form of the table. Refuses one with unknown keys, unknown fields or the same name twice in
one field.
"""

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

import msgspec

from ingest.errors import LedgerError

Kind = Literal["count", "integer", "number", "decimal", "text", "flag", "json"]
Role = Literal["model", "embedding", "agent", "chain", "tool", "retrieval", "server", "other"]

FieldName = Literal[
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "chunk_count",
    "response_model",
    "request_model",
    "provider",
    "host",
    "request_id",
    "response_id",
    "cache_hit",
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "stream",
    "stop",
    "response_format",
    "n_choices",
    "tools",
    "prompt_token_ids",
    "error_type",
    "http_status",
    "finish_reason",
    "reported_cost",
    "queue_s",
    "prefill_s",
    "decode_s",
    "e2e_s",
    "ttft_s",
    "first_token_time",
    "workflow_name",
    "prompt_name",
    "tool_name",
    "tool_arguments",
    "tool_result",
    "retrieval_source",
    "retrieval_query",
    "retrieval_result",
    "input_hash",
    "output_hash",
]


class AliasTableError(LedgerError):
    """The alias table that ships with the product contradicts itself."""


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attribute name, who writes it, where inside of it the value is and in which unit."""

    name: str
    generation: str
    path: str | None = None
    unit: Literal["s", "ms", "timestamp"] | None = None


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names under which one fact is sent, in the order in which they are read."""

    kind: Kind
    names: tuple[Alias, ...]


class ContentNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the text of a prompt or completion is, by the way it is sent."""

    system: tuple[str, ...]
    messages: tuple[str, ...]
    indexed: tuple[str, ...]
    events: tuple[str, ...]
    whole: tuple[str, ...]


class ContentTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where prompts and completions are."""

    prompt: ContentNames
    completion: ContentNames


class EventNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of span events that tell time, streamed chunks or an error."""

    first_token: tuple[str, ...]
    chunk: tuple[str, ...]
    exception: tuple[str, ...]


class EndpointTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Routes that are a model server's own and name no endpoint of the product."""

    model_server_routes: tuple[str, ...]


class RoleName(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a span is, and the operation of a model call where the value tells it."""

    role: Role
    operation: str | None = None


class TableFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `aliases.toml`. `roles` is attribute → value → role."""

    fields: dict[FieldName, Field]
    content: ContentTable
    events: EventNames
    endpoint: EndpointTable
    roles: dict[str, dict[str, RoleName]]
    map: dict[str, tuple[str, ...]]
    engine_map: dict[str, tuple[str, ...]]


class Place(NamedTuple):
    """Where one attribute stands in the table: the field, its kind, and the order of reading."""

    field: FieldName
    kind: Kind
    order: int
    alias: Alias


@dataclass(frozen=True, slots=True, eq=False)
class AliasTable:
    """The table, and the same by attribute name."""

    file: TableFile
    places: Mapping[str, tuple[Place, ...]]


FIELDS: frozenset[FieldName] = frozenset(get_args(FieldName))
"""What the product asks the table for: a field more or less is an error of the table."""


def parse_table(text: str) -> AliasTable:
    """The alias table in `text`; raises `AliasTableError` naming what is wrong."""
    try:
        file = msgspec.convert(tomllib.loads(text), TableFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise AliasTableError(f"aliases.toml: {error}") from error
    if file.fields.keys() != FIELDS:
        wrong = ", ".join(sorted(file.fields.keys() ^ FIELDS))
        raise AliasTableError(f"aliases.toml: missing or unknown fields: {wrong}")
    places: dict[str, list[Place]] = defaultdict(list)
    for name, field in file.fields.items():
        targets = [(alias.name, alias.path) for alias in field.names]
        if len(set(targets)) != len(targets):
            raise AliasTableError(f"aliases.toml: [fields.{name}] reads the same name twice")
        for order, alias in enumerate(field.names):
            places[alias.name].append(Place(name, field.kind, order, alias))
    return AliasTable(file, {name: tuple(found) for name, found in places.items()})


@cache
def alias_table() -> AliasTable:
    """The table that ships with the product."""
    return parse_table(resources.files("ingest.calls").joinpath("aliases.toml").read_text("utf-8"))
