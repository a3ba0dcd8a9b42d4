"""What stands for a chunk of text: a hash that only the same text has, and eight minimum hashes.

Owns both, keyed by the configured key. Two chunks agree in a byte of the signature as often as they
share runs of `SHINGLE_TOKENS` tokens, in any language (A. Broder, On the resemblance and
containment of documents, 1997). Refuses to tokenise: it is given the tokens.
"""

import unicodedata
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ingest.counting.prefixes import secret_of
from ingest.counting.token_ids import Ids, encoded

SHINGLE_TOKENS = 4
SLOTS = 8
_PERSON = b"gpuledger-chunk"
_ROOM = 1 << 14
"""Shingles that are hashed at once: eight rows of them stay in the processor's cache."""
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT, _TOP_BYTE = np.uint64(31), np.uint64(56)

_Words = npt.NDArray[np.uint64]


def text_hash(text: str, hash_key: str | None) -> int:
    """A signed 64-bit hash of `text`, whatever its blanks and Unicode form."""
    plain = text if text.isascii() else unicodedata.normalize("NFC", text)
    same = encoded("".join(plain.split()))
    digest = blake2b(same, digest_size=8, key=secret_of(hash_key), person=_PERSON).digest()
    return int.from_bytes(digest, "little", signed=True)


def signature(ids: Ids, hash_key: str | None) -> int:
    """The signed 64 bits of eight minimum hashes of one byte each; `ids` has a token at least."""
    factors, offsets = _seeds(hash_key)
    shingles = _shingles(ids, factors[:SHINGLE_TOKENS])
    lowest = np.full(SLOTS, np.uint64(2**64 - 1))
    for begin in range(0, len(shingles), _ROOM):
        hashed = (shingles[begin : begin + _ROOM] ^ offsets[:, None]) * factors[-SLOTS:, None]
        hashed ^= hashed >> _SHIFT
        lowest = np.minimum(lowest, hashed.min(axis=1))
    in_bytes = ((lowest * _MIX) >> _TOP_BYTE).astype(np.uint8)
    return int.from_bytes(in_bytes.tobytes(), "little", signed=True)


def _shingles(ids: Ids, factors: _Words) -> _Words:
    """A hash of every run of `SHINGLE_TOKENS` tokens; of all of them where they are fewer."""
    words = ids.astype(np.uint64)
    length = min(SHINGLE_TOKENS, len(words))
    count = len(words) - length + 1
    found = words[:count] * factors[0]
    for at in range(1, length):
        found = (found ^ (found >> _SHIFT)) * _MIX + words[at : at + count] * factors[at]
    mixed: _Words = (found ^ (found >> _SHIFT)) * _MIX
    return mixed


@lru_cache(maxsize=16)
def _seeds(hash_key: str | None) -> tuple[_Words, _Words]:
    """Odd factors for the tokens of a shingle and for the slots, and an offset for each slot."""
    count = SHINGLE_TOKENS + 2 * SLOTS
    raw = b"".join(
        blake2b(bytes([at]), digest_size=8, key=secret_of(hash_key), person=_PERSON).digest()
        for at in range(count)
    )
    words = np.frombuffer(raw, dtype="<u8").astype(np.uint64)
    return words[: SHINGLE_TOKENS + SLOTS] | np.uint64(1), words[-SLOTS:]
