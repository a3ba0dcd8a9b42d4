"""Which partitions are charged together, so that memory stays bounded.

Owns the plan: chunks of neighbouring days that hold about a given number of calls. Refuses to cut
a partition: one replica's day is the least that can be charged, and where a pool has calls of known
and of unknown replica on one day, that pool's day.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ingest.charging.partitions import Partition
from ingest.memory import limit_bytes

BYTES_PER_CALL = 400
"""Peak memory of one call while its chunk is charged: columns read, pieces, instants, charges."""
MEMORY_SHARE = 4
"""One part in so many of the memory limit goes to a chunk; the rest is the database's."""
MAX_PARTITIONS = 30_000
"""A block of a chunk is named by 16 bits, which sort fastest; a partition may have two blocks."""


def calls_per_chunk(memory_limit: str) -> int:
    """How many calls may be charged at once under a limit such as "4GB"; at least 100,000.

    Raises `ValueError` where `memory_limit` is no number with a unit of bytes.
    """
    return max(100_000, int(limit_bytes(memory_limit) / MEMORY_SHARE / BYTES_PER_CALL))


def plan_chunks(
    partitions: Sequence[Partition], calls_by_day: Mapping[int, int], most_calls: int
) -> Iterator[list[Partition]]:
    """`partitions`, which are in order of days, in chunks of about `most_calls` calls at most.

    A chunk is a run of days without a gap, or some of the partitions of one crowded day.
    """
    chunk: list[Partition] = []
    calls = 0
    for day, of_day in groupby(partitions, key=lambda partition: partition.day):
        share = list(of_day)
        count = calls_by_day.get(day, 0)
        is_next = not chunk or chunk[-1].day + 1 == day
        if chunk and (
            not is_next or calls + count > most_calls or len(chunk) + len(share) > MAX_PARTITIONS
        ):
            yield chunk
            chunk, calls = [], 0
        parts = max(-(-count // most_calls), -(-len(share) // MAX_PARTITIONS))
        if parts > 1:
            together = _charged_together(share)
            for part in range(min(parts, len(together))):
                yield [partition for unit in together[part::parts] for partition in unit]
        else:
            chunk, calls = chunk + share, calls + count
    if chunk:
        yield chunk


def _charged_together(of_day: Sequence[Partition]) -> list[list[Partition]]:
    """`of_day`, in order of pools, one by one but for pools of known and unknown replicas."""
    units: list[list[Partition]] = []
    for _, of_pool in groupby(of_day, key=lambda partition: partition.pool):
        unit = list(of_pool)
        is_mixed = len({partition.replica is None for partition in unit}) > 1
        units += [unit] if is_mixed else [[partition] for partition in unit]
    return units
