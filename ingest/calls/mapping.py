"""Who pays and where it ran, from the attributes that the configuration or the defaults name.

Owns the order of search: source by source, each from the call's span outward. Who pays is asked
of the spans around the engine first, what ran of the engine first. Refuses values that are no
scalar.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ingest.calls.aliases import alias_table
from ingest.calls.shapes import REMEMBERED_SHAPES
from ingest.calls.values import as_text, parsed_json
from ingest.config import Configuration
from ingest.records import Json, Span

Found = Mapping[str, str]
"""Source (`attribute.NAME`, `resource.NAME`) to its nearest value, seen from one span outward."""

OWN_SOURCES = {
    "origin": ("attribute.gpuledger.origin", "resource.gpuledger.origin"),
    "scenario": ("attribute.gpuledger.scenario", "resource.gpuledger.scenario"),
    "arm": ("attribute.gpuledger.arm", "resource.gpuledger.arm"),
}
"""What a replay says about its own calls; no configuration changes these."""

_METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Column to the sources that may fill it: as configured, and by default."""

    configured: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, tuple[str, ...]]
    engine: Mapping[str, tuple[str, ...]]
    attribute_names: frozenset[str]
    resource_names: frozenset[str]

    def found_on(self, span: Span) -> dict[str, str]:
        """Every source that `span` itself has a value for."""
        attributes, resource = _with_metadata(span.attributes), span.resource
        by_attributes = _sources(tuple(attributes), "attribute.", self.attribute_names)
        by_resource = _sources(tuple(resource), "resource.", self.resource_names)
        return {**_values(attributes, by_attributes), **_values(resource, by_resource)}

    def configured_value(self, column: str, *searches: Found) -> str | None:
        """The value of `column` by the configuration alone; None where it says nothing."""
        return _first(self.configured.get(column, ()), searches)

    def value(self, column: str, *searches: Found) -> str | None:
        """The value of `column`: by the configuration, or by the defaults where it is silent."""
        sources = self.configured.get(column) or self.defaults.get(column, ())
        return _first(sources, searches)

    def engine_value(self, column: str, engine: Found) -> str | None:
        """What the engine's own span says about `column`, unless the configuration decides."""
        return None if column in self.configured else _first(self.engine.get(column, ()), (engine,))


def column_map(configuration: Configuration) -> ColumnMap:
    """The mapping that holds under `configuration`; a configured column replaces its default."""
    return _column_map(tuple(sorted(configuration.map.items())))


@lru_cache(maxsize=8)
def _column_map(configured_items: tuple[tuple[str, tuple[str, ...]], ...]) -> ColumnMap:
    table = alias_table().file
    configured = dict(configured_items)
    defaults = {**table.map, **OWN_SOURCES}
    every = [*defaults.values(), *configured.values(), *table.engine_map.values()]
    sources = {source for group in every for source in group}
    return ColumnMap(
        configured=configured,
        defaults=defaults,
        engine=table.engine_map,
        attribute_names=_names("attribute.", sources),
        resource_names=_names("resource.", sources),
    )


def _first(sources: tuple[str, ...], searches: tuple[Found, ...]) -> str | None:
    for found in searches:
        for source in sources:
            if source in found:
                return found[source]
    return None


def _names(prefix: str, sources: set[str]) -> frozenset[str]:
    return frozenset(source.removeprefix(prefix) for source in sources if source.startswith(prefix))


@lru_cache(maxsize=REMEMBERED_SHAPES)
def _sources(
    given: tuple[str, ...], prefix: str, names: frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """Name and source of what `given` has of `names`; the same for spans of one kind."""
    return tuple((name, prefix + name) for name in given if name in names)


def _values(given: Mapping[str, Json], sources: tuple[tuple[str, str], ...]) -> dict[str, str]:
    values = ((source, as_text(given[name])) for name, source in sources)
    return {source: value for source, value in values if value is not None}


def _with_metadata(attributes: Mapping[str, Json]) -> Mapping[str, Json]:
    """The attributes, and what a JSON object in `metadata` holds as `metadata.NAME`."""
    if _METADATA not in attributes:
        return attributes
    inside = parsed_json(attributes[_METADATA])
    if not isinstance(inside, Mapping):
        return attributes
    return {**{f"{_METADATA}.{name}": value for name, value in inside.items()}, **attributes}
