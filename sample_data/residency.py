"""GPU-seconds by residency, exactly: a sweep over instants with whole numbers.

Owns the truth that the product's charges are compared with. Refuses floats: a share of a
nanosecond is counted in parts of `PARTS`, so that sums carry no rounding.

Between two neighbouring instants n calls are in service on a replica of G GPUs, and each is charged
G/n. Where only the pool is known, min(n, R) replicas are busy and each call is charged
G*min(n, R)/n.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sample_data.company import SECOND_NS, PoolFacts
from sample_data.findings import Finding

MOST_CALLS_AT_ONCE = 40
PARTS = math.lcm(*range(1, MOST_CALLS_AT_ONCE + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one call was charged between two neighbouring cuts."""

    finding: Finding
    since: int
    until: int
    prefill_ns: int
    decode_ns: int
    prefill_gpu_parts: int
    decode_gpu_parts: int
    price_per_gpu_hour: Fraction

    @property
    def gpu_seconds(self) -> Fraction:
        """Prefill and decode together."""
        return gpu_seconds(self.prefill_gpu_parts + self.decode_gpu_parts)


def gpu_seconds(parts: int) -> Fraction:
    """GPU-seconds of a number of parts."""
    return Fraction(parts, PARTS * SECOND_NS)


def pieces(pool: PoolFacts, calls: Sequence[Finding], cuts: Sequence[int]) -> Iterator[Piece]:
    """The charges of `calls`, cut at `cuts` and wherever the pool changes."""
    all_cuts = sorted({*cuts, *(stretch.since for stretch in pool.stretches)})
    by_replica: defaultdict[str | None, list[Finding]] = defaultdict(list)
    for call in calls:
        if call.pool == pool.name and call.is_valid:
            by_replica[call.replica].append(call)
    for replica, mine in by_replica.items():
        yield from _charged(pool, replica, mine, all_cuts)


def _charged(
    pool: PoolFacts, replica: str | None, calls: Sequence[Finding], cuts: Sequence[int]
) -> Iterator[Piece]:
    spent = _virtual_time(pool, replica, calls, cuts)
    for call in calls:
        first = (
            call.times.ended_at if call.times.first_token_at is None else call.times.first_token_at
        )
        inside = [cut for cut in cuts if call.times.started_at < cut < call.times.ended_at]
        borders = [call.times.started_at, *inside, call.times.ended_at]
        for since, until in pairwise(borders):
            middle = min(max(first, since), until)
            yield Piece(
                finding=call,
                since=since,
                until=until,
                prefill_ns=middle - since,
                decode_ns=until - middle,
                prefill_gpu_parts=spent[middle] - spent[since],
                decode_gpu_parts=spent[until] - spent[middle],
                price_per_gpu_hour=_price(pool, since),
            )


def _virtual_time(
    pool: PoolFacts, replica: str | None, calls: Sequence[Finding], cuts: Sequence[int]
) -> dict[int, int]:
    """Instant to the parts that one call in service until then would have paid."""
    changes: defaultdict[int, int] = defaultdict(int)
    instants = set(cuts)
    for call in calls:
        changes[call.times.started_at] += 1
        changes[call.times.ended_at] -= 1
        instants.update((call.times.started_at, call.times.ended_at))
        if call.times.first_token_at is not None:
            instants.add(call.times.first_token_at)
    spent: dict[int, int] = {}
    total, running, before = 0, 0, 0
    for instant in sorted(instants):
        if running:
            busy = 1 if replica is not None else min(running, _replicas(pool, before))
            total += (instant - before) * pool.gpus_per_replica * busy * _share(running)
        spent[instant] = total
        running += changes[instant]
        before = instant
    return spent


def _replicas(pool: PoolFacts, instant: int) -> int:
    return [one for one in pool.stretches if one.since <= instant][-1].replicas


def _price(pool: PoolFacts, instant: int) -> Fraction:
    stretch = [one for one in pool.stretches if one.since <= instant][-1]
    return Fraction(stretch.price_per_gpu_hour)


def _share(running: int) -> int:
    """One call's part of one GPU among `running` calls."""
    if running > MOST_CALLS_AT_ONCE:
        raise ValueError(f"{running} calls at once; PARTS divides up to {MOST_CALLS_AT_ONCE}")
    return PARTS // running
