"""Texts in, the same texts with marks out, a whole batch at a time.

Owns the order of the masks and their failures: a text on which a mask fails is dropped, counted,
and stops no other. Patterns run in RE2, checks on what RE2 proposes, so the time of both grows with
the length of the text alone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.config import Configuration, MaskPattern
from ingest.errors import ConfigurationError
from ingest.masking.checked import FINDERS, Finder, without_grouped_cards
from ingest.masking.patterns import EMAIL_REWRITES, SECRET_REWRITES, TRIGGERS, Rewrite, mark

DROPPED = mark("unreadable")
"""What is stored in place of a text on which a mask failed."""
UNREADABLE = "unreadable"

ORDER = ("secret", "iban", "card", "email", "phone", "ip")
"""The masks in the order of their running; own patterns come last."""
NOT_IN_IDS = frozenset({"phone"})
"""Masks that leave ids alone: their digits mean nothing."""

Step = Callable[[Sequence[str]], list[str]]
"""Texts to the same texts, in their order, with the marks of one mask."""


def _rewritten(rewrites: Sequence[Rewrite]) -> Step:
    def step(texts: Sequence[str]) -> list[str]:
        array: Any = pa.array(texts, pa.large_string())
        for rewrite in rewrites:
            array = pc.replace_substring_regex(array, rewrite.pattern, rewrite.replacement)
        return [str(text) for text in array.to_pylist()]

    return step


def _checked(trigger: str, finder: Finder) -> Step:
    """Runs `finder` on those texts alone that RE2 proposes."""

    def step(texts: Sequence[str]) -> list[str]:
        proposed = _matches(texts, trigger)
        return [
            finder(text) if is_one else text for text, is_one in zip(texts, proposed, strict=True)
        ]

    return step


def _matches(texts: Sequence[str] | Sequence[bytes], pattern: str) -> list[bool]:
    array: Any = pa.array(texts, pa.large_string())
    return [bool(found) for found in pc.match_substring_regex(array, pattern).to_pylist()]


@dataclass(frozen=True, slots=True)
class Masks:
    """The masks that a configuration asks for. Any thread may use them."""

    steps: tuple[tuple[str, Step], ...]
    id_steps: tuple[tuple[str, Step], ...]
    trigger: str | None = field(default=None)
    has_own: bool = False

    @property
    def has_names(self) -> bool:
        """Whether a value under the name of a secret is masked, whatever it is."""
        return any(name == "secret" for name, _ in self.steps)

    @property
    def are_none(self) -> bool:
        """Whether nothing is masked."""
        return not self.steps

    def texts(self, texts: Sequence[str], counts: Counter[str], *, are_ids: bool) -> list[str]:
        """`texts` in their order with marks; `counts` gets the texts changed, by mask."""
        steps = self.id_steps if are_ids else self.steps
        if not texts or not steps:
            return list(texts)
        kept = [_storable(text) for text in texts]
        for name, step in steps:
            before, kept = kept, _all_or_one_by_one(step, kept)
            for was, is_now in zip(before, kept, strict=True):
                if was != is_now:
                    counts[UNREADABLE if is_now == DROPPED else name] += 1
        return kept

    def suspects(self, records: Sequence[bytes]) -> list[bool]:
        """Whether a mask could find anything, for each of `records` as JSON."""
        if self.trigger is None:
            return [self.has_own] * len(records)
        return _matches(records, self.trigger)


def _all_or_one_by_one(step: Step, texts: Sequence[str]) -> list[str]:
    """`step` of all `texts`; where it fails, of each, without those on which it does."""
    try:
        return step(texts)
    except Exception:  # noqa: BLE001 - whatever a mask fails with, the text may not be stored
        if len(texts) == 1:
            return [DROPPED]
        return [kept for text in texts for kept in _all_or_one_by_one(step, [text])]


def _storable(text: str) -> str:
    """`text` without lone surrogates, which have no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def masks_of(configuration: Configuration) -> Masks:
    """The masks that `configuration` asks for.

    Raises `ConfigurationError` for a pattern of its own that RE2 does not take.
    """
    return _masks(configuration.mask, configuration.mask_patterns)


@lru_cache(maxsize=8)
def _masks(names: tuple[str, ...], own: tuple[MaskPattern, ...]) -> Masks:
    built_in = [name for name in ORDER if name in names]
    own_steps = tuple((entry.name, _own_step(number, entry)) for number, entry in enumerate(own))
    has_trigger = bool(built_in) and not own
    return Masks(
        steps=(*((name, _step(name)) for name in built_in), *own_steps),
        id_steps=(
            *((name, _id_step(name)) for name in built_in if name not in NOT_IN_IDS),
            *own_steps,
        ),
        trigger="|".join(TRIGGERS[name] for name in built_in) if has_trigger else None,
        has_own=bool(own),
    )


def _step(name: str) -> Step:
    if name == "secret":
        return _rewritten(SECRET_REWRITES)
    if name == "email":
        return _rewritten(EMAIL_REWRITES)
    return _checked(TRIGGERS[name], FINDERS[name])


def _id_step(name: str) -> Step:
    """The mask `name` for ids: a card number is one there only if it is written in groups."""
    return _checked(TRIGGERS[name], without_grouped_cards) if name == "card" else _step(name)


def _own_step(number: int, entry: MaskPattern) -> Step:
    try:
        _matches([""], entry.pattern)
    except pa.ArrowInvalid as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise ConfigurationError(
            f"mask_patterns[{number}].pattern cannot be used: {why}; patterns are those of RE2, "
            "which has no look-around and no back references"
        ) from None
    return _rewritten([Rewrite(entry.pattern, mark(entry.name).replace("\\", r"\\"))])
