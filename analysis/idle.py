"""Idle time: when which pool was provisioned and not busy, and whose it is if it is to be shared.

Owns the times of a clock that it is summed by. Refuses a pool whose replicas are not known, and to
share what a plan or a pool without calls costs: that stays a line of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.columns import COHORT_COLUMNS, TIME_COLUMNS, checked_groups, nearest
from analysis.errors import NoDataError, WrongQuestionError
from analysis.extent import bounded
from analysis.facts import Facts
from analysis.group_sums import group_sums
from analysis.idle_policies import POLICIES, shared_lines
from analysis.idle_sums import idle_sums
from analysis.letters import PICOSECONDS_PER_S
from analysis.lines import MONEY, IdleSums
from analysis.money import rounded, rounded_to_total, total, total_of
from analysis.scan import Scan, scanned, times_of
from analysis.selection import Filters, selected
from analysis.window import Window
from ingest.charging.pools import rates_in
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="idle",
    question="When is which pool idle, what does that cost, and whose is it if it is shared?",
    grain="a pool, and a time where asked for, in a currency; where policy shares, a line of law",
    unit="GPU-seconds; money in currency; idle_ratio is idle over provisioned, 0 to 1",
    params="columns of pool and time, or one that many calls share where policy is proportional "
    "(by busy GPU-seconds of the pool in the window) or peak (by those in the hour in which most "
    "of the pool was busy); a window; a pool to filter by",
    nulls="money is null where the pool has no price, idle_ratio where nothing is provisioned",
    identity="busy + replayed + idle = provisioned GPU-seconds, and in money, of each row; rows of "
    "any columns add up to the idle lines of law; where policy shares, cost is that of law, and "
    "cost_with_idle of all lines adds up to its bill",
)
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLOCK: Mapping[str, Callable[[str], Any]] = {
    "hour": str,
    "hour_of_day": lambda hour: int(hour[11:13]),
    "weekday": lambda hour: WEEKDAYS[date.fromisoformat(hour[:10]).weekday()],
    "day": lambda hour: date.fromisoformat(hour[:10]),
    "month": lambda hour: hour[:7],
}
"""Column of time to what it makes of an hour, as `2026-10-05T13:00+09:00`."""
IN_ORDER: Mapping[str, Callable[[str], Any]] = {
    "hour": datetime.fromisoformat,
    "weekday": WEEKDAYS.index,
}
"""Column of time to what its values are sorted by, where that is not themselves."""
IDLE_COLUMNS = ("pool", *CLOCK)
TYPES: Mapping[str, Any] = {"hour_of_day": pl.Int64, "day": pl.Date}
SECONDS = ("provisioned", "busy", "replayed", "idle")
COSTS: Mapping[str, Callable[[IdleSums], Decimal | None]] = {
    "provisioned": lambda item: item.provisioned_cost,
    "replayed": lambda item: item.replayed_cost,
    "idle": lambda item: item.cost,
}
IDLE_FILTERS = ("pool",)


def idle(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Filters | None = None,
    policy: str = POLICIES[0],
    scan: Scan = scanned,
) -> Answer:
    """Provisioned, busy and idle GPU-seconds and money by the columns `by`, else by pool.

    Under the policies `proportional` and `peak` a line for each group of one column, else of
    endpoint, with its share of the idle time of the pools that it uses. Raises `NoDataError` where
    nothing is provisioned.
    """
    if policy not in POLICIES:
        raise WrongQuestionError(f"{policy!r} is no policy; {nearest(policy, POLICIES)}")
    asked = window or Window(timezone=configuration.timezone)
    if policy == POLICIES[0]:
        return _own(
            ledger, configuration, _checked(by or ("pool",)), asked, selected(where), scan=scan
        )
    columns = checked_groups(by or ("endpoint",))
    if len(columns) != 1 or columns[0] not in COHORT_COLUMNS:
        raise WrongQuestionError(f"idle time is shared by one of {', '.join(COHORT_COLUMNS)}")
    return shared_lines(
        ledger, configuration, by=columns, window=asked, where=where, policy=policy, scan=scan
    )


def _checked(by: Sequence[str]) -> tuple[str, ...]:
    """`by` as it stands; raises `WrongQuestionError` where idle time has no such column."""
    for column in by:
        if column in COHORT_COLUMNS and column not in IDLE_COLUMNS:
            raise WrongQuestionError(
                f"idle time belongs to pools; by {column} it can be shared: --policy proportional"
            )
        if column not in IDLE_COLUMNS:
            raise WrongQuestionError(f"no idle time by {column!r}; {nearest(column, IDLE_COLUMNS)}")
    if len(set(by)) != len(by) or len(by) > 2:
        raise WrongQuestionError(f"two columns at most, none twice, of {', '.join(IDLE_COLUMNS)}")
    return tuple(by)


def _own(
    ledger: Ledger,
    configuration: Configuration,
    by: Sequence[str],
    asked: Window,
    filters: Filters,
    *,
    scan: Scan,
) -> Answer:
    connection = ledger.connection
    window = bounded(connection, asked, filters)
    grain = _grain(by)
    sums = group_sums(
        connection, times_of(grain, window), by=grain, window=asked, filters=filters, scan=scan
    )
    rates = [r for r in rates_in(connection) if filters.get("pool", r.pool) == r.pool]
    items = [
        item
        for item in idle_sums(
            rates, sums, by=grain, window=window, schedule_zone=configuration.timezone
        )
        if item.provisioned_ps or item.gpu_ps
    ]
    if not items:
        raise NoDataError(
            f"no pool is provisioned in {asked.text()}: its size and time stand under [[pools]]"
        )
    unsized = sorted({rate.pool for rate in rates} - {item.pool for item in items})
    notes = [f"window: {window.text()}"]
    if unsized:
        notes.append(
            f"not provisioned there, as far as is configured: {', '.join(unsized)}; "
            "what they idle is not known"
        )
    return Answer(frame=_frame(items, by, grain), notes=tuple(notes), window=window)


def _grain(by: Sequence[str]) -> tuple[str, ...]:
    """The column of time of which all of `by` are made."""
    times = [column for column in by if column in CLOCK]
    if not times:
        return ()
    return (times[0],) if times[0] in TIME_COLUMNS and len(times) == 1 else ("hour",)


def _time(item: IdleSums, column: str, grain: Sequence[str]) -> Any:
    """The value of a column of time for a piece of `grain`."""
    return CLOCK[column](item.time) if tuple(grain) == ("hour",) else item.time


def _frame(items: Iterable[IdleSums], by: Sequence[str], grain: Sequence[str]) -> pl.DataFrame:
    """A row for each value of `by` and currency: in the order of time, else the most idle first."""
    groups: dict[tuple[Any, ...], list[IdleSums]] = {}
    for item in items:
        values = (item.pool if name == "pool" else _time(item, name, grain) for name in by)
        groups.setdefault((*values, item.currency), []).append(item)
    keys = sorted(groups, key=lambda values: _order(values, by, groups[values]))
    costs = _costs([(values[-1], groups[values]) for values in keys])
    rows = [
        dict(zip((*by, "currency"), values, strict=True)) | _seconds(groups[values]) | cost
        for values, cost in zip(keys, costs, strict=True)
    ]
    schema: dict[str, Any] = {name: TYPES.get(name, pl.String) for name in by}
    schema |= {f"{name}_gpu_seconds": pl.Float64 for name in SECONDS} | {"idle_ratio": pl.Float64}
    schema |= {f"{name}_cost": MONEY for name in SECONDS} | {"currency": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _order(values: Sequence[Any], by: Sequence[str], items: Sequence[IdleSums]) -> tuple[Any, ...]:
    named = dict(zip(by, values, strict=False))
    times = [
        IN_ORDER[name](named[name]) if name in IN_ORDER else named[name]
        for name in by
        if name in CLOCK
    ]
    most = [] if times else [-sum(item.gpu_ps for item in items)]
    return (*times, *most, named.get("pool", ""), values[-1] or "")


def _seconds(items: Sequence[IdleSums]) -> dict[str, float | None]:
    provisioned_ps = sum(item.provisioned_ps for item in items)
    replayed_ps = sum(item.replayed_ps for item in items)
    idle_ps = sum(item.gpu_ps for item in items)
    busy_ps = provisioned_ps - replayed_ps - idle_ps
    return {
        "provisioned_gpu_seconds": provisioned_ps / PICOSECONDS_PER_S,
        "busy_gpu_seconds": busy_ps / PICOSECONDS_PER_S,
        "replayed_gpu_seconds": replayed_ps / PICOSECONDS_PER_S,
        "idle_gpu_seconds": idle_ps / PICOSECONDS_PER_S,
        "idle_ratio": idle_ps / provisioned_ps if provisioned_ps else None,
    }


def _costs(
    groups: Sequence[tuple[str | None, Sequence[IdleSums]]],
) -> list[dict[str, Decimal | None]]:
    """Money of each group; what is rounded adds up to the rounded sum of its currency."""
    kinds = {
        name: _rounded(
            [(currency, total_of([cost(item) for item in own])) for currency, own in groups]
        )
        for name, cost in COSTS.items()
    }
    rows: list[dict[str, Decimal | None]] = [
        {f"{name}_cost": amounts[place] for name, amounts in kinds.items()}
        for place in range(len(groups))
    ]
    for row in rows:
        whole, *parts = (row[f"{name}_cost"] for name in COSTS)
        left = total([part for part in parts if part is not None])
        row["busy_cost"] = None if whole is None else whole - left
    return rows


def _rounded(amounts: Sequence[tuple[str | None, Decimal | None]]) -> list[Decimal | None]:
    result: list[Decimal | None] = [None] * len(amounts)
    for wanted in {currency for currency, _ in amounts}:
        own = {
            place: amount
            for place, (currency, amount) in enumerate(amounts)
            if currency == wanted and amount is not None
        }
        exact = list(own.values())
        shares = rounded_to_total(exact, rounded(total(exact)))
        for place, share in zip(own, shares, strict=True):
            result[place] = share
    return result
