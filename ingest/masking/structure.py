"""Masks over records: every text of an attribute, however deep, and every name in it.

Owns the walk through lists and objects, and which texts of a record are worth it. Refuses to
change a record in which nothing was found: it is passed on as it is.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import orjson

from ingest.calls.fingerprints import is_fingerprint
from ingest.masking.masks import DROPPED, Masks
from ingest.masking.names import is_id_name, is_secret_name
from ingest.masking.patterns import SECRET
from ingest.records import Json

MAX_DEPTH = 200
"""Nesting below this is dropped: readers refuse it long before."""
LEAST_CARD, MOST_CARD = 10**11, 10**19
"""A whole number between these may be a card number that was sent as a number."""

Changed = TypeVar("Changed")

TextOf = Callable[[str, bool], str]
"""A text, and whether it is an id, to what is stored of it."""


@dataclass(slots=True)
class Found:
    """Texts that are collected first, masked together, and then looked up."""

    masks: Masks
    counts: Counter[str]
    _ordinary: dict[str, str] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)

    def applied(self, change: Callable[["Walk"], Changed]) -> Changed:
        """What `change` makes of its records: it is run twice, to collect and to put marks."""
        secret = self._secret if self.masks.has_names else None
        change(Walk(text_of=self.collect, secret=secret))
        self._mask()
        return change(Walk(text_of=self.masked, secret=_secret if secret else None))

    def collect(self, text: str, is_id: bool) -> str:
        """Note `text` for masking."""
        (self._ids if is_id else self._ordinary)[text] = text
        return text

    def masked(self, text: str, is_id: bool) -> str:
        """What `text` became."""
        return (self._ids if is_id else self._ordinary)[text]

    def _secret(self) -> str:
        self.counts["secret"] += 1
        return SECRET

    def _mask(self) -> None:
        for texts, are_ids in ((self._ordinary, False), (self._ids, True)):
            given = list(texts)
            kept = self.masks.texts(given, self.counts, are_ids=are_ids)
            texts.update(zip(given, kept, strict=True))


def _secret() -> str:
    return SECRET


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One way through a value: what becomes of a text, and of a secret; None knows no secrets."""

    text_of: TextOf
    secret: Callable[[], str] | None

    def value(self, value: Json, name: str, depth: int = 0) -> Json:
        """`value`, which stands under `name`, with what becomes of each text and key in it."""
        if depth > MAX_DEPTH:
            return DROPPED
        if isinstance(value, str):
            if is_fingerprint(value):
                return value
            if self.secret is not None and value and is_secret_name(name):
                return self.secret()
            return self.text_of(value, is_id_name(name))
        if isinstance(value, Mapping):
            return self._mapping(value, name, depth)
        if isinstance(value, list | tuple):
            return [self.value(item, name, depth + 1) for item in value]
        return self._number(value, name)

    def _mapping(self, value: Mapping[str, Json], name: str, depth: int) -> dict[str, Json]:
        """An object; under the name of a secret all of it is one."""
        above = name if self.secret is not None and is_secret_name(name) else None
        pair = value.get("key", value.get("name")) if "value" in value else None
        found: dict[str, Json] = {}
        for key, item in value.items():
            known_as = above or (pair if key == "value" and isinstance(pair, str) else str(key))
            found[self.text_of(str(key), False)] = self.value(item, known_as, depth + 1)
        return found

    def _number(self, value: Json, name: str) -> Json:
        """Anything but text, list and object; a number that is masked becomes its mark."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if self.secret is not None and is_secret_name(name):
            return self.secret()
        if not isinstance(value, int) or not LEAST_CARD <= value < MOST_CARD:
            return value
        text = str(value)
        kept = self.text_of(text, is_id_name(name))
        return value if kept == text else kept


def suspects(masks: Masks, records: Sequence[object]) -> list[bool]:
    """Whether a mask could find anything, for each of `records`; also where it is no JSON."""
    written: list[bytes] = []
    strange: set[int] = set()
    for place, record in enumerate(records):
        try:
            written.append(orjson.dumps(record))
        except orjson.JSONEncodeError:
            written.append(b"")
            strange.add(place)
    return [is_one or place in strange for place, is_one in enumerate(masks.suspects(written))]
