"""Which attribute says what: `aliases.toml` as frozen values, and the reading of one span by it.

Owns the tolerance towards types (numbers sent as strings, JSON sent as text). Refuses a table with
unknown keys, unknown fields or the same name twice in one field.
"""

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple, get_args

import msgspec
import orjson

from ingest.errors import LedgerError
from ingest.records import Json

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
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "stream",
    "stop",
    "response_format",
    "n_choices",
    "tools",
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

MAX_JSON_CHARACTERS = 16 * 1024 * 1024
"""Longer text is taken as text: nothing that long is worth a parse tree in memory."""


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


@dataclass(frozen=True, slots=True)
class AliasTable:
    """The table, and the same by attribute name: a span is read in one pass over what it has."""

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


class Reading:
    """What one span's attributes say, read through the alias table."""

    __slots__ = ("_attributes", "_given", "_parsed")

    def __init__(self, attributes: Mapping[str, Json], table: AliasTable) -> None:
        self._attributes = attributes
        self._parsed: dict[str, Json] = {}
        self._given: dict[FieldName, list[Place]] = {}
        for name in attributes:
            for place in table.places.get(name, ()):
                self._given.setdefault(place.field, []).append(place)
        for places in self._given.values():
            places.sort(key=_order)

    def all(self, field: FieldName) -> Iterator[tuple[Alias, Any]]:
        """Every value given for `field`, in the table's order, converted to the field's kind."""
        for place in self._given.get(field, ()):
            alias = place.alias
            raw = self._attributes[alias.name]
            if alias.path is not None:
                raw = self._inside(alias.name, raw).get(alias.path)
            value = converted(raw, place.kind)
            if value is not None:
                yield alias, value

    def first(self, field: FieldName) -> Any:
        """The first value given for `field`, None where there is none."""
        return next((value for _, value in self.all(field)), None)

    def seconds(self, field: FieldName) -> float | None:
        """The first duration given for `field`, in seconds whatever unit it was sent in."""
        for alias, value in self.all(field):
            return float(value) / 1000 if alias.unit == "ms" else float(value)
        return None

    def _inside(self, name: str, raw: Json) -> Mapping[str, Json]:
        if name not in self._parsed:
            self._parsed[name] = parsed_json(raw)
        value = self._parsed[name]
        return value if isinstance(value, Mapping) else {}


def _order(place: Place) -> int:
    return place.order


def parsed_json(raw: Json) -> Json:
    """The value inside of `raw` where it is JSON text, else `raw` itself."""
    if not isinstance(raw, str) or len(raw) > MAX_JSON_CHARACTERS:
        return raw
    if raw.lstrip()[:1] not in {"{", "[", '"'}:
        return raw
    try:
        return orjson.loads(raw)
    except ValueError:
        return raw


def converted(raw: Json, kind: Kind) -> Any:
    """`raw` as `kind`; None where it is empty or cannot be that. Counts are left to be judged."""
    if raw is None or raw == "":
        return None
    if kind in {"count", "json"}:
        return raw
    if kind == "text":
        return as_text(raw)
    if kind == "flag":
        return _FLAGS.get(str(raw).lower())
    number = _as_decimal(raw)
    if number is None or kind == "decimal":
        return number
    if kind == "number":
        return float(number)
    return int(number) if number == number.to_integral_value() and abs(number) < 2**63 else None


_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def as_text(raw: Json) -> str | None:
    """`raw` as one line of text without a JSON string's quotes; None where it is no scalar."""
    if isinstance(raw, str):
        unquoted = parsed_json(raw) if raw.startswith('"') else raw
        return str(unquoted).strip() or None
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return str(raw)


def _as_decimal(raw: Json) -> Decimal | None:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if isinstance(raw, float) and not math.isfinite(raw):
        return None
    try:
        number = Decimal(str(raw).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
