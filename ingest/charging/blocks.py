"""The calls of a chunk charged: cut, grouped into blocks, each block through the kernel.

Owns the arrays between the calls as read and the charges as stored. A block is what shares one
replica, one UTC day and one rate. Pieces of two blocks never meet, but for those of a pool in which
the replica of some calls is known and of others is not: these blocks are charged together. Refuses
to read or write.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.charging.kernel import NS_PER_S, InService, Seconds, charge_replica
from ingest.charging.lanes import ChunkCalls, Lane
from ingest.charging.mixed import UNKNOWN, charge_pool
from ingest.charging.partitions import Partition
from ingest.charging.pieces import (
    DAY_NS,
    QUARTER_NS,
    Pieces,
    cut_at_instant,
    cut_at_quarters,
)
from ingest.charging.rates import Rate

THREADS = 2
"""NumPy lets go of the interpreter while it sorts and adds, so two blocks go at once."""
ROWS_PER_BATCH = 122_880
"""DuckDB's row group: it takes batches of this size from Arrow on all its threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What is constant for the pieces that share GPUs: partition, rate, size.

    `replicas` is how many the pool has; one of unknown size that serves has one at least.
    """

    partition_id: int
    lane: int
    day: int
    rate_id: int
    effective_from: int
    gpus: float
    replicas: int
    is_known: bool


def blocks_of(
    partitions: Sequence[Partition], lanes: Sequence[Lane], rates: Mapping[str, Sequence[Rate]]
) -> list[Block]:
    """The blocks of each partition side by side, in the order of time."""
    place = {lane: position for position, lane in enumerate(lanes)}
    return [
        Block(
            partition_id=partition.partition_id,
            lane=place[partition.pool, partition.replica],
            day=partition.day,
            rate_id=rate.rate_id,
            effective_from=rate.effective_from,
            gpus=rate.gpus_per_replica,
            replicas=max(rate.replicas or 1, 1),
            is_known=partition.replica is not None,
        )
        for partition in partitions
        if partition.pool is not None
        for rate in rates.get(partition.pool, ())
        if _is_in_force(rate, partition.day)
    ]


def _is_in_force(rate: Rate, day: int) -> bool:
    return rate.effective_from < (day + 1) * DAY_NS and (
        rate.effective_to is None or rate.effective_to > day * DAY_NS
    )


def charge_calls(calls: ChunkCalls, blocks: Sequence[Block]) -> pa.Table:
    """The charges of `calls` in `blocks`: rows of the table `charges`, block by block.

    What of a call lies outside the blocks is left out.
    """
    pieces = _cut(calls, blocks)
    block_no = _block_numbers(calls, pieces, blocks)
    order = np.argsort(block_no, kind="stable")
    last = np.cumsum(np.bincount(block_no, minlength=len(blocks) + 1)).tolist()
    charges = _Charges.empty(last[len(blocks) - 1] if blocks else 0)
    shares = [
        _Share(block=block, start=start, rows=order[start:end])
        for block, start, end in zip(blocks, (0, *last), last, strict=False)
        if end > start
    ]
    with ThreadPoolExecutor(THREADS) as threads:
        tasks = [
            threads.submit(_charge_together, together, calls, pieces, charges)
            for together in _that_share_gpus(shares)
        ]
        for task in tasks:
            task.result()
    return charges.table()


def no_charges() -> pa.Table:
    """The table `charges` without a row."""
    return _Charges.empty(0).table()


def _cut(calls: ChunkCalls, blocks: Sequence[Block]) -> Pieces:
    pieces = cut_at_quarters(calls.started_at, calls.first_token_at, calls.ended_at)
    changes = {b.effective_from for b in blocks if b.effective_from % QUARTER_NS}
    for at in sorted(changes):
        lanes = [b.lane for b in blocks if b.effective_from == at]
        pieces = cut_at_instant(pieces, at, np.isin(calls.lane[pieces.call], lanes))
    return pieces


def _block_numbers(
    calls: ChunkCalls, pieces: Pieces, blocks: Sequence[Block]
) -> npt.NDArray[np.unsignedinteger]:
    """The position in `blocks` of each piece; `len(blocks)` for a piece that is in none."""
    outside, kind = len(blocks), np.min_scalar_type(len(blocks))
    if not blocks:
        return np.zeros(len(pieces.call), dtype=kind)
    first_day = min(block.day for block in blocks)
    days = max(block.day for block in blocks) - first_day + 1
    lanes = max(block.lane for block in blocks) + 1
    table = np.full((lanes + 1, days + 2), outside, dtype=kind)
    changes = []
    for number, block in enumerate(blocks):
        place = block.lane, block.day - first_day + 1
        if table[place] == outside:
            table[place] = number
        else:
            changes.append(number)
    day = np.clip(pieces.started_at // DAY_NS - first_day + 1, 0, days + 1)
    block_no = table[np.minimum(calls.lane[pieces.call], lanes), day]
    for number in changes:
        is_later = pieces.started_at >= blocks[number].effective_from
        block_no[is_later & (block_no == number - 1)] = number
    return block_no


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """The pieces of one block, by their rows; their charges stand from `start` on."""

    block: Block
    start: int
    rows: npt.NDArray[np.intp]


def _that_share_gpus(shares: Sequence[_Share]) -> Iterator[list[_Share]]:
    """Each of `shares` alone, or together where known and unknown replicas meet in a pool."""
    by_stretch: dict[tuple[int, int], list[_Share]] = {}
    for share in shares:
        by_stretch.setdefault((share.block.rate_id, share.block.day), []).append(share)
    for of_pool in by_stretch.values():
        if len({share.block.is_known for share in of_pool}) > 1:
            yield of_pool
        else:
            yield from ([share] for share in of_pool)


def _charge_together(
    shares: Sequence[_Share], calls: ChunkCalls, pieces: Pieces, charges: "_Charges"
) -> None:
    """Fill in the charges of `shares`, which are of one pool and rate."""
    block = shares[0].block
    rows = np.concatenate([share.rows for share in shares]) if shares[1:] else shares[0].rows
    served = InService(
        started_at=pieces.started_at[rows],
        first_token_at=pieces.first_token_at[rows],
        ended_at=pieces.ended_at[rows],
        choices=None if calls.choices is None else calls.choices[pieces.call[rows]],
    )
    if shares[1:]:
        number = [n if s.block.is_known else UNKNOWN for n, s in enumerate(shares, UNKNOWN + 1)]
        replica = np.repeat(np.array(number, np.int32), [len(share.rows) for share in shares])
        seconds = charge_pool(served, replica, gpus=block.gpus, replicas=block.replicas)
    else:
        replicas = 1 if block.is_known else block.replicas
        seconds = charge_replica(served, gpus=block.gpus, replicas=replicas)
    done = 0
    for share in shares:
        mine = slice(done, done := done + len(share.rows))
        charges.fill(share, calls, pieces, seconds[0][mine], seconds[1][mine])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Charges:
    """The columns of `charges`, filled by several threads, each in a range of its own."""

    call_no: npt.NDArray[np.int64]
    cohort_id: npt.NDArray[np.int32]
    rate_id: npt.NDArray[np.int32]
    partition_id: npt.NDArray[np.int32]
    quarter: npt.NDArray[np.int32]
    prefill_s: npt.NDArray[np.float64]
    decode_s: npt.NDArray[np.float64]
    prefill_gpu_seconds: npt.NDArray[np.float64]
    decode_gpu_seconds: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, count: int) -> "_Charges":
        return cls(
            call_no=np.empty(count, np.int64),
            cohort_id=np.empty(count, np.int32),
            rate_id=np.empty(count, np.int32),
            partition_id=np.empty(count, np.int32),
            quarter=np.empty(count, np.int32),
            prefill_s=np.empty(count, np.float64),
            decode_s=np.empty(count, np.float64),
            prefill_gpu_seconds=np.empty(count, np.float64),
            decode_gpu_seconds=np.empty(count, np.float64),
        )

    def fill(
        self, share: _Share, calls: ChunkCalls, pieces: Pieces, prefill: Seconds, decode: Seconds
    ) -> None:
        """Write the pieces of `share` with their GPU-seconds, which stand in the same order."""
        here = slice(share.start, share.start + len(share.rows))
        call, started_at = pieces.call[share.rows], pieces.started_at[share.rows]
        first_token_at, ended_at = pieces.first_token_at[share.rows], pieces.ended_at[share.rows]
        self.call_no[here] = calls.call_no[call]
        self.cohort_id[here] = calls.cohort_id[call]
        self.rate_id[here] = share.block.rate_id
        self.partition_id[here] = share.block.partition_id
        self.quarter[here] = started_at // QUARTER_NS
        self.prefill_s[here] = (first_token_at - started_at) / NS_PER_S
        self.decode_s[here] = (ended_at - first_token_at) / NS_PER_S
        self.prefill_gpu_seconds[here] = prefill
        self.decode_gpu_seconds[here] = decode

    def table(self) -> pa.Table:
        """The columns as Arrow, without a copy, in batches that are stored in parallel."""
        whole = pa.table(
            {name: pa.array(getattr(self, name)) for name in self.__dataclass_fields__}
        )
        return pa.Table.from_batches(whole.to_batches(ROWS_PER_BATCH), schema=whole.schema)
