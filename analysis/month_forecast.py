"""The month that runs: what each line of it has cost so far, and what it may cost until its end.

Owns where now is, and what of the rest the configuration tells. Refuses rows and words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np

from analysis.daily_usage import daily_usage
from analysis.errors import NoDataError
from analysis.extent import extent_of, no_calls
from analysis.law import IDLE_FILTERS, law_lines
from analysis.lines import Line, is_replayed, rounded_costs
from analysis.money import rounded, total
from analysis.month_ahead import Rest, RestKey, days_ahead, offers_ahead, rest_of_month
from analysis.plans import plan_lines_ahead
from analysis.resampling import DRAW_COUNT, interval
from analysis.scan import Scan
from analysis.selection import PRODUCTION, Filters, selected
from analysis.window import Window, month_of
from ingest.charging.pools import rates_in
from ingest.config import Configuration
from ingest.ledger import Ledger

DAY_NS = Decimal(86_400_000_000_000)
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Money spent, expected until the month ends, and the bounds of the month's cost.

    All but `spent` are None where too few days are known.
    """

    spent: Decimal
    rest: Decimal | None
    low: Decimal | None
    high: Decimal | None

    @property
    def month(self) -> Decimal | None:
        """What the month is expected to cost."""
        return None if self.rest is None else self.spent + self.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthForecast:
    """The lines of `month`: what they cost up to `now`, and after it; None where that is not known.

    `known` is what of the rest the configuration tells, by currency: GPUs and plans. `days` are
    those that were looked at. `unpriced_count` calls of the month have no price.
    """

    month: Window
    now: int
    spent: Mapping[RestKey, Decimal]
    rest: Mapping[RestKey, Rest] | None
    known: Mapping[str, Decimal]
    days: tuple[date, ...]
    unpriced_count: int

    @property
    def name(self) -> str:
        """The month as YYYY-MM."""
        return month_of(self.month.since or 0, self.month.timezone)

    @property
    def elapsed_ratio(self) -> float:
        """The share of the month that is over."""
        since, until = self.month.since or 0, self.month.until or 0
        return (self.now - since) / (until - since)

    @property
    def currencies(self) -> list[str]:
        """The currencies of the lines, in order."""
        return sorted({key.currency for key in self.lines})

    @property
    def lines(self) -> list[RestKey]:
        """What has a line so far or is expected to have one."""
        return list(dict.fromkeys([*self.spent, *(self.rest or {})]))

    def per_day(self, spent: Decimal) -> Decimal:
        """So much money, spent in the month so far, by day."""
        return rounded(spent * DAY_NS / (self.now - (self.month.since or 0)))

    def bounds(self, keys: Sequence[RestKey]) -> Bounds:
        """The lines `keys` together; expected amounts add up, bounds do not."""
        spent = total([self.spent.get(key, NOTHING) for key in keys])
        if self.rest is None:
            return Bounds(spent=spent, rest=None, low=None, high=None)
        ahead = [self.rest[key] for key in keys if key in self.rest]
        rest = total([rounded(Decimal(one.expected)) for one in ahead])
        low, high = interval(sum((one.draws for one in ahead), start=np.zeros(DRAW_COUNT)))
        return Bounds(
            spent=spent,
            rest=rest,
            low=spent + rounded(Decimal(low)),
            high=spent + rounded(Decimal(high)),
        )


def month_forecast(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str],
    window: Window,
    where: Filters | None,
    scan: Scan,
) -> MonthForecast:
    """The month in which `window` ends, or the ledger's calls do, by the columns `by`.

    Days are looked at from the begin of `window` on. Raises `NoDataError` where no call tells its
    time.
    """
    filters = selected(where)
    last = extent_of(ledger.connection, filters).last_at
    if last is None:
        raise no_calls(ledger.connection, window, filters)
    now = last if window.until is None else min(window.until, last)
    month = Window.month(month_of(now - 1, window.timezone), window.timezone)
    so_far = _between(month.since, now, window)
    lines = _lines(ledger, configuration, by=by, window=so_far, where=where, scan=scan)
    rest = NO_REST
    if now != month.until:
        ahead = _between(now, month.until, window)
        rest = _rest(ledger, configuration, by, window.since, ahead, filters=filters, scan=scan)
        if rest.lines is not None and filters == {"origin": PRODUCTION}:
            rest = _with_plans(
                ledger, configuration, rest, by=by, month=month, now=now, spent=lines
            )
    return MonthForecast(
        month=month,
        now=now,
        spent=_spent(lines, by),
        rest=rest.lines,
        known=rest.known,
        days=rest.days,
        unpriced_count=_unpriced_count(lines),
    )


