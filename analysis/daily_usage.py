"""What each group used on each whole day before an instant, and of it what came after that o'clock.

Owns the days that a forecast may look at. Refuses days that are not whole, and money for
GPU-seconds: their price is that of the day that they are expected on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from analysis.calendar import calendar_of, pieces_of
from analysis.extent import extent_of
from analysis.group_sums import GroupKey, group_sums
from analysis.letters import PICOSECONDS_PER_S, Sums
from analysis.resampling import Amounts
from analysis.scan import Scan
from analysis.selection import Filters
from analysis.window import QUARTER_NS, Window
from ingest.ledger import Connection

HISTORY_DAYS = 28
WHOLE_DAY_NS = 23 * 3_600_000_000_000
"""The shortest day of a calendar, that on which clocks go forward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageKey:
    """One group on one pool and basis; `currency` is that of money, None of GPU-seconds."""

    values: tuple[Any, ...]
    pool: str | None
    basis: str
    currency: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyUsage:
    """GPU-seconds (basis `gpu`) or money (`token`) of each group on each of `days`.

    `whole` is of the whole day, `later` of the part after the clock time at which history ends.
    """

    days: tuple[date, ...]
    whole: Mapping[UsageKey, Amounts]
    later: Mapping[UsageKey, Amounts]


def daily_usage(
    connection: Connection,
    *,
    by: Sequence[str],
    since: int | None,
    now: int,
    timezone: str,
    filters: Filters,
    scan: Scan,
) -> DailyUsage:
    """The whole days between `since` and the day of `now`, at most four weeks of them.

    None of `since` is from the first call on. `by` has no column of time.
    """
    first = extent_of(connection, filters).first_at if since is None else since
    pieces = _whole_days(first, now, timezone)
    if not pieces:
        return DailyUsage(days=(), whole={}, later={})
    window = Window(since=pieces[0][1], until=pieces[-1][2], timezone=timezone)
    pooled = tuple(dict.fromkeys([*by, "pool"]))
    sums = group_sums(
        connection,
        _numbered(window, now),
        by=("day", *pooled),
        window=window,
        filters=filters,
        scan=scan,
    )
    days = tuple(day for day, _, _ in pieces)
    whole: dict[UsageKey, Amounts] = {}
    later: dict[UsageKey, Amounts] = {}
    for group, sum_of in sums.groups.items():
        amount = _amount(group.basis, sum_of)
        if group.values[0] is not None and amount is not None:
            place, is_later = divmod(group.values[0], 2)
            key = _key(group, pooled, len(by))
            whole.setdefault(key, np.zeros(len(days)))[place] += amount
            later.setdefault(key, np.zeros(len(days)))[place] += amount * is_later
    return DailyUsage(days=days, whole=whole, later=later)


def _key(group: GroupKey, pooled: Sequence[str], count: int) -> UsageKey:
    """The key of a group of which the first value is a day, and the others are of `pooled`."""
    values = group.values[1:]
    return UsageKey(
        values=values[:count],
        pool=values[pooled.index("pool")] if group.basis == "gpu" else None,
        basis=group.basis,
        currency=group.currency if group.basis == "token" else None,
    )


def _whole_days(first: int | None, now: int, timezone: str) -> list[tuple[date, int, int]]:
    """The whole days from `first` up to that of `now`, with their first and last instant."""
    if first is None or first >= now:
        return []
    earliest = max(first, now - (HISTORY_DAYS + 2) * 86_400 * 1_000_000_000)
    pieces = pieces_of(Window(since=earliest, until=now, timezone=timezone), "day")
    whole = [piece for piece in pieces if piece[2] - piece[1] >= WHOLE_DAY_NS]
    return whole[-HISTORY_DAYS:]


def _numbered(window: Window, now: int) -> pl.DataFrame:
    """The quarter-hours of `window`, numbered by day; odd numbers are after the time of `now`.

    Of the quarter-hour in which that time lies all counts as before it.
    """
    quarters = range((window.since or 0) // QUARTER_NS, -(-(window.until or 0) // QUARTER_NS))
    local = (
        (pl.col("quarter").cast(pl.Int64) * QUARTER_NS)
        .cast(pl.Datetime("ns"))
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(window.timezone)
    )
    clock = pl.lit(now, dtype=pl.Int64).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")
    number = 2 * (pl.col("day").rank("dense").cast(pl.Int32) - 1)
    is_later = local.dt.time() >= clock.dt.convert_time_zone(window.timezone).dt.time()
    numbered = calendar_of(quarters, window.timezone).select(
        "quarter", time_number=number + is_later.cast(pl.Int32)
    )
    return numbered.with_columns(day=pl.col("time_number"))


def _amount(basis: str, sums: Sums) -> float | None:
    if basis == "gpu":
        return sums.gpu_ps / PICOSECONDS_PER_S
    return float(sums.cost) if basis == "token" and sums.cost is not None else None
