"""The charging kernel: calls that share GPUs in, GPU-seconds out, by virtual time.

Owns the one formula of attribution. Refuses to know pools, days or prices: it is given calls that
share replicas of constant size, and times that were checked.

At an instant with n calls in service, min(n, R) of R replicas with G GPUs are busy, and each call
is charged `G * min(n, R) / n` GPU-seconds a second. A known replica is the case R = 1. With `V(t)`
the integral of that rate, a call is charged `V(first token) - V(start)` for its prefill and
`V(end) - V(first token)` for its decode. One stable sort of all instants gives every V; instants
arrive as runs that are nearly in order, which a stable sort is quick at.

A call that asks for c choices reads its prompt once and decodes c sequences. It weighs 1 in
prefill and c in decode, and is charged its weight's part, `G * min(n, R) * weight / sum(weights)`.
A request's choices run on one replica, so n counts calls.

Where calls of known and of unknown replica share a pool, `ingest.charging.mixed` has the rates.

V is kept for one GPU and a weight of 1, as whole numbers of a small part of a nanosecond: over a
day 2**-15 of one. Whole numbers add up exactly, so a short call late in a busy day is charged as
precisely as one in the morning.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Instants = npt.NDArray[np.int64]
"""Nanoseconds since 1970, or since any other origin."""
Choices = npt.NDArray[np.int32]
"""How many sequences a call decodes at once; 1 at least."""
Steps = npt.NDArray[np.int8]
Seconds = npt.NDArray[np.float64]

T = TypeVar("T", bound=np.generic)

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InService:
    """Parallel arrays of calls with `started_at <= first_token_at <= ended_at`.

    `choices` is None where every call has one.
    """

    started_at: Instants
    first_token_at: Instants
    ended_at: Instants
    choices: Choices | None = None


def charge_replica(calls: InService, *, gpus: float, replicas: int = 1) -> tuple[Seconds, Seconds]:
    """Prefill and decode GPU-seconds of each call, in the order given.

    `gpus` is the number of GPUs of one replica. `replicas` is over how many of them the calls are
    spread where nobody knows which call ran where; it is 1 for a known replica.
    """
    timeline = Timeline.of(calls)
    in_service = np.cumsum(timeline.in_order(*call_steps(calls)), dtype=np.int32)
    ticks_per_ns = timeline.ticks_per_ns
    if calls.choices is None:
        rates = _equal_rates(in_service, replicas, ticks_per_ns)
    else:
        weights = np.cumsum(timeline.in_order(*weight_steps(calls)))
        rates = np.minimum(in_service, replicas) / np.maximum(weights, 1) * ticks_per_ns
    return timeline.charges(calls, virtual_time(timeline.instants, rates), gpus=gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Starts, first tokens and ends of calls in the order of time.

    `instants` has three entries a call, and `order` says of each where it stands in the starts
    followed by the first tokens followed by the ends.
    """

    instants: Instants
    order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, calls: InService) -> "Timeline":
        """The timeline of `calls`."""
        instants = np.concatenate((calls.started_at, calls.first_token_at, calls.ended_at))
        order = np.argsort(instants, kind="stable")
        return cls(instants=instants[order], order=order)

    @property
    def ticks_per_ns(self) -> int:
        """The power of two by which a nanosecond is divided, so that V at the end fits 63 bits."""
        span_ns = int(self.instants[-1] - self.instants[0]) if len(self.instants) else 0
        return 1 << max(62 - span_ns.bit_length(), 0)

    def in_order(
        self, at_start: npt.NDArray[T], at_first_token: npt.NDArray[T], at_end: npt.NDArray[T]
    ) -> npt.NDArray[T]:
        """Values of each call at its start, first token and end, in the order of time."""
        return np.concatenate((at_start, at_first_token, at_end))[self.order]

    def charges(
        self, calls: InService, virtual: Instants, *, gpus: float
    ) -> tuple[Seconds, Seconds]:
        """Prefill and decode GPU-seconds of each of `calls` by V at the instants, in ticks."""
        of_calls = np.empty_like(virtual)
        of_calls[self.order] = virtual
        at_start, at_first, at_end = np.split(of_calls, 3)
        gpu_ticks_per_s = self.ticks_per_ns * NS_PER_S / gpus
        prefill, decode = (
            (at_first - at_start) / gpu_ticks_per_s,
            (at_end - at_first) / gpu_ticks_per_s,
        )
        return prefill, decode if calls.choices is None else decode * calls.choices


def call_steps(calls: InService) -> tuple[Steps, Steps, Steps]:
    """By how many each start, first token and end of `calls` changes the calls in service."""
    one = np.ones(len(calls.started_at), dtype=np.int8)
    return one, np.zeros_like(one), -one


def weight_steps(calls: InService) -> tuple[Instants, Instants, Instants]:
    """By how much each start, first token and end of `calls` changes the weight in service."""
    one = np.ones(len(calls.started_at), dtype=np.int64)
    weight = one if calls.choices is None else calls.choices.astype(np.int64)
    return one, weight - 1, -weight


def virtual_time(instants: Instants, rates: Seconds) -> Instants:
    """V of one GPU at each instant, in ticks; `instants` are in order, V is 0 at the first.

    `rates` are ticks a nanosecond that a weight of 1 is charged after each instant.
    """
    virtual = np.zeros(len(instants), dtype=np.int64)
    if len(instants) > 1:
        passed = np.diff(instants) * rates[:-1]
        np.cumsum(np.rint(passed, out=passed).astype(np.int64), out=virtual[1:])
    return virtual


def _equal_rates(in_service: npt.NDArray[np.int32], replicas: int, ticks_per_ns: int) -> Seconds:
    """Ticks of one GPU that each call is charged a nanosecond after each instant."""
    if not len(in_service):
        return np.zeros(0)
    count = np.arange(int(in_service.max()) + 1, dtype=np.float64)
    return (np.minimum(count, replicas) / np.maximum(count, 1) * ticks_per_ns)[in_service]
