"""Guards: what must not differ between two questions if the answer of one is to serve the other.

Owns the names of the guards and the comparison; it is symmetric, and a text never conflicts with
itself. Refuses a list of dangerous words alone: any content word, number or name without its
equal on the other side is a conflict, and so is another order or another role.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from analysis.near_repetition.english import english_tokens
from analysis.near_repetition.japanese import japanese_tokens
from analysis.near_repetition.tokens import KINDS, Token, words_of

TEXT_GUARDS = ("written in", *KINDS, "order")
"""Guards of the texts alone, in the order in which they are told."""

MASKED = "[masked: "
"""What stands for a text that was masked; two of them may have been two."""

_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "−": "-"})
_KANA = re.compile(r"[ぁ-ゖァ-ヺ]")
_HAN = re.compile(r"[㐀-鿿]")
_NOT_ASCII_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_PLAIN = re.compile(r"\w+|[^\w\s]")
_FREE_KINDS = frozenset({"date"})


@dataclass(frozen=True, slots=True)
class Meaning:
    """What of a text the guards compare; `key` is equal wherever no guard but order can speak."""

    script: str
    tokens: tuple[Token, ...]
    key: tuple[str, ...]


@lru_cache(maxsize=200_000)
def meaning_of(text: str) -> Meaning:
    """The meaning of `text` as far as the guards see it."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES).strip()
    script = _script(plain)
    if script == "ja":
        tokens = japanese_tokens(plain)
    elif script == "en":
        tokens = english_tokens(plain)
    else:
        tokens = tuple(Token("word", piece) for piece in _PLAIN.findall(plain))
    tokens = tokens or tuple(Token("word", piece.lower()) for piece in _PLAIN.findall(plain))
    values = sorted(token.value for token in tokens)
    return Meaning(script, tokens, (script, *values))


def text_conflicts(one: str, other: str) -> tuple[str, ...]:
    """The guards that keep `one` and `other` apart, in the order of `TEXT_GUARDS`; none: ()."""
    return conflicts(meaning_of(one), meaning_of(other))


def conflicts(one: Meaning, other: Meaning) -> tuple[str, ...]:
    """The guards that keep two meanings apart, in the order of `TEXT_GUARDS`."""
    found: set[str] = {"written in"} if one.script != other.script else set()
    if one.key[1:] != other.key[1:]:
        found |= _differing_kinds(one.tokens, other.tokens)
    elif not found and _is_other_order(one, other):
        found.add("order")
    return tuple(guard for guard in TEXT_GUARDS if guard in found)


def _script(text: str) -> str:
    if _KANA.search(text):
        return "ja"
    if _HAN.search(text):
        return "han"
    return "other" if _NOT_ASCII_LETTER.search(text) else "en"


def _differing_kinds(one: Sequence[Token], other: Sequence[Token]) -> set[str]:
    """The kinds of the tokens that have no equal on the other side."""
    mine, theirs = _left_over(one, other), _left_over(other, one)
    found = {token.kind for token in (*mine, *theirs)}
    if any(_are_antonyms(a.value, b.value) for a in mine for b in theirs):
        found = (found - {"word"}) | {"antonym"}
    return found


def _left_over(tokens: Sequence[Token], others: Iterable[Token]) -> list[Token]:
    counts = Counter(token.value for token in others)
    left = []
    for token in tokens:
        if counts[token.value]:
            counts[token.value] -= 1
        else:
            left.append(token)
    return left


def _are_antonyms(one: str, other: str) -> bool:
    pair = frozenset({one.lstrip("~"), other.lstrip("~")})
    return any(pair in words_of(language).antonyms for language in ("english", "japanese"))


def _is_other_order(one: Meaning, other: Meaning) -> bool:
    """Whether tokens that are equal by value stand in other roles or in another order.

    A weak mark may differ at one token, and that token may stand elsewhere; so may dates, the
    particle of a verb, and what the same mark, found once in the text, leads on both sides.
    """
    if one.tokens == other.tokens:
        return False
    marks, other_marks = _marks(one.tokens), _marks(other.tokens)
    if len(marks) < len(one.tokens):
        return True
    table = words_of("japanese" if one.script == "ja" else "english")
    loose = {value for value in marks if marks[value] != other_marks[value]}
    dates = {token.value for token in one.tokens if token.kind in _FREE_KINDS}
    if len(loose - dates) > 1 or not all(
        frozenset({marks[value], other_marks[value]}) in table.alike for value in loose
    ):
        return True
    counts = Counter(marks.values())
    led = {value for value, mark in marks.items() if mark and counts[mark] == 1}
    free = loose | dates | led | {value for value in marks if value.startswith("~")}
    return [v for v in marks if v not in free] != [v for v in other_marks if v not in free]


def _marks(tokens: Sequence[Token]) -> dict[str, str]:
    return {token.value: token.mark for token in tokens}
