"""How many tokens of each prompt an earlier prompt of the same pass began with.

Owns the expectation that a prefix cache is held against: a cache without limits reuses exactly
this. Refuses to know any engine's eviction.
"""

import hashlib
from collections.abc import Sequence

from simulator.trace import TracedCall


def shared_tokens(calls: Sequence[TracedCall]) -> list[int]:
    """For each call, in order: the longest beginning it shares with an earlier one, in tokens.

    One token of a prompt is always computed, so the most is one less than its length.
    """
    longest_seen: dict[bytes, int] = {}
    shared: list[int] = []
    for call in calls:
        shared.append(min(_shared(call, longest_seen), call.input_tokens - 1))
    return shared


def _shared(call: TracedCall, longest_seen: dict[bytes, int]) -> int:
    """Tokens of `call` that were seen before; its own pieces are seen afterwards."""
    tokens, is_shared, state, rest = 0, True, b"", call.input_tokens
    pieces = [(f"block {block}", call.block_tokens) for block in call.blocks]
    for name, size in [*pieces, (f"ending {call.ending}", call.input_tokens)]:
        length = min(size, rest)
        state = hashlib.sha256(state + name.encode()).digest()
        seen = longest_seen.get(state, 0)
        if is_shared:
            tokens += min(length, seen)
            is_shared = seen >= length
        longest_seen[state] = max(seen, length)
        rest -= length
    return tokens
