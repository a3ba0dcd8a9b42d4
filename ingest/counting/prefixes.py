"""Hashes of a prompt's leading token blocks, as engines key their prefix caches.

Owns the hash: that of all tokens from the first to the block's end, so two prompts agree in a hash
where they agree in every token before it. Refuses the block that is not full, and what comes after
the first part that is no text.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ingest.counting.token_ids import Ids

MAX_BLOCKS = 4096
"""32 kB a call; 65,536 tokens in blocks of 16."""
_PERSON = b"gpuledger-prefix"


def prefix_hashes(
    ids: Ids, *, space: str, block_tokens: int, hash_key: str | None
) -> npt.NDArray[np.int64]:
    """One signed 64-bit hash for each of the first `MAX_BLOCKS` full blocks of `ids`.

    `space` names what the ids mean: those of two encodings never agree. The hash at a number of
    tokens is the same for every block size. With `hash_key` the hashes are keyed.
    """
    count = min(len(ids) // block_tokens, MAX_BLOCKS)
    running = hashlib.blake2b(digest_size=8, key=secret_of(hash_key), person=_PERSON)
    running.update(space.encode() + b"\0")
    raw = ids[: count * block_tokens].astype("<u4").tobytes()
    step = 4 * block_tokens
    digests = bytearray()
    for begin in range(0, count * step, step):
        running.update(raw[begin : begin + step])
        digests += running.copy().digest()
    return np.frombuffer(bytes(digests), dtype="<i8").astype(np.int64)


@lru_cache(maxsize=16)
def secret_of(hash_key: str | None) -> bytes:
    """What BLAKE2b, which takes 64 bytes at most, is keyed by; empty where no key is configured."""
    return b"" if hash_key is None else hashlib.blake2b(hash_key.encode()).digest()


def joined(parts: Sequence[Ids]) -> Ids:
    """The ids of several parts, one after the other."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)