def _unpriced_count(lines: Sequence[Line]) -> int:
    return sum(line.sums.call_count for line in lines if line.sums and line.cost is None)


def _lines(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str],
    window: Window,
    where: Filters | None,
    scan: Scan,
) -> tuple[Line, ...]:
    """The lines of law in `window`; none where it has neither a call nor a pool."""
    try:
        found = law_lines(ledger, configuration, by=by, window=window, where=where, scan=scan)
    except NoDataError:
        return ()
    return found.lines


def _spent(lines: Sequence[Line], by: Sequence[str]) -> dict[RestKey, Decimal]:
    """Rounded money of each line that has a price."""
    spent: dict[RestKey, Decimal] = {}
    for line, cost in zip(lines, rounded_costs(lines), strict=True):
        if cost is not None:
            spent[_key(line, by)] = spent.get(_key(line, by), NOTHING) + cost
    return spent


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOfMonth:
    """What lines cost after now, None where `days` are too few, and what of it is known."""

    lines: Mapping[RestKey, Rest] | None
    known: Mapping[str, Decimal]
    days: tuple[date, ...]


NO_REST = RestOfMonth(lines={}, known={}, days=())


def _rest(
    ledger: Ledger,
    configuration: Configuration,
    by: Sequence[str],
    since: int | None,
    ahead: Window,
    *,
    filters: Filters,
    scan: Scan,
) -> RestOfMonth:
    """What calls and idle time cost in `ahead`."""
    usage = daily_usage(
        ledger.connection,
        by=by,
        since=since,
        now=ahead.since or 0,
        timezone=ahead.timezone,
        filters=filters,
        scan=scan,
    )
    days = days_ahead(ahead, usage.days)
    if days is None:
        return RestOfMonth(lines=None, known={}, days=usage.days)
    has_idle = set(filters) <= IDLE_FILTERS and filters["origin"] == PRODUCTION
    rates = [
        rate
        for rate in rates_in(ledger.connection)
        if not has_idle or filters.get("pool", rate.pool) == rate.pool
    ]
    offers = offers_ahead(rates, days, configuration.timezone)
    known: dict[str, Decimal] = {}
    for offer in offers.values() if has_idle else ():
        if offer.cost is not None and offer.currency is not None:
            so_far = known.get(offer.currency, NOTHING)
            known[offer.currency] = so_far + rounded(Decimal(offer.cost))
    lines = rest_of_month(usage, days, offers, by=by, has_idle=has_idle)
    return RestOfMonth(lines=lines, known=known, days=usage.days)


def _with_plans(
    ledger: Ledger,
    configuration: Configuration,
    rest: RestOfMonth,
    *,
    by: Sequence[str],
    month: Window,
    now: int,
    spent: Sequence[Line],
) -> RestOfMonth:
    """`rest` and what plans cost after `now`, which is sure."""
    ahead = _between(now, month.until, month)
    lines, known = dict(rest.lines or {}), dict(rest.known)
    for line in plan_lines_ahead(
        ledger.connection, configuration, by=by, month=month, spent=spent, rest=ahead
    ):
        key, cost = _key(line, by), line.cost or NOTHING
        sure = Rest(expected=float(cost), draws=np.full(DRAW_COUNT, float(cost)))
        lines[key] = lines[key].plus(sure) if key in lines else sure
        known[key.currency] = known.get(key.currency, NOTHING) + rounded(cost)
    return RestOfMonth(lines=lines, known=known, days=rest.days)


def _key(line: Line, by: Sequence[str]) -> RestKey:
    return RestKey(
        line="replays" if is_replayed(line) else line.line,
        values=tuple(line.values[column] for column in by),
        pool=line.pool,
        basis=line.basis,
        currency=line.currency or "",
    )


def _between(since: int | None, until: int | None, window: Window) -> Window:
    return Window(since=since, until=until, timezone=window.timezone)
