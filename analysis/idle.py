"""Idle time: what was provisioned and not busy, by pool and currency.

Owns the subtraction, `idle = provisioned - busy`, negative where more was busy. Refuses a pool of
which the replicas are not known: it has no idle line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.calendar import pieces_of
from analysis.columns import TIME_COLUMNS
from analysis.group_sums import BusyKey, GroupSums
from analysis.lines import IdleSums
from analysis.money import gpu_cost, total
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.ledger import Connection


def idle_sums(
    connection: Connection, *, by: Sequence[str], window: Window, sums: GroupSums
) -> list[IdleSums]:
    """Idle GPU-picoseconds and money of each pool whose replicas are known, for each time of `by`.

    `window` has both bounds, or there is no idle time to speak of.
    """
    column = next((column for column in by if column in TIME_COLUMNS), None)
    if window.since is None or window.until is None:
        return []
    pieces = [(None, window.since, window.until)] if column is None else pieces_of(window, column)
    found: dict[tuple[str, Any, str | None], IdleSums] = {}
    for rate in run_question(connection, question_named("rates")).to_dicts():
        for time, since, until in pieces:
            provisioned_ps = _provisioned_ps(rate, since, until)
            if provisioned_ps is None:
                continue
            idle_ps = provisioned_ps - sums.busy.get(BusyKey(rate_id=rate["rate_id"], time=time), 0)
            key = (rate["pool"], time, rate["currency"])
            found[key] = _added(found.get(key), _idle(rate, time, idle_ps))
    return list(found.values())


def unconfigured_pools(connection: Connection, sums: GroupSums) -> list[str]:
    """The busy pools that only telemetry names, by name."""
    busy = {key.rate_id for key in sums.busy}
    rates = run_question(connection, question_named("rates"))
    return sorted(
        {
            row["pool"]
            for row in rates.to_dicts()
            if row["rate_id"] in busy and not row["is_configured"]
        }
    )


def _idle(rate: Mapping[str, Any], time: Any, idle_ps: int) -> IdleSums:
    price = rate["price_per_gpu_hour"]
    return IdleSums(
        pool=rate["pool"],
        time=time,
        currency=rate["currency"],
        gpu_ps=idle_ps,
        cost=None if price is None else gpu_cost(idle_ps, price),
    )


def _added(one: IdleSums | None, other: IdleSums) -> IdleSums:
    if one is None:
        return other
    cost = None if one.cost is None or other.cost is None else total([one.cost, other.cost])
    return replace(one, gpu_ps=one.gpu_ps + other.gpu_ps, cost=cost)


def _provisioned_ps(rate: Mapping[str, Any], since: int, until: int) -> int | None:
    if rate["replicas"] is None:
        return None
    first = max(since, rate["effective_from"])
    last = until if rate["effective_to"] is None else min(until, rate["effective_to"])
    gpus = rate["gpus_per_replica"] * rate["replicas"]
    return round(max(0, last - first) * gpus) * 1000
