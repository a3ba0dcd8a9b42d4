"""The prompts of a window as numbers: a row a call, and the leading blocks of all of them.

Owns what is kept of them in memory: beyond `MOST_BLOCKS` a sample of the blocks. Refuses a sample
of calls: it would lose what they share.
"""

from collections.abc import Iterable
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
    scale = 1
    calls: list[pl.DataFrame] = []
    blocks = np.empty((3, 0), dtype=np.int64)
    first_row = 0
    for batch in batches:
        hashes = batch["prefix_hashes"]
        found = _blocks(hashes, first_row)
        blocks = np.concatenate((blocks, found[:, _is_sampled(found[2], scale)]), axis=1)
        while blocks.shape[1] > most_blocks:
            scale *= 2
            blocks = blocks[:, _is_sampled(blocks[2], scale)]
        counted = batch.with_columns(block_count=hashes.list.len().fill_null(0))
        calls.append(counted.drop("prefix_hashes"))
        first_row += batch.height
    rows, positions, block_ids = blocks
    return Prompts(
        calls=pl.concat(calls) if calls else pl.DataFrame(),
        rows=rows,
        positions=positions,
        block_ids=block_ids,
        scale=scale,
    )


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
