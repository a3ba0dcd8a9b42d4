"""The prompts of a window as numbers: a row a call, and the leading blocks of all of them.

Owns what is kept of them in memory: beyond `MOST_BLOCKS` a sample of the blocks. Refuses a sample
of calls: it would lose what they share.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]

MOST_BLOCKS = 8_000_000
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number by which a hash is spread over all digits (Knuth's multiplicative hashing)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """`calls` has a row a call, with `block_count`, in the order in which blocks name them.

    `rows`, `positions` and `block_ids` of shape (n,) are of the sampled blocks: the call's row,
    the place in its prompt from 0, and the hash; those of a prompt from its first to its last. One
    block in `scale` is sampled, by its hash: all uses of a block or none, so a reuse distance among
    them times `scale` is an estimate of the real one (SHARDS: Waldspurger et al., FAST 2015).
    """

    calls: pl.DataFrame
    rows: Integers
    positions: Integers
    block_ids: Integers
    scale: int


def read_prompts(batches: Iterable[pl.DataFrame], most_blocks: int = MOST_BLOCKS) -> Prompts:
    """The prompts of `batches`, frames with `prefix_hashes`, and at most so many blocks."""
    calls: list[pl.DataFrame] = []
    blocks = _Sample()
    scale, first_row = 1, 0
    for batch in batches:
        rows = np.arange(first_row, first_row + batch.height)
        blocks.add(batch["prefix_hashes"], rows, scale)
        while blocks.count > most_blocks:
            scale *= 2
            blocks.thin(scale)
        calls.append(batch.with_columns(block_count=_COUNT).drop("prefix_hashes"))
        first_row += batch.height
    return _prompts(pl.concat(calls) if calls else pl.DataFrame(), [blocks], scale)


def read_orders(
    batches: Iterable[pl.DataFrame], most_blocks: int = MOST_BLOCKS
) -> tuple[Prompts, Prompts]:
    """The prompts of `batches` as they are, and as they were without what looks volatile.

    `batches` are frames with `prefix_hashes`, `prefix_block_tokens`, `volatile_spans` and
    `stable_prefix_hashes`; both answers have the same calls, with `block_count` of their own.
    """
    calls: list[pl.DataFrame] = []
    plain, volatile, stable = _Sample(), _Sample(), _Sample()
    scale, first_row = 1, 0
    for batch in batches:
        rows = np.arange(first_row, first_row + batch.height)
        is_volatile = batch.select(_IS_VOLATILE).to_series()
        own, others = batch.filter(is_volatile), batch.filter(~is_volatile)
        own_rows = rows[is_volatile.to_numpy()]
        plain.add(others["prefix_hashes"], rows[~is_volatile.to_numpy()], scale)
        volatile.add(own["prefix_hashes"], own_rows, scale)
        stable.add(own.select(_STABLE_HASHES).to_series(), own_rows, scale)
        while plain.count + max(volatile.count, stable.count) > most_blocks:
            scale *= 2
            for sample in (plain, volatile, stable):
                sample.thin(scale)
        counted = batch.with_columns(block_count=_COUNT, stable_block_count=_STABLE_COUNT)
        calls.append(counted.drop("prefix_hashes", "stable_prefix_hashes"))
        first_row += batch.height
    found = pl.concat(calls) if calls else pl.DataFrame({"stable_block_count": []})
    reordered = found.with_columns(block_count=pl.col("stable_block_count"))
    return (
        _prompts(found, [plain, volatile], scale),
        _prompts(reordered, [plain, stable], scale),
    )


_COUNT = pl.col("prefix_hashes").list.len().fill_null(0).cast(pl.Int64)
_IS_VOLATILE = (pl.col("volatile_spans").list.len() > 0).fill_null(value=False)
_SHARED_COUNT = pl.col("volatile_spans").list.first() // pl.col("prefix_block_tokens")
_SHARED_HASHES = pl.col("prefix_hashes").fill_null([]).list.head(_SHARED_COUNT)
_STABLE_HASHES = _SHARED_HASHES.list.concat(pl.col("stable_prefix_hashes").fill_null([]))
"""The chain without volatile text: up to the block of the first of it both are the same."""
_STABLE_COUNT = (
    pl.when(_IS_VOLATILE)
    .then(
        pl.min_horizontal(_COUNT, _SHARED_COUNT)
        + pl.col("stable_prefix_hashes").list.len().fill_null(0)
    )
    .otherwise(_COUNT)
    .cast(pl.Int64)
)


class _Sample:
    """Blocks of prompts, batch by batch: row, position and hash of those that are sampled."""

    def __init__(self) -> None:
        self.parts: list[Integers] = []
        self.count = 0

    def add(self, hashes: pl.Series, rows: Integers, scale: int) -> None:
        """Take one block in `scale` of those of `hashes`, which are in these rows."""
        lengths = hashes.list.len().fill_null(0).cast(pl.Int64).to_numpy()
        values = hashes.filter(hashes.list.len() > 0).explode().to_numpy().astype(np.int64)
        places = np.flatnonzero(_is_sampled(values, scale))
        ends = np.cumsum(lengths)
        prompts = np.searchsorted(ends, places, side="right")
        positions = places - (ends - lengths)[prompts]
        self._put(np.stack((rows[prompts], positions, values[places])))

    def thin(self, scale: int) -> None:
        """Keep one block in `scale`, which is more than before."""
        parts, self.parts, self.count = self.parts, [], 0
        for part in parts:
            self._put(part[:, _is_sampled(part[2], scale)])

    def _put(self, part: Integers) -> None:
        self.parts.append(part)
        self.count += part.shape[1]


def _prompts(calls: pl.DataFrame, samples: Sequence[_Sample], scale: int) -> Prompts:
    none: Integers = np.empty((3, 0), dtype=np.int64)
    parts = [none, *(part for sample in samples for part in sample.parts)]
    rows, positions, block_ids = np.concatenate(parts, axis=1)
    return Prompts(calls=calls, rows=rows, positions=positions, block_ids=block_ids, scale=scale)


def _is_sampled(block_ids: Integers, scale: int) -> npt.NDArray[np.bool_]:
    if scale == 1:
        return np.ones(len(block_ids), dtype=np.bool_)
    mixed = block_ids.astype(np.uint64) * _MIX
    sampled: npt.NDArray[np.bool_] = mixed >> np.uint64(65 - scale.bit_length()) == 0
    return sampled
