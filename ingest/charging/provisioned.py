"""Provisioned GPU-seconds: what a pool offers, whether or not a call uses it.

Owns what is provisioned of a rate in a window. Refuses a pool of unknown size: where nobody
configured replicas, what is provisioned is not known, and neither is what is idle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from ingest.charging.kernel import NS_PER_S
from ingest.charging.rates import ALWAYS, Rate, schedule_windows
from ingest.charging.schedule import scheduled_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What `rate` offers in a window; None where the number of replicas is not known."""

    rate: Rate
    provisioned_s: float
    gpu_seconds: float | None


def provisioned(rates: Sequence[Rate], window: tuple[int, int], timezone: str) -> list[Provisioned]:
    """What each of `rates` offers in [since, until), for those in force at some time of it.

    `window` is in nanoseconds since 1970; schedules are read by the clocks of `timezone`.
    """
    return [
        Provisioned(
            rate=rate,
            provisioned_s=seconds,
            gpu_seconds=(
                None if rate.replicas is None else rate.replicas * rate.gpus_per_replica * seconds
            ),
        )
        for rate in rates
        for stretch in _in_force(rate, window)
        for seconds in [_scheduled_ns(rate, stretch, ZoneInfo(timezone)) / NS_PER_S]
    ]


def _in_force(rate: Rate, window: tuple[int, int]) -> Iterator[tuple[int, int]]:
    since, until = window
    begin = max(since, rate.effective_from)
    end = until if rate.effective_to is None else min(until, rate.effective_to)
    if begin < end:
        yield begin, end


def _scheduled_ns(rate: Rate, stretch: tuple[int, int], zone: ZoneInfo) -> int:
    if rate.schedule == ALWAYS:
        return stretch[1] - stretch[0]
    return scheduled_ns(schedule_windows(rate.schedule), *stretch, zone)
