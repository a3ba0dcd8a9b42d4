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
    the place in its prompt from 0, and the hash. One block in `scale` is sampled, by its hash:
    all uses of a block or none, so a reuse distance among them times `scale` is an estimate of the
    real one (SHARDS: Waldspurger et al., FAST 2015).
    """

    calls: pl.DataFrame
    rows: Integers
    positions: Integers
    block_ids: Integers
    scale: int


def read_prompts(batches: Iterable[pl.DataFrame], most_blocks: int = MOST_BLOCKS) -> Prompts:
    """The prompts of `batches`, frames with `prefix_hashes`, and at most so many blocks."""
    calls: list[pl.DataFrame] = []
    blocks = _Sample(most_blocks)
    for batch in batches:
        blocks.add(batch["prefix_hashes"])
        calls.append(_counted(batch, "prefix_hashes"))
    return blocks.prompts(pl.concat(calls) if calls else pl.DataFrame())


def read_orders(
    batches: Iterable[pl.DataFrame], most_blocks: int = MOST_BLOCKS
) -> tuple[Prompts, Prompts]:
    """The prompts of `batches` as they are, and as they were without what looks volatile.

    `batches` are frames with `prefix_hashes`, `prefix_block_tokens`, `volatile_spans` and
    `stable_prefix_hashes`; both answers have the same calls, with `block_count` of their own.
    """
    calls: list[pl.DataFrame] = []
    blocks, stable_blocks = _Sample(most_blocks), _Sample(most_blocks)
    for batch in batches:
        stable = batch.with_columns(prefix_hashes=_STABLE_HASHES)
        blocks.add(batch["prefix_hashes"])
        stable_blocks.add(stable["prefix_hashes"])
        counts = _counted(stable, "prefix_hashes")["block_count"].alias("stable_block_count")
        calls.append(_counted(batch, "prefix_hashes", "stable_prefix_hashes").with_columns(counts))
    found = pl.concat(calls) if calls else pl.DataFrame()
    if found.is_empty():
        return blocks.prompts(found), stable_blocks.prompts(found)
    reordered = found.with_columns(block_count=pl.col("stable_block_count"))
    return blocks.prompts(found), stable_blocks.prompts(reordered)


_SHARED_COUNT = pl.col("volatile_spans").list.first() // pl.col("prefix_block_tokens")
_STABLE_HASHES = (
    pl.when(pl.col("volatile_spans").list.len() > 0)
    .then(
        pl.col("prefix_hashes")
        .fill_null([])
        .list.head(_SHARED_COUNT)
        .list.concat(pl.col("stable_prefix_hashes").fill_null([]))
    )
    .otherwise(pl.col("prefix_hashes"))
)
"""The chain without volatile text: up to the block of the first of it both are the same."""


class _Sample:
    """The blocks of prompts, batch by batch, and at most `most_blocks` of them."""

    def __init__(self, most_blocks: int) -> None:
        self._most_blocks = most_blocks
        self._scale = 1
        self._parts: list[Integers] = []
        self._count = 0
        self._first_row = 0

    def add(self, hashes: pl.Series) -> None:
        found = _blocks(hashes, self._first_row)
        self._put([found])
        while self._count > self._most_blocks:
            self._scale *= 2
            parts, self._parts, self._count = self._parts, [], 0
            self._put(parts)
        self._first_row += len(hashes)

    def _put(self, parts: Sequence[Integers]) -> None:
        for part in parts:
            sampled = part[:, _is_sampled(part[2], self._scale)]
            self._parts.append(sampled)
            self._count += sampled.shape[1]

    def prompts(self, calls: pl.DataFrame) -> Prompts:
        none: Integers = np.empty((3, 0), dtype=np.int64)
        rows, positions, block_ids = np.concatenate([none, *self._parts], axis=1)
        return Prompts(
            calls=calls, rows=rows, positions=positions, block_ids=block_ids, scale=self._scale
        )


def _counted(batch: pl.DataFrame, *dropped: str) -> pl.DataFrame:
    """`batch` with the number of its `prefix_hashes` in place of the `dropped` columns."""
    counts = pl.col("prefix_hashes").list.len().fill_null(0)
    return batch.with_columns(block_count=counts).drop(dropped)


def _blocks(hashes: pl.Series, first_row: int) -> Integers:
    """Row, position and hash of every block, of shape (3, n)."""
    lengths = hashes.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    values = hashes.filter(hashes.list.len() > 0).explode().to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(first_row, first_row + len(lengths)), lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.stack((rows, np.arange(len(values)) - starts, values))


def _is_sampled(block_ids: Integers, scale: int) -> npt.NDArray[np.bool_]:
    if scale == 1:
        return np.ones(len(block_ids), dtype=np.bool_)
    mixed = block_ids.astype(np.uint64) * _MIX
    sampled: npt.NDArray[np.bool_] = mixed >> np.uint64(65 - scale.bit_length()) == 0
    return sampled
