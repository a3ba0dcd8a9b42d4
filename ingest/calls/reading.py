"""The reading of one span's attributes through the alias table.

Owns which of several names for one fact is read: the first in the table's order that has a value.
Refuses to read a name that the span's shape does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.calls.aliases import Alias, AliasTable, FieldName, Place
from ingest.calls.shapes import shape_of
from ingest.calls.values import converted, parsed_json
from ingest.records import REPEATED_KEYS, Json


class Reading:
    """What one span's attributes say."""

    __slots__ = ("_attributes", "_parsed", "_places")

    def __init__(self, attributes: Mapping[str, Json], table: AliasTable) -> None:
        self._attributes = attributes
        self._parsed: dict[str, Json] = {}
        self._places = shape_of(attributes, table).places

    @property
    def repeated_keys(self) -> Sequence[str]:
        """Names that the span gives several times, with values that disagree."""
        names = self._attributes.get(REPEATED_KEYS)
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def has(self, field: FieldName) -> bool:
        """Whether a name for `field` is there; its value may be empty all the same."""
        return field in self._places

    def all(self, field: FieldName) -> Iterator[tuple[Alias, Any]]:
        """Every value given for `field`, in the table's order, converted to the field's kind."""
        for place in self._places.get(field, ()):
            value = self._value(place)
            if value is not None:
                yield place.alias, value

    def first(self, field: FieldName) -> Any:
        """The first value given for `field`, None where there is none."""
        places = self._places.get(field)
        if places is None:
            return None
        for place in places:
            value = self._value(place)
            if value is not None:
                return value
        return None

    def seconds(self, field: FieldName) -> float | None:
        """The first duration given for `field`, in seconds whatever unit it was sent in."""
        if not self.has(field):
            return None
        for alias, value in self.all(field):
            return float(value) / 1000 if alias.unit == "ms" else float(value)
        return None

    def _value(self, place: Place) -> Any:
        alias = place.alias
        raw = self._attributes[alias.name]
        if alias.path is not None:
            raw = self._inside(alias.name, raw).get(alias.path)
        return converted(raw, place.kind)

    def _inside(self, name: str, raw: Json) -> Mapping[str, Json]:
        if name not in self._parsed:
            self._parsed[name] = parsed_json(raw)
        value = self._parsed[name]
        return value if isinstance(value, Mapping) else {}
