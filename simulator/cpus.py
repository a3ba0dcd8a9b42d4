"""Which processors the engine computes on and which the client sends from.

Owns the split, so that neither takes time from the other. Refuses to split a single processor.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSplit:
    """Processor numbers of each side; both empty where the machine cannot be split."""

    engine: frozenset[int] = frozenset()
    client: frozenset[int] = frozenset()


def split_cpus() -> CpuSplit:
    """The last processor that this process may use computes, the others send."""
    if not hasattr(os, "sched_getaffinity"):  # not every system can pin a process
        return CpuSplit()
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return CpuSplit()
    return CpuSplit(engine=frozenset(usable[-1:]), client=frozenset(usable[:-1]))


@contextmanager
def pinned(cpus: frozenset[int]) -> Iterator[None]:
    """This thread runs on `cpus` alone inside the block; an empty set changes nothing."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
