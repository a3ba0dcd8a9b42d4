"""What a text is made of for the guards: tokens with their kind, and the mark of their role.

Owns the kinds. Refuses an order of its own: tokens stand as in the text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from tomllib import loads
from typing import Any, NamedTuple

KINDS = (
    "number", "unit", "date", "name", "negation", "quantifier", "comparative", "antonym",
    "language", "modal", "question", "word",
)  # fmt: skip
"""What a difference between two texts is called; `antonym` is of a pair of words."""

_LISTED = (
    "negation", "quantifier", "comparative", "modal", "question", "date", "language", "unit",
)  # fmt: skip


class Token(NamedTuple):
    """`value` is what two texts are compared by, `mark` the particle or preposition at it."""

    kind: str
    value: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """The tables of one language, as `english.toml` and `japanese.toml` explain them."""

    frames: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]
    canonical: Mapping[str, str]
    antonyms: frozenset[frozenset[str]]
    weak: frozenset[str]
    strong: frozenset[str]
    alike: frozenset[frozenset[str]]
    raw: Mapping[str, Any]

    def kind_of(self, value: str, otherwise: str) -> str:
        """The kind of `value`, or `otherwise` where no table has it."""
        return self.kinds.get(value, otherwise)


@cache
def words_of(language: str) -> Words:
    """The tables of `language`: "english" or "japanese"."""
    raw = loads((files("analysis.near_repetition") / f"{language}.toml").read_text("utf-8"))
    frames = {
        phrase: tuple(emitted(told))
        for told, phrases in raw["frames"].items()
        for phrase in phrases
    }
    places = raw["prepositions"] if "prepositions" in raw else raw["particles"]
    canonical = {word: group[0] for group in raw["synonyms"]["groups"] for word in group}
    kinds = {word: kind for kind in reversed(_LISTED) for word in raw[kind]["words"]}
    return Words(
        frames=frames,
        kinds=kinds | {canonical.get(word, word): kind for word, kind in kinds.items()},
        canonical=canonical,
        antonyms=frozenset(frozenset(pair) for pair in raw["antonyms"]["pairs"]),
        weak=frozenset(places["weak"]),
        strong=frozenset(places["strong"]),
        alike=frozenset(frozenset(pair) for pair in places["alike"]),
        raw=raw,
    )


def emitted(told: str) -> list[str]:
    """The words that `told` lists: one, or several in angle brackets."""
    if not told.startswith("<"):
        return [told] if told else []
    return [f"<{part.strip('<> ')}>" for part in told.split("> <")]
