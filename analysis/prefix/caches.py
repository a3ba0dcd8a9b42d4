"""How many leading blocks of each prompt a cache holds when the call is served.

Owns the replay of prompts through caches of several sizes at once. Refuses a hit behind a miss.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.prefix.distances import (
    NEVER,
    Integers,
    reuse_distances,
    used_again,
    used_before,
)
from analysis.prefix.prompts import Prompts

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

UNLIMITED = None


class Lookups:
    """The blocks of prompts in the order in which their caches look them up.

    `cache_numbers` of shape (calls,) says through which cache each call goes; -1 through none.
    Every cache is empty at first and evicts the least recently used. Of a sample of blocks the
    end of what is held lies between two that were sampled: half-way is taken.
    """

    def __init__(self, prompts: Prompts, cache_numbers: Integers) -> None:
        self._calls, self._scale = prompts.calls, prompts.scale
        self._caches = cache_numbers
        served_at = prompts.calls["served_at"].fill_null(0).to_numpy()
        used = cache_numbers[prompts.rows] != NEVER
        rows, positions = prompts.rows[used], prompts.positions[used]
        place = np.empty(len(served_at), dtype=np.int64)
        place[np.lexsort((served_at, cache_numbers))] = np.arange(len(served_at))
        # Blocks come by prompt and position, so prompts alone are to be put in order.
        order = np.argsort(place[rows], kind="stable")
        self._rows, self._positions = rows[order], positions[order]
        self._block_ids = prompts.block_ids[used][order]
        self._starts = _starts(self._rows)

    def seen(self) -> Floats:
        """Leading blocks of each call, of shape (calls,), that a cache without limit holds."""
        return self._leading(self._by_cache(lambda ids, _: used_before(ids)))

    def shared(self) -> Floats:
        """Leading blocks of each call that another call begins with, whichever comes first."""
        return self._leading(self._by_cache(lambda ids, _: used_again(ids)))

    def held(self, capacities_tokens: Sequence[int | Floats | None]) -> Iterator[Floats]:
        """For each capacity, the leading blocks of each call that its cache holds.

        A capacity is one for every cache, or one for each call, which is that of its cache.
        """
        distances = self._by_cache(reuse_distances)
        block_tokens = self._calls["prefix_block_tokens"].fill_null(1).to_numpy()
        reach = distances * self._scale * block_tokens[self._rows]
        for capacity in capacities_tokens:
            is_held = distances != NEVER
            if capacity is not UNLIMITED:
                room = capacity[self._rows] if isinstance(capacity, np.ndarray) else capacity
                is_held &= reach <= room
            yield self._leading(is_held)

    def _by_cache(
        self, told: Callable[[Integers, Integers], npt.NDArray[np.generic]]
    ) -> npt.NDArray[np.int64]:
        """What `told` says of the blocks of each cache."""
        found = np.empty(len(self._block_ids), dtype=np.int64)
        bounds = np.append(_starts(self._caches[self._rows]), len(self._rows))
        for start, end in pairwise(bounds):
            own = slice(start, end)
            found[own] = told(self._block_ids[own], _starts(self._rows[own]))
        return found

    def _leading(self, is_held: npt.NDArray[np.generic]) -> Floats:
        """How many leading blocks of each call are held; none is held behind one that is not."""
        rows, positions, starts = self._rows, self._positions, self._starts
        called = rows[starts]
        lengths = np.diff(np.append(starts, len(rows)))
        held_counts = np.add.reduceat(is_held, starts, dtype=np.int64) if len(rows) else starts
        last, after = starts + held_counts - 1, starts + held_counts
        low = np.where(held_counts > 0, positions[last] + 1, 0)
        is_inside = held_counts < lengths
        block_counts = self._calls["block_count"].cast(pl.Int64).to_numpy()
        high = np.where(
            is_inside, positions[np.minimum(after, len(rows) - 1)], block_counts[called]
        )
        held = np.zeros(self._calls.height)
        held[called] = (low + high) / 2
        return held


def held_blocks(
    prompts: Prompts, cache_numbers: Integers, capacities_tokens: Sequence[int | None]
) -> Iterator[Floats]:
    """For each capacity, the leading blocks of each call, of shape (calls,), that its cache holds.

    `cache_numbers` as `Lookups` has them.
    """
    return Lookups(prompts, cache_numbers).held(capacities_tokens)


def _starts(values: Integers) -> Integers:
    """Where runs of equal values begin."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
