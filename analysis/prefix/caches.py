"""How many leading blocks of each prompt a cache holds when the call is served.

Owns the replay of prompts through caches of several sizes at once. Refuses a hit behind a miss.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.prefix.distances import NEVER, Integers, reuse_distances
from analysis.prefix.prompts import Prompts

Floats = npt.NDArray[np.float64]

UNLIMITED = None


def held_blocks(
    prompts: Prompts, cache_numbers: Integers, capacities_tokens: Sequence[int | None]
) -> Iterator[Floats]:
    """For each capacity, the leading blocks of each call, of shape (calls,), that its cache holds.

    `cache_numbers` of shape (calls,) says through which cache each call goes; -1 through none.
    Every cache is empty at first and evicts the least recently used. Of a sample of blocks the
    end of what is held lies between two that were sampled: half-way is taken.
    """
    calls = prompts.calls
    served_at = calls["served_at"].fill_null(0).to_numpy()
    used = cache_numbers[prompts.rows] != NEVER
    rows, positions = prompts.rows[used], prompts.positions[used]
    order = np.lexsort((positions, rows, served_at[rows], cache_numbers[rows]))
    rows, positions = rows[order], positions[order]
    distances = _distances(prompts.block_ids[used][order], rows, cache_numbers)
    starts = _starts(rows)
    called = rows[starts]
    lengths = np.diff(np.append(starts, len(rows)))
    block_counts = calls["block_count"].cast(pl.Int64).to_numpy()
    block_tokens = calls["prefix_block_tokens"].fill_null(1).to_numpy()
    for capacity in capacities_tokens:
        is_held = distances != NEVER
        if capacity is not UNLIMITED:
            is_held &= distances * prompts.scale * block_tokens[rows] <= capacity
        held_counts = np.add.reduceat(is_held, starts, dtype=np.int64) if len(rows) else starts
        last, after = starts + held_counts - 1, starts + held_counts
        low = np.where(held_counts > 0, positions[last] + 1, 0)
        is_inside = held_counts < lengths
        high = np.where(
            is_inside, positions[np.minimum(after, len(rows) - 1)], block_counts[called]
        )
        held = np.zeros(calls.height)
        held[called] = (low + high) / 2
        yield held


def _distances(block_ids: Integers, rows: Integers, cache_numbers: Integers) -> Integers:
    """The reuse distance of each block in the cache of its call; blocks are sorted by cache."""
    distances = np.empty(len(block_ids), dtype=np.int64)
    bounds = np.append(_starts(cache_numbers[rows]), len(rows))
    for start, end in pairwise(bounds):
        own = slice(start, end)
        distances[own] = reuse_distances(block_ids[own], _starts(rows[own]))
    return distances


def _starts(values: Integers) -> Integers:
    """Where runs of equal values begin."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
