"""Prompts as token ids that keep which calls share which prefix, the same on every machine.

Owns the text that stands for text we do not have: a pseudo-random function of block identity and
of everything before the block. Refuses Python's `hash`, whose values differ between processes.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

VERSION = b"gpuledger prompt 1"
ID_BYTES = 4


class PromptBook:
    """Token ids drawn from `prompt_ids` (ordinary text only), keyed by `key`.

    Two prompts whose first k blocks have equal identities share the tokens of those blocks and of
    no later one. Equal identities after different beginnings give different tokens.
    """

    def __init__(self, prompt_ids: NDArray[np.uint32], key: str) -> None:
        self._prompt_ids = prompt_ids
        self._root = hashlib.sha256(VERSION + _framed(key)).digest()

    def prompt(
        self, blocks: Sequence[int], block_tokens: int, tokens: int, ending: str
    ) -> list[int]:
        """A prompt of exactly `tokens` ids: the blocks, the last one cut, then an own ending.

        `ending` names the text behind the last block, which is shared only by prompts that have
        the same blocks and the same `ending`.
        """
        state = self._root
        ids: list[int] = []
        for block in blocks:
            state = hashlib.sha256(state + _framed(f"block {block}")).digest()
            ids += self._expand(state, min(block_tokens, tokens - len(ids)))
        state = hashlib.sha256(state + _framed(f"ending {ending}")).digest()
        return ids + self._expand(state, tokens - len(ids))

    def unshared(self, name: str, tokens: int) -> list[int]:
        """A prompt of `tokens` ids that shares nothing with a prompt of another `name`."""
        return self.prompt((), 0, tokens, name)

    def _expand(self, state: bytes, tokens: int) -> list[int]:
        """`tokens` ids from `state`; a shorter expansion is the beginning of a longer one."""
        if tokens <= 0:
            return []
        stream = hashlib.shake_256(state).digest(tokens * ID_BYTES)
        numbers = np.frombuffer(stream, dtype="<u4").astype(np.uint64)
        chosen: list[int] = self._prompt_ids[numbers % len(self._prompt_ids)].tolist()
        return chosen


def _framed(text: str) -> bytes:
    """`text` with its length in front, so that no two lists of texts join to the same bytes."""
    data = text.encode()
    return len(data).to_bytes(8, "big") + data
