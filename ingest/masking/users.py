"""Who asked: ids of users as they may be stored.

Owns which attributes hold one, and its pseudonym: the keyed hash of the id, so that users stay
apart and one user can be erased. Refuses to keep an id in which a mask found something.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from ingest.calls.aliases import alias_table
from ingest.calls.fingerprints import is_fingerprint, pseudonym
from ingest.calls.values import parsed_json
from ingest.config import Configuration
from ingest.masking.structure import Walk
from ingest.records import Json

METADATA = "metadata"
"""The attribute that is an object of its own, in which a user may be named."""


@dataclass(frozen=True, slots=True)
class Users:
    """Attributes and resource attributes that hold a user's id, and what becomes of them."""

    configuration: Configuration
    attributes: frozenset[str]
    resource: frozenset[str]
    in_metadata: frozenset[str]

    @property
    def are_kept(self) -> bool:
        """Whether an id stays as it is unless a mask finds something in it."""
        return self.configuration.user_ids == "full"

    def are_in(self, attributes: Mapping[str, Json], names: frozenset[str]) -> bool:
        """Whether `attributes` hold an id that may not stay as it is."""
        if self.are_kept:
            return False
        return not names.isdisjoint(attributes) or bool(self.in_metadata and METADATA in attributes)

    def column(self, user_id: str | None, walk: Walk) -> str | None:
        """What is stored of the user of a call."""
        return None if user_id is None else self._stored(user_id, walk)

    def attributes_of(
        self, attributes: Mapping[str, Json], names: frozenset[str], walk: Walk
    ) -> dict[str, Json]:
        """`attributes` as `walk` leaves them, with what is stored of users."""
        kept: dict[str, Json] = {}
        for name, value in attributes.items():
            stored = self._attribute(name, value, names, walk)
            if stored is not None or name not in names:
                kept[walk.text_of(name, False)] = stored
        return kept

    def _attribute(self, name: str, value: Json, names: frozenset[str], walk: Walk) -> Json:
        if name in names:
            return self._stored(value, walk)
        if name == METADATA and self.in_metadata:
            return self._metadata(value, walk)
        return walk.value(value, name)

    def _metadata(self, value: Json, walk: Walk) -> Json:
        inside = parsed_json(value)
        if not isinstance(inside, Mapping) or self.in_metadata.isdisjoint(inside):
            return walk.value(value, METADATA)
        kept = self.attributes_of(inside, self.in_metadata, walk)
        return orjson.dumps(kept).decode() if isinstance(value, str) else kept

    def _stored(self, value: Json, walk: Walk) -> str | None:
        """The id itself, its pseudonym, or None."""
        text = str(value)
        if is_fingerprint(text):
            return text
        masked = walk.text_of(text, False)
        if self.configuration.user_ids == "off":
            return None
        if self.are_kept and masked == text:
            return text
        return pseudonym(text, self.configuration)


def users_of(configuration: Configuration) -> Users:
    """The attributes of users by default and by the `[map]` of `configuration`."""
    sources = {*alias_table().file.map["user_id"], *configuration.map.get("user_id", ())}
    attributes = _after("attribute.", sources)
    inside = f"{METADATA}."
    return Users(
        configuration=configuration,
        attributes=attributes,
        resource=_after("resource.", sources),
        in_metadata=_after(inside, attributes),
    )


def _after(prefix: str, names: set[str] | frozenset[str]) -> frozenset[str]:
    return frozenset(name.removeprefix(prefix) for name in names if name.startswith(prefix))
