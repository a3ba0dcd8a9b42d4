"""What attributes of certain names can tell, found once for each set of names.

Owns the lookups in the alias table. Refuses to look at values: spans of one instrumentation differ
in those and share their shape.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.calls.aliases import AliasTable, ContentNames, FieldName, Place, RoleName

REMEMBERED_SHAPES = 8192

_LATENCY_PREFIX = "gen_ai.latency."
_USAGE_PREFIX = "gen_ai.usage."


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of the alias table that is about the names of one span's attributes.

    `declared` is attribute → value → role. `counts` are names that only model calls carry.
    """

    places: Mapping[FieldName, tuple[Place, ...]]
    declared: tuple[tuple[str, Mapping[str, RoleName]], ...]
    counts: tuple[str, ...]
    has_latency: bool
    has_usage: bool
    prompt: ContentNames
    completion: ContentNames


def shape_of(attributes: Mapping[str, object], table: AliasTable) -> Shape:
    """The shape of a span with these attributes."""
    return _shape(tuple(attributes), table)


@lru_cache(maxsize=REMEMBERED_SHAPES)
def _shape(names: tuple[str, ...], table: AliasTable) -> Shape:
    content = table.file.content
    return Shape(
        places=_places(names, table),
        declared=tuple(item for item in table.file.roles.items() if item[0] in names),
        counts=_counts(names, table),
        has_latency=any(name.startswith(_LATENCY_PREFIX) for name in names),
        has_usage=any(name.startswith(_USAGE_PREFIX) for name in names),
        prompt=_content(content.prompt, names),
        completion=_content(content.completion, names),
    )


def _places(names: Iterable[str], table: AliasTable) -> Mapping[FieldName, tuple[Place, ...]]:
    found: dict[FieldName, list[Place]] = defaultdict(list)
    for name in names:
        for place in table.places.get(name, ()):
            found[place.field].append(place)
    return {field: tuple(sorted(places, key=_order)) for field, places in found.items()}


def _order(place: Place) -> int:
    return place.order


def _counts(names: tuple[str, ...], table: AliasTable) -> tuple[str, ...]:
    fields: tuple[FieldName, ...] = ("input_tokens", "output_tokens")
    aliases = (alias for field in fields for alias in table.file.fields[field].names)
    return tuple(alias.name for alias in aliases if alias.path is None and alias.name in names)


def _content(known: ContentNames, names: tuple[str, ...]) -> ContentNames:
    """Those of the `known` names and prefixes that occur among `names`."""
    return ContentNames(
        system=tuple(name for name in known.system if name in names),
        messages=tuple(name for name in known.messages if name in names),
        indexed=tuple(
            prefix for prefix in known.indexed if any(name.startswith(prefix) for name in names)
        ),
        events=known.events,
        whole=tuple(name for name in known.whole if name in names),
    )
