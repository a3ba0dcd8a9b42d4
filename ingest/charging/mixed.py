"""A pool in which the replica of some calls is known and of others is not: who pays for what.

Owns how the two kinds share a pool's GPUs. Refuses a pool that has only one kind: the kernel alone
charges that.

At an instant K of the pool's R replicas are known to be busy, and n calls run on nobody knows
which. A replica has G GPUs; a call's weight is as in the kernel.

- While a replica is left over, R' = R - K > 0, the n calls are spread over those: min(n, R') are
  busy, and each call is charged `G * min(n, R') * weight / sum(weights of the n)`. A call of known
  replica shares its replica with those that are known to run there, as if it were alone.
- With none left over, the n calls run beside the known ones. They are spread evenly over the K
  busy replicas, so each of these carries the weight `U / K` more, U the sum of weights of the n. A
  call on replica k of weight W is charged `G * weight / (W + U / K)`, and a call of unknown replica
  the mean of that over the K replicas.

So every known replica that is busy is paid for with exactly its G GPUs, the pool is busy with
`G * (K + min(n, max(R', 0)))`, and that is no more than G * R where K <= R.
"""

import numpy as np
import numpy.typing as npt

from ingest.charging.kernel import (
    InService,
    Instants,
    Seconds,
    Steps,
    Timeline,
    call_steps,
    virtual_time,
    weight_steps,
)

UNKNOWN = 0
"""The replica of a call of which only the pool is known; known ones are numbered from 1."""

Integers = npt.NDArray[np.int64]


def charge_pool(
    calls: InService, replica: npt.NDArray[np.int32], *, gpus: float, replicas: int
) -> tuple[Seconds, Seconds]:
    """Prefill and decode GPU-seconds of each call of one pool, in the order given.

    `replica` has `UNKNOWN` or the number of a known replica for each call. `gpus` is the number of
    GPUs of one replica, `replicas` how many the pool has.
    """
    timeline = Timeline.of(calls)
    at = timeline.in_order(replica, replica, replica)
    count = timeline.in_order(*call_steps(calls))
    weight = timeline.in_order(*weight_steps(calls))
    busy = _busy_replicas(at, count)
    unknown = np.cumsum(np.where(at == UNKNOWN, count, 0))
    unknown_weight = np.cumsum(np.where(at == UNKNOWN, weight, 0))
    left_over = np.maximum(replicas - busy, 0)
    is_shared = (unknown > 0) & (left_over == 0)
    beside = np.where(is_shared, unknown_weight / np.maximum(busy, 1), 0.0)
    virtual, mean = _known(timeline, at, weight, busy=busy, beside=beside)
    rates = np.minimum(unknown, left_over) / np.maximum(unknown_weight, 1) + mean
    of_unknown = virtual_time(timeline.instants, rates * timeline.ticks_per_ns)
    virtual = np.where(at == UNKNOWN, of_unknown, virtual)
    return timeline.charges(calls, virtual, gpus=gpus)


def _busy_replicas(at: npt.NDArray[np.int32], count: Steps) -> Integers:
    """Known replicas with a call in service after each instant.

    Sorted by replica the steps of each add up to 0, so one running sum counts the calls of all.
    """
    order = np.argsort(at, kind="stable")
    steps = count[order].astype(np.int64)
    running = np.cumsum(steps)
    change = np.empty(len(at), dtype=np.int64)
    change[order] = (running > 0).astype(np.int64) - (running - steps > 0)
    change[at == UNKNOWN] = 0
    return np.cumsum(change)


def _known(
    timeline: Timeline,
    at: npt.NDArray[np.int32],
    step: Integers,
    *,
    busy: Integers,
    beside: Seconds,
) -> tuple[Instants, Seconds]:
    """V at the instants of known replicas, and the mean rate of those that share with unknown.

    `beside` is the weight of unknown calls that each busy replica carries after each instant. Only
    where there is some does the rate of a replica change between its own instants.
    """
    virtual = np.zeros(len(at), dtype=np.int64)
    mean = np.zeros(len(at))
    is_shared = beside > 0
    changes = is_shared.copy()
    changes[1:] |= is_shared[:-1]
    for replica in range(UNKNOWN + 1, int(at.max()) + 1):
        here = np.flatnonzero(changes | (at == replica))
        is_own = at[here] == replica
        weight = np.cumsum(np.where(is_own, step[here], 0))
        rate = np.where(weight > 0, 1 / (np.maximum(weight, 1) + beside[here]), 0.0)
        passed = virtual_time(timeline.instants[here], rate * timeline.ticks_per_ns)
        virtual[here[is_own]] = passed[is_own]
        shared = is_shared[here]
        mean[here[shared]] += rate[shared] / busy[here[shared]]
    return virtual, mean
