"""The charging kernel: calls on one replica in, GPU-seconds out, by virtual time.

Owns the one formula of attribution. Refuses to know pools, days or prices: it is given calls that
share a replica of constant size, and times that were checked.

At an instant with n calls in service, min(n, R) of R replicas with G GPUs are busy, and each call
is charged `G * min(n, R) / n` GPU-seconds a second. With `V(t)` the integral of that rate, a call
is charged `V(first token) - V(start)` for its prefill and `V(end) - V(first token)` for its
decode. A known replica is the case R = 1. One stable sort of all instants gives every V; instants
arrive as runs that are nearly in order, which a stable sort is quick at.

V is kept for one GPU, as whole numbers of a small part of a nanosecond: over a day 2**-15 of one.
Whole numbers add up exactly, so a short call late in a busy day is charged as precisely as one in
the morning.
"""

import numpy as np
import numpy.typing as npt

Instants = npt.NDArray[np.int64]
"""Nanoseconds since 1970, or since any other origin."""
Seconds = npt.NDArray[np.float64]

NS_PER_S = 1_000_000_000


def charge_replica(
    started_at: Instants,
    first_token_at: Instants,
    ended_at: Instants,
    *,
    gpus: float,
    replicas: int = 1,
) -> tuple[Seconds, Seconds]:
    """Prefill and decode GPU-seconds of each call, in the order given.

    The arrays are nanoseconds with `started_at <= first_token_at <= ended_at` for each call.
    `gpus` is the number of GPUs of one replica. `replicas` is over how many of them the calls are
    spread where nobody knows which call ran where; it is 1 for a known replica.
    """
    count = len(started_at)
    instants = np.concatenate((started_at, first_token_at, ended_at))
    order = np.argsort(instants, kind="stable")
    in_service = _in_service(order, count)
    ticks_per_ns = _ticks_per_ns(instants)
    virtual = np.empty(3 * count, dtype=np.int64)
    virtual[order] = _virtual_time(instants[order], in_service, replicas, ticks_per_ns)
    at_start, at_first, at_end = virtual[:count], virtual[count : 2 * count], virtual[2 * count :]
    gpu_ticks_per_s = ticks_per_ns * NS_PER_S / gpus
    return (at_first - at_start) / gpu_ticks_per_s, (at_end - at_first) / gpu_ticks_per_s


def _in_service(order: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.int32]:
    """Calls in service after each instant, in the order of the instants."""
    step = np.zeros(3 * count, dtype=np.int8)
    step[:count] = 1
    step[2 * count :] = -1
    return np.cumsum(step[order], dtype=np.int32)


def _ticks_per_ns(instants: Instants) -> int:
    """The power of two by which a nanosecond is divided, so that V at the end fits 63 bits."""
    span_ns = int(instants.max() - instants.min()) if len(instants) else 0
    return 1 << max(62 - span_ns.bit_length(), 0)


def _virtual_time(
    instants: Instants, in_service: npt.NDArray[np.int32], replicas: int, ticks_per_ns: int
) -> Instants:
    """V of one GPU at each instant, in ticks; `instants` are in order, V is 0 at the first."""
    virtual = np.zeros(len(instants), dtype=np.int64)
    if len(instants) > 1:
        rates = _rates(int(in_service.max()), replicas, ticks_per_ns)
        passed = np.diff(instants) * rates[in_service[:-1]]
        np.cumsum(np.rint(passed, out=passed).astype(np.int64), out=virtual[1:])
    return virtual


def _rates(most_in_service: int, replicas: int, ticks_per_ns: int) -> Seconds:
    """Ticks of one GPU that each call is charged a nanosecond, by the number in service."""
    in_service = np.arange(most_in_service + 1, dtype=np.float64)
    return np.minimum(in_service, replicas) / np.maximum(in_service, 1) * ticks_per_ns
