"""The measures of a prompt, taken text by text while its tokens are counted.

Owns what counts as a chunk by the section it is in, and the memory of texts that were measured: a
document comes again with other calls, a tool's result with every later step. Refuses to tokenise,
and to remember a text: its digest stands for it.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.counting.chunks import Extent, chunks_of_context, trimmed
from ingest.counting.markup import markup_of
from ingest.counting.sections import Stretch
from ingest.counting.signatures import signature, text_hash
from ingest.counting.token_ids import Ids, encoded
from ingest.counting.touched import is_touched, terms_of
from ingest.counting.vocabulary import vocabulary
from ingest.prompt_measures import MAX_CHUNKS, PromptMeasures

MIN_TOKENS = 16
"""A shorter passage is a title or an `ok`, and no chunk."""
REMEMBERED_CHUNKS = 100_000
"""Some 20 MB; beyond, what was not met for longest is forgotten."""


class Chunk(NamedTuple):
    """One chunk of a text: its characters, and its tokens within those of the text."""

    extent: Extent
    text_hash: int
    signature: int
    first_token: int
    tokens: int
    markup_tokens: int


class Placed(NamedTuple):
    """A chunk of the prompt, whose first token is `begin` among those of all sections."""

    chunk: Chunk
    begin: int
    is_result: bool
    text: str


@dataclass(slots=True)
class Notes:
    """The notes on one prompt, grown text by text; `measures` are their sum."""

    encoding: str
    hash_key: str | None
    placed: list[Placed] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    user_turns: int | None = None

    def add(
        self, text: str, ids: Ids, stretches: Sequence[Stretch], begin: int, *, is_result: bool
    ) -> None:
        """Take one text, cut in sections; its first token is `begin` among those of all."""
        extents: list[Extent] = []
        for each in stretches:
            if each.section == "examples":
                self.examples.append(text[each.begin : each.end])
            elif each.section == "context":
                extents += chunks_of_context(text, each.begin, each.end)
            elif is_result:
                extents.append(trimmed(text, each.begin, each.end))
        if extents:
            key = (text, self.encoding, self.hash_key, tuple(extents))
            found = chunk_memory().chunks(*key, ids)
            self.placed += [
                Placed(chunk, begin + chunk.first_token, is_result, text) for chunk in found
            ]

    def measures(self, answer: Sequence[str] | None) -> PromptMeasures | None:
        """All that was noted; `answer` has the texts of the answer, None where none was seen."""
        placed = self.placed[:MAX_CHUNKS]
        is_empty = not placed and not self.examples and self.user_turns is None
        if is_empty:
            return None
        chunks = [each.chunk for each in placed]
        return PromptMeasures(
            user_turns=self.user_turns,
            examples_hash=text_hash("\n".join(self.examples), self.hash_key)
            if self.examples
            else None,
            chunk_hashes=tuple(chunk.text_hash for chunk in chunks),
            chunk_signatures=tuple(chunk.signature for chunk in chunks),
            chunk_begins=tuple(each.begin for each in placed),
            chunk_tokens=tuple(chunk.tokens for chunk in chunks),
            chunk_markup_tokens=tuple(chunk.markup_tokens for chunk in chunks),
            chunk_is_result=tuple(each.is_result for each in placed),
            chunk_is_touched=_touched(placed, answer),
        )


def _touched(placed: Sequence[Placed], answer: Sequence[str] | None) -> tuple[bool, ...] | None:
    terms = terms_of(answer) if placed and answer is not None else None
    if terms is None:
        return None
    return tuple(is_touched(each.text[slice(*each.chunk.extent)], terms) for each in placed)


class ChunkMemory:
    """Measured chunks by digest of their text; safe to ask from several threads."""

    def __init__(self, remembered_chunks: int = REMEMBERED_CHUNKS) -> None:
        self._remembered_chunks = remembered_chunks
        self._held = 0
        self._known: OrderedDict[bytes, tuple[Chunk, ...]] = OrderedDict()
        self._lock = Lock()

    def chunks(
        self, text: str, encoding: str, hash_key: str | None, extents: tuple[Extent, ...], ids: Ids
    ) -> tuple[Chunk, ...]:
        """The chunks at `extents` of `text`, whose tokens are `ids`, but for the short ones."""
        raw = encoded(text)
        terms = repr((encoding, hash_key, extents)).encode("utf-8", "surrogatepass")
        key = blake2b(raw, digest_size=16, key=blake2b(terms).digest()).digest()
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        made = tuple(_measured(text, raw, encoding, hash_key, extents, ids))
        with self._lock:
            if key not in self._known:
                self._known[key] = made
                self._held += 1 + len(made)
            while self._held > self._remembered_chunks:
                _, forgotten = self._known.popitem(last=False)
                self._held -= 1 + len(forgotten)
        return made


@cache
def chunk_memory() -> ChunkMemory:
    """The memory of this process."""
    return ChunkMemory()


def _measured(  # noqa: PLR0913, PLR0917 - a text in three forms, and how it is measured
    text: str,
    raw: bytes,
    encoding: str,
    hash_key: str | None,
    extents: Sequence[Extent],
    ids: Ids,
) -> list[Chunk]:
    markup = [
        (begin + first, begin + last)
        for begin, end in extents
        for first, last in markup_of(text[begin:end])
    ]
    bounds = sorted({at for extent in (*extents, *markup) for at in extent})
    cuts = dict(zip(bounds, _token_cuts(text, raw, encoding, bounds, ids).tolist(), strict=True))
    in_markup = _markup_before(markup, cuts, len(ids))
    found = []
    for begin, end in extents:
        first, last = cuts[begin], cuts[end]
        if last - first >= MIN_TOKENS:
            found.append(
                Chunk(
                    extent=(begin, end),
                    text_hash=text_hash(text[begin:end], hash_key),
                    signature=signature(ids[first:last], hash_key),
                    first_token=first,
                    tokens=last - first,
                    markup_tokens=int(in_markup[last] - in_markup[first]),
                )
            )
    return found


def _token_cuts(
    text: str, raw: bytes, encoding: str, bounds: Sequence[int], ids: Ids
) -> npt.NDArray[np.int64]:
    """For each of the ascending `bounds`, in characters, the first token that begins there."""
    byte_counts = vocabulary(encoding).byte_counts[ids]
    begins = np.cumsum(byte_counts) - byte_counts
    if len(raw) == len(text):
        at_bytes = list(bounds)
    else:
        pieces = zip((0, *bounds), bounds, strict=False)
        at_bytes = list(accumulate(len(encoded(text[begin:end])) for begin, end in pieces))
    return np.searchsorted(begins, np.array(at_bytes, dtype=np.int64))


def _markup_before(
    markup: Sequence[Extent], cuts: dict[int, int], count: int
) -> npt.NDArray[np.int64]:
    """How many tokens before each are markup."""
    is_markup = np.zeros(count, dtype=bool)
    for begin, end in markup:
        is_markup[cuts[begin] : cuts[end]] = True
    return np.concatenate(([0], np.cumsum(is_markup)))
