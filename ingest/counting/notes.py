"""The measures of a prompt, taken text by text while its tokens are counted.

Owns what counts as a chunk by the section it is in, and where it stands. Refuses to tokenise: it is
given the tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ingest.counting.chunk_memory import Measured, Piece, chunk_memory
from ingest.counting.chunks import Extent, chunks_of_context, trimmed
from ingest.counting.sections import Stretch
from ingest.counting.signatures import text_hash
from ingest.counting.token_ids import Ids, encoded
from ingest.counting.touched import is_touched, terms_of
from ingest.counting.vocabulary import vocabulary
from ingest.prompt_measures import MAX_CHUNKS, PromptMeasures

MIN_TOKENS = 16
"""A shorter passage is a title or an `ok`, and no chunk."""


class Chunk(NamedTuple):
    """One chunk of a text, and its tokens within those of the text."""

    text: str
    first_token: int
    tokens: int
    measured: Measured


class Placed(NamedTuple):
    """A chunk of the prompt, whose first token is `begin` among those of all sections."""

    chunk: Chunk
    begin: int
    is_result: bool


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
        self.placed += [
            Placed(chunk, begin + chunk.first_token, is_result)
            for chunk in (_chunks(text, ids, extents, self) if extents else ())
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
            chunk_hashes=tuple(chunk.measured.text_hash for chunk in chunks),
            chunk_signatures=tuple(chunk.measured.signature for chunk in chunks),
            chunk_begins=tuple(each.begin for each in placed),
            chunk_tokens=tuple(chunk.tokens for chunk in chunks),
            chunk_markup_tokens=tuple(chunk.measured.markup_tokens for chunk in chunks),
            chunk_is_result=tuple(each.is_result for each in placed),
            chunk_is_touched=_touched(placed, answer),
        )


def _touched(placed: Sequence[Placed], answer: Sequence[str] | None) -> tuple[bool, ...] | None:
    terms = terms_of(answer) if placed and answer is not None else None
    if terms is None:
        return None
    return tuple(is_touched(each.chunk.text, terms) for each in placed)


def _chunks(text: str, ids: Ids, extents: Sequence[Extent], notes: "Notes") -> Iterator[Chunk]:
    """The chunks at `extents` of `text`, whose tokens are `ids`, but for the short ones."""
    byte_counts = vocabulary(notes.encoding).byte_counts[ids]
    begins = np.cumsum(byte_counts) - byte_counts
    at_bytes = _at_bytes(text, [at for extent in extents for at in extent])
    cuts = np.searchsorted(begins, np.array(at_bytes, dtype=np.int64)).tolist()
    for (begin, end), first, last, at_byte in zip(
        extents, cuts[::2], cuts[1::2], at_bytes[::2], strict=True
    ):
        if last - first >= MIN_TOKENS:
            lead = int(begins[first]) - at_byte
            piece = Piece(text[begin:end], ids[first:last], lead, notes.encoding, notes.hash_key)
            yield Chunk(piece.text, first, last - first, chunk_memory().measured(piece))


def _at_bytes(text: str, bounds: Sequence[int]) -> Sequence[int]:
    """Where the ascending `bounds`, in characters, are in bytes."""
    if text.isascii():
        return bounds
    stretches = pairwise((0, *bounds))
    return list(accumulate(len(encoded(text[begin:end])) for begin, end in stretches))
