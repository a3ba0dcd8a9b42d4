"""Idle time shared among the groups that use a pool, by one of two policies.

Owns whose part of the idle time is how large. Refuses to share that of a pool that no group uses,
and the price of a plan: they stay lines of their own. The shares of a pool add up to what it idles,
to the last picosecond and billionth of a price.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import pieces_of
from analysis.group_sums import group_sums
from analysis.law import LawLines, law_lines
from analysis.letters import PICOSECONDS_PER_S
from analysis.lines import MONEY, Line, line_rows, rounded_costs
from analysis.money import QUANTUM, rounded_to_total, share_of, total_of
from analysis.scan import NO_TIMES, Scan, times_of
from analysis.selection import Filters, selected
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

POLICIES = ("own", "proportional", "peak")
"""Idle time as a line of its own pool, by busy GPU-seconds, or by those of the peak hour."""

KEPT = ("N", "gpu_seconds", "cost", "currency")
Value = str | None
Busy = Mapping[str, Mapping[Value, int]]
"""Pool to value of the column to its busy GPU-picoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of idle time: picoseconds, and rounded money where the pool has a price."""

    gpu_ps: int
    cost: Decimal | None


def shared_lines(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str],
    window: Window,
    where: Filters | None,
    policy: str,
    scan: Scan,
) -> Answer:
    """The lines of law by the one column `by`, each with its share of the idle time of its pools.

    `cost` is that of law, `cost_with_idle` adds `idle_cost`; the lines add up to the bill.
    """
    found = law_lines(ledger, configuration, by=by, window=window, where=where, scan=scan)
    filters = selected(where)
    notes = [*found.notes]
    if policy == "proportional":
        busy = busy_by_pool(ledger.connection, by, found.window, filters, scan)
    else:
        busy, said = _at_peak(ledger.connection, by, found.window, filters, scan)
        notes += said
    taken, gone = idle_shares(found, rounded_costs(found.lines), busy)
    return Answer(frame=_frame(found, taken, gone), notes=tuple(notes), window=found.window)


def busy_by_pool(
    connection: Connection, by: Sequence[str], window: Window, filters: Filters, scan: Scan
) -> dict[str, dict[Value, int]]:
    """What each value of the column keeps each pool busy with in `window`."""
    pooled = tuple(dict.fromkeys([*by, "pool"]))
    sums = group_sums(connection, NO_TIMES, by=pooled, window=window, filters=filters, scan=scan)
    busy: dict[str, dict[Value, int]] = {}
    for key, group in sums.groups.items():
        pool = key.values[pooled.index("pool")]
        if key.basis == "gpu" and pool is not None and group.gpu_ps:
            own = busy.setdefault(pool, {})
            own[key.values[0]] = own.get(key.values[0], 0) + group.gpu_ps
    return busy


def _at_peak(
    connection: Connection, by: Sequence[str], window: Window, filters: Filters, scan: Scan
) -> tuple[dict[str, dict[Value, int]], list[str]]:
    """As `busy_by_pool`, in the hour of `window` in which most of each pool was busy.

    Of equal hours it is the first. Beside it, which hours these are.
    """
    sums = group_sums(
        connection,
        times_of(("hour",), window),
        by=("hour", "pool"),
        window=window,
        filters=filters,
        scan=scan,
    )
    peaks: dict[str, tuple[int, str]] = {}
    for key, group in sorted(sums.groups.items(), key=lambda item: str(item[0].values)):
        hour, pool = key.values
        if key.basis == "gpu" and pool is not None and group.gpu_ps > peaks.get(pool, (0, ""))[0]:
            peaks[pool] = group.gpu_ps, hour
    bounds = {hour: (since, until) for hour, since, until in pieces_of(window, "hour")}
    busy, notes = {}, []
    for pool, (gpu_ps, hour) in sorted(peaks.items()):
        since, until = bounds[hour]
        at_peak = Window(since=since, until=until, timezone=window.timezone)
        busy[pool] = busy_by_pool(connection, by, at_peak, filters, scan).get(pool, {})
        notes.append(
            f"peak of pool {pool!r}: {gpu_ps / PICOSECONDS_PER_S:,.6g} GPU-seconds in the hour "
            f"from {hour}"
        )
    return busy, notes


def idle_shares(
    found: LawLines, costs: Sequence[Decimal | None], busy: Busy
) -> tuple[dict[int, Share], set[int]]:
    """The parts of idle time by the place of the line that takes them, and the lines shared out."""
    takers = _takers(found)
    taken: dict[int, Share] = {}
    gone = set()
    for place, line in enumerate(found.lines):
        own = busy.get(line.pool or "", {}) if _is_idle(line) else {}
        if not own:
            continue
        gone.add(place)
        values = sorted(own, key=lambda value: (value is None, value or ""))
        parts = [own[value] for value in values]
        seconds = _split(Decimal(line.gpu_ps or 0), parts, Decimal(1))
        cost = costs[place]
        money = [None] * len(parts) if cost is None else _split(cost, parts, QUANTUM)
        for value, gpu_ps, amount in zip(values, seconds, money, strict=True):
            taker = takers[value].get(line.currency, next(iter(takers[value].values())))
            before = taken.get(taker, Share(gpu_ps=0, cost=None))
            taken[taker] = Share(
                gpu_ps=before.gpu_ps + int(gpu_ps), cost=total_of([before.cost, amount])
            )
    return taken, gone


def _is_idle(line: Line) -> bool:
    """Whether `line` is idle time of a pool, and not of a plan."""
    return line.line == "idle" and line.basis == "gpu"


def _split(amount: Decimal, parts: Sequence[int], quantum: Decimal) -> list[Decimal]:
    """`amount` by the sizes of `parts`, in whole quanta."""
    whole = sum(parts)
    exact = [share_of(amount, part, whole) for part in parts]
    return rounded_to_total(exact, amount, quantum)


def _takers(found: LawLines) -> dict[Value, dict[str | None, int]]:
    """The places of the lines of calls on GPUs, by value and currency.

    Idle time goes to that in its own currency, where there is none to the first.
    """
    (column,) = found.columns
    takers: dict[Value, dict[str | None, int]] = {}
    for place, line in enumerate(found.lines):
        if line.sums is not None and line.basis == "gpu":
            takers.setdefault(line.values[column], {}).setdefault(line.currency, place)
    return takers


def _frame(found: LawLines, taken: Mapping[int, Share], gone: set[int]) -> pl.DataFrame:
    """The lines that are left, the dearest with their idle time first."""
    rows = []
    for place, row in enumerate(line_rows(found.lines, found.columns)):
        if place not in gone:
            share = taken.get(place)
            idle_cost = None if share is None else share.cost
            rows.append(
                {name: row.get(name) for name in (*_names(found), *KEPT)}
                | {
                    "idle_gpu_seconds": share and share.gpu_ps / PICOSECONDS_PER_S,
                    "idle_cost": idle_cost,
                    "cost_with_idle": total_of([row["cost"], idle_cost]),
                }
            )
    schema: dict[str, Any] = dict.fromkeys(_names(found), pl.String) | {
        "N": pl.Int64,
        "gpu_seconds": pl.Float64,
        "cost": MONEY,
        "idle_gpu_seconds": pl.Float64,
        "idle_cost": MONEY,
        "cost_with_idle": MONEY,
        "currency": pl.String,
    }
    order = ["cost_with_idle", "gpu_seconds", *_names(found)]
    descending = [True, True, *(False for _ in _names(found))]
    return pl.DataFrame(rows, schema=schema).sort(order, descending=descending, nulls_last=True)


def _names(found: LawLines) -> list[str]:
    return list(dict.fromkeys(["line", *found.columns, "pool", "basis"]))
