"""What is measured of a chunk by itself, once: a document comes again with other calls, a result of
a tool with every later step.

Owns what is measured, and what a chunk is known by: the digest of its text and of its tokens, which
depend a little on what stands before it. Refuses to tokenise.
"""

from functools import cache, lru_cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ingest.counting.markup import markup_of
from ingest.counting.remembered import Remembered
from ingest.counting.signatures import signature, text_hash
from ingest.counting.token_ids import Ids, encoded
from ingest.counting.vocabulary import vocabulary

REMEMBERED_CHUNKS = 100_000
"""32 MB; beyond, what was not met for longest is forgotten."""


class Piece(NamedTuple):
    """The text of a chunk and the tokens that begin in it, the first of them after `lead` bytes."""

    text: str
    ids: Ids
    lead: int
    encoding: str
    hash_key: str | None


class Measured(NamedTuple):
    """What is known of a chunk by itself."""

    text_hash: int
    signature: int
    markup_tokens: int


class ChunkMemory:
    """Measured chunks; safe to ask from several threads."""

    def __init__(self, remembered_chunks: int = REMEMBERED_CHUNKS) -> None:
        self._known: Remembered[Measured] = Remembered(remembered_chunks)

    def measured(self, piece: Piece) -> Measured:
        """What is known of `piece`."""
        key = blake2b(
            encoded(piece.text) + b"%d:" % piece.lead + piece.ids.tobytes(),
            digest_size=16,
            key=_terms(piece.encoding, piece.hash_key),
        ).digest()
        return self._known.found(key, lambda: _measured(piece))


@cache
def chunk_memory() -> ChunkMemory:
    """The memory of this process."""
    return ChunkMemory()


@lru_cache(maxsize=64)
def _terms(encoding: str, hash_key: str | None) -> bytes:
    return blake2b(repr((encoding, hash_key)).encode("utf-8", "surrogatepass")).digest()


def _measured(piece: Piece) -> Measured:
    return Measured(
        text_hash=text_hash(piece.text, piece.hash_key),
        signature=signature(piece.ids, piece.hash_key),
        markup_tokens=_markup_tokens(piece),
    )


def _markup_tokens(piece: Piece) -> int:
    """Tokens that begin in markup."""
    markup = markup_of(piece.text)
    if not markup:
        return 0
    bounds = [at for extent in markup for at in extent]
    stretches = pairwise((0, *bounds))
    at_bytes = accumulate(len(encoded(piece.text[begin:end])) for begin, end in stretches)
    byte_counts = vocabulary(piece.encoding).byte_counts[piece.ids]
    token_begins = piece.lead + np.cumsum(byte_counts) - byte_counts
    cuts = np.searchsorted(token_begins, np.fromiter(at_bytes, dtype=np.int64))
    return int((cuts[1::2] - cuts[::2]).sum())
