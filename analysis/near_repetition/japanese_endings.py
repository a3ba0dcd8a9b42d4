"""What hiragana behind a word says: the end of a verb's stem, an ending, a particle.

Owns the reading of endings, and the one form that all forms of a verb have. Refuses a reading that
leaves a kana over.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from analysis.near_repetition.tokens import emitted, words_of

_ROWS = {
    "k": "かきくこがぎぐご",
    "s": "さしすそ",
    "m": "まみむもなにぬのばびぶぼん",
    "": "たちつとらりるろわいうおっ",
    "ke": "けげ",
    "se": "せ",
    "me": "めねべ",
    "e": "えてれ",
}
"""Stems of a verb that end in one of these compare equal; one in e is another verb."""
_ROW_OF = {kana: row for row, all_kana in _ROWS.items() for kana in all_kana}
_E_OR_I = "えけげせてねべめれいきぎしちにびみり"
_A = "かがさざただなばまらわ"
_MOST_STEM = 3
_SURU = "する"
"""Its other forms have a stem in s by themselves."""
_BOUND = tuple("あかがさざただなばまらわおこごそぞとどのぼもろよっん")
"""Kana in which no form of a verb ends that stands alone."""


class Ending(NamedTuple):
    """What hiragana behind a word says: the stem's canonical form, what it adds, a particle."""

    stem: str
    added: tuple[str, ...]
    mark: str


@cache
def particles() -> tuple[str, ...]:
    """All particles, the longest first, and none."""
    table = words_of("japanese")
    known = {*table.weak, *table.strong, *table.raw["particles"]["compounds"]}
    return (*sorted(known, key=lambda particle: (-len(particle), particle)), "")


def particle_mark(particle: str) -> str:
    """The mark that `particle` sets; several write one."""
    mark: str = words_of("japanese").raw["particles"]["compounds"].get(particle, particle)
    return mark


@cache
def _endings() -> tuple[tuple[str, tuple[str, ...]], ...]:
    told = words_of("japanese").raw["endings"].items()
    pairs = [(ending, tuple(emitted(added))) for added, endings in told for ending in endings]
    return (*sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0])), ("", ()))


@lru_cache(maxsize=65_536)
def behind_kanji(run: str) -> Ending | None:
    """`run` behind the kanji of a verb: the shortest stem that leaves nothing unread."""
    if run.startswith(_SURU) and (read := after_stem(run.removeprefix(_SURU))) is not None:
        return read._replace(stem="s")
    for size in range(min(_MOST_STEM, len(run)) + 1):
        stem, rest = run[:size], run[size:]
        read = after_stem(rest)
        if read is not None and _is_stem(stem, rest):
            return read._replace(stem=_canonical_stem(stem))
    return None


def _is_stem(stem: str, rest: str) -> bool:
    """Whether `stem` may stand before `rest`: る needs one in e or i, れる one in a, and alone
    it ends in u, i or e."""
    if stem.endswith(_BOUND) and rest in particles():
        return False
    if rest.startswith("れ") and not rest.startswith("れば"):
        return stem[-1:] in _A and stem != ""
    if rest.startswith(("る", "れば")):
        return not stem or stem[-1] in _E_OR_I
    return not stem or stem[-1] in _ROW_OF


def _canonical_stem(stem: str) -> str:
    """One form of a verb's stem: its last kana by row, so that all its forms compare equal."""
    if stem:
        return stem[:-1] + _ROW_OF.get(stem[-1], stem[-1])
    return ""


@lru_cache(maxsize=65_536)
def after_stem(rest: str, *, is_noun: bool = False) -> Ending | None:
    """`rest` as an ending and a particle, both at most once; None where something is left."""
    nominal, final = (words_of("japanese").raw["sentence"][name] for name in ("nominal", "final"))
    for ending, added in _endings():
        if not rest.startswith(ending) or (is_noun and ending and ending not in nominal):
            continue
        tail = rest[len(ending) :]
        for particle in particles():
            if tail == particle or (
                tail.removeprefix(particle) in final and tail.startswith(particle)
            ):
                return Ending("", added, particle_mark(particle))
    return None
