"""A prompt's token ids as an engine sees them, and what they are without volatile text.

Owns the second order of a prompt: all its text but what looks volatile. Refuses to tokenise a text
twice for it: only what stands around the volatile text is tokenised again.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.counting.prefixes import joined
from ingest.counting.remembered import Remembered
from ingest.counting.token_ids import Ids, encoded, tokenised
from ingest.counting.vocabulary import vocabulary
from ingest.counting.volatile import KINDS, MAX_CHARACTERS, VolatileText, volatile_texts

REMEMBERED_TEXTS = 20_000
_FAR, NEAR = 200, 60
_SAFE_CUT = re.compile(
    r"[A-Za-z](?= [A-Za-z])|[A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff](?=[\n、。「」])"
)
"""Here both encodings begin a new token whatever comes before."""


class VolatileSpan(NamedTuple):
    """`token_count` tokens from token `begin` of a prompt on; `kind` is its number, from 1."""

    begin: int
    token_count: int
    kind: int


class Leading:
    """The ids of a prompt, grown piece by piece.

    With `finds_volatile` also `stable_ids`, without the tokens of `spans`; the same as `ids` where
    there is none.
    """

    def __init__(self, encoding: str, *, finds_volatile: bool) -> None:
        self.encoding = encoding
        self._characters = MAX_CHARACTERS if finds_volatile else 0
        self._parts: list[Ids] = []
        self._stable_parts: list[Ids] = []
        self._count = 0
        self.spans: list[VolatileSpan] = []

    @property
    def ids(self) -> Ids:
        """All tokens, one after the other."""
        return joined(self._parts)

    @property
    def stable_ids(self) -> Ids:
        """All tokens but the volatile ones."""
        return joined(self._stable_parts)

    def add(self, ids: Ids) -> None:
        """Take tokens that are no text of the caller."""
        self._append(ids, ids)

    def add_text(self, text: str, ids: Ids) -> None:
        """Take `text`, the tokens of which are `ids`."""
        if not text.isascii():
            text = encoded(text).decode()
        found = _volatile(text[: self._characters]) if self._characters else ()
        self._characters = max(self._characters - len(text), 0)
        if not found:
            self._append(ids, ids)
            return
        spans, stable = without(text, ids, found, self.encoding)
        self.spans += [each._replace(begin=each.begin + self._count) for each in spans]
        self._append(ids, stable)

    def _append(self, ids: Ids, stable: Ids) -> None:
        self._parts.append(ids)
        self._stable_parts.append(stable)
        self._count += len(ids)


def without(
    text: str, ids: Ids, found: Sequence[VolatileText], encoding: str
) -> tuple[list[VolatileSpan], Ids]:
    """The tokens of `found` among `ids`, and the ids of `text` without these texts."""
    offsets = np.concatenate(([0], np.cumsum(vocabulary(encoding).byte_counts[ids])))
    bytes_to = _bytes_to(text)
    firsts = np.searchsorted(offsets, bytes_to[[each.begin for each in found]], side="right") - 1
    lasts = np.searchsorted(offsets, bytes_to[[each.end for each in found]], side="left")
    spans = [
        VolatileSpan(first, last - first, KINDS.index(each.kind) + 1)
        for each, first, last in zip(found, firsts.tolist(), lasts.tolist(), strict=True)
    ]
    kept: list[Ids] = []
    at = 0
    for begin, end, inside in _windows(text, found):
        first, last = np.searchsorted(offsets, bytes_to[[begin, end]]).tolist()
        kept += [ids[at:first], tokenised(_cut_out(text, begin, end, inside), encoding)]
        at = last
    stable = joined([*kept, ids[at:]])
    return _from_first_difference(spans, ids, stable), stable


def _windows(
    text: str, found: Sequence[VolatileText]
) -> Iterator[tuple[int, int, list[VolatileText]]]:
    """Stretches of `text` around what was `found`, and what of it each holds.

    At both ends of a stretch a token begins, with what was found in it and without. Those that are
    near each other are one. Where there is no such place nearby, it reaches to the text's end.
    """
    begin = end = 0
    inside: list[VolatileText] = []
    for each in found:
        if inside and each.begin <= end + NEAR:
            inside.append(each)
        else:
            if inside:
                yield begin, end, inside
            cuts = _SAFE_CUT.finditer(text, max(end, each.begin - _FAR), each.begin)
            begin = max((cut.end() for cut in cuts), default=end)
            inside = [each]
        after = _SAFE_CUT.search(text, each.end)
        end = after.end() if after else len(text)
    if inside:
        yield begin, end, inside


def _cut_out(text: str, begin: int, end: int, found: Sequence[VolatileText]) -> str:
    """`text` from `begin` to before `end`, without what was `found`."""
    pieces = []
    for each in found:
        pieces.append(text[begin : each.begin])
        begin = each.end
    return "".join((*pieces, text[begin:end]))


def _from_first_difference(
    spans: Sequence[VolatileSpan], ids: Ids, stable: Ids
) -> list[VolatileSpan]:
    """`spans`, the first of them from the first token that both orders do not share."""
    first = spans[0]
    shared = min(first.begin, len(stable))
    differing = np.flatnonzero(ids[:shared] != stable[:shared])
    begin = int(differing[0]) if len(differing) else shared
    return [VolatileSpan(begin, first.begin + first.token_count - begin, first.kind), *spans[1:]]


def _bytes_to(text: str) -> npt.NDArray[np.int64]:
    """How many bytes of UTF-8 stand before each character of `text`, and before its end."""
    if text.isascii():
        return np.arange(len(text) + 1)
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    widths = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    return np.concatenate(([0], np.cumsum(widths)))


def _volatile(text: str) -> tuple[VolatileText, ...]:
    """What is volatile in `text`, looked for once: a system prompt comes with every call."""
    key = blake2b(encoded(text), digest_size=16).digest()
    return _memory().found(key, lambda: tuple(volatile_texts(text)))


@cache
def _memory() -> Remembered[tuple[VolatileText, ...]]:
    return Remembered(REMEMBERED_TEXTS)
