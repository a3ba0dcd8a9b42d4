"""Idle time: what was provisioned and not busy, by pool and currency.

Owns the subtraction, `idle = provisioned - busy`, negative where more was busy. Replays keep a pool
busy as production does. Refuses a pool of which the replicas are not known: it has no idle line.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from analysis.calendar import pieces_of
from analysis.columns import TIME_COLUMNS
from analysis.group_sums import BusyKey, GroupSums
from analysis.letters import PICOSECONDS_PER_S
from analysis.lines import IdleSums
from analysis.money import gpu_cost, total
from analysis.window import Window
from ingest.charging.provisioned import Provisioned, provisioned
from ingest.charging.rates import Rate

NS_PER_S = 1_000_000_000
PICOSECONDS_PER_NS = 1_000

TOLERATED_PS = PICOSECONDS_PER_S // 10**6
"""Idle time of no more than this, either way, is none: each piece of a charge is rounded."""


def idle_sums(
    rates: Sequence[Rate], sums: GroupSums, *, by: Sequence[str], window: Window, schedule_zone: str
) -> list[IdleSums]:
    """Idle GPU-picoseconds and money of each pool whose replicas are known, for each time of `by`.

    `window` has both bounds, or there is no idle time to speak of; schedules are read by the
    clocks of `schedule_zone`.
    """
    if window.since is None or window.until is None:
        return []
    column = next((column for column in by if column in TIME_COLUMNS), None)
    pieces = [(None, window.since, window.until)] if column is None else pieces_of(window, column)
    found: dict[tuple[str, Any, str | None], IdleSums] = {}
    for time, since, until in pieces:
        for offer in provisioned(rates, (since, until), schedule_zone):
            offered_ps = provisioned_ps(offer)
            if offered_ps is not None:
                rate_time = BusyKey(rate_id=offer.rate.rate_id, time=time)
                item = _idle(
                    offer.rate,
                    time,
                    offered_ps,
                    busy_ps=sums.busy.get(rate_time, 0),
                    replayed_ps=sums.replayed.get(rate_time, 0),
                )
                key = (offer.rate.pool, time, offer.rate.currency)
                found[key] = _added(found.get(key), item)
    return list(found.values())


def provisioned_ps(offer: Provisioned) -> int | None:
    """GPU-picoseconds of `offer`, whole nanoseconds times GPUs; None where replicas are unknown."""
    if offer.rate.replicas is None:
        return None
    gpus = offer.rate.replicas * Fraction(offer.rate.gpus_per_replica)
    return round(round(offer.provisioned_s * NS_PER_S) * PICOSECONDS_PER_NS * gpus)


def unconfigured_pools(rates: Sequence[Rate], sums: GroupSums) -> list[str]:
    """The busy pools that only telemetry names, by name."""
    busy = {key.rate_id for key in sums.busy}
    return sorted({rate.pool for rate in rates if rate.rate_id in busy and not rate.is_configured})


def _idle(rate: Rate, time: Any, offered_ps: int, *, busy_ps: int, replayed_ps: int) -> IdleSums:
    price = rate.price_per_gpu_hour
    left_ps = offered_ps - busy_ps - replayed_ps
    idle_ps = left_ps if abs(left_ps) > TOLERATED_PS else 0
    return IdleSums(
        pool=rate.pool,
        time=time,
        currency=rate.currency,
        gpu_ps=idle_ps,
        excess_ps=max(0, -idle_ps),
        cost=None if price is None else gpu_cost(idle_ps, price),
        provisioned_ps=offered_ps,
        provisioned_cost=None if price is None else gpu_cost(offered_ps, price),
        replayed_ps=replayed_ps,
        replayed_cost=None if price is None else gpu_cost(replayed_ps, price),
    )


def _added(one: IdleSums | None, other: IdleSums) -> IdleSums:
    if one is None:
        return other
    return replace(
        one,
        gpu_ps=one.gpu_ps + other.gpu_ps,
        excess_ps=one.excess_ps + other.excess_ps,
        cost=_both(one.cost, other.cost),
        provisioned_ps=one.provisioned_ps + other.provisioned_ps,
        provisioned_cost=_both(one.provisioned_cost, other.provisioned_cost),
        replayed_ps=one.replayed_ps + other.replayed_ps,
        replayed_cost=_both(one.replayed_cost, other.replayed_cost),
    )


def _both(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else total([one, other])
