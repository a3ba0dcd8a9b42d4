"""Budgets: what the calls of each scope cost in its month, and how much of that is known.

Owns the comparison of money spent, and expected, with money allowed, as of the last end that the
ledger knows.
Refuses a clock of its own, an amount for a month that the ledger does not reach, and to pass calls
without a price off as free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.columns import CALLER_COLUMNS
from analysis.errors import NoDataError
from analysis.extent import Extent, extent_of
from analysis.facts import Facts
from analysis.law import law_lines
from analysis.lines import MONEY, Line
from analysis.money import rounded, total_of
from analysis.month_forecast import month_forecast
from analysis.scan import Scan, scanned
from analysis.selection import Filters, filter_text, selected
from analysis.window import Window, instant_text
from analysis.wording import counted, part_text
from ingest.config import Budget, Configuration
from ingest.ledger import Connection, Ledger

FACTS = Facts(
    name="budget",
    question="How much of each budget is spent, and how much of that is known?",
    grain="a budget",
    unit="money in the configured currency, calls, ratios from 0 to 1",
    params="a month, or all; the time zone of the months",
    nulls="spent is null where the ledger does not reach the month and where no call of the scope "
    "has a price; per_day_cost, forecast_cost, low_cost, high_cost and exceeds are null there too, "
    "and but for the first where too few days are known; coverage_ratio is null where the scope "
    "has no call, used_ratio where the amount is 0 too",
    identity="forecast_cost and its bounds are those of forecast for the calls of the scope, of a "
    "month that is over they are spent; exceeds is exceeded where spent is above amount, else "
    "expected, likely or possible where low_cost, forecast_cost or high_cost is, else no; spent of "
    "all calls and idle time is the bill of law in that month; used_ratio = "
    "spent / amount; coverage_ratio = (N - unpriced_count) / N",
)

BUDGET_FILTERS = ("month",)
EVERYTHING = "all calls and idle time"
SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "scope": pl.String,
    "month": pl.String,
    "amount": MONEY,
    "currency": pl.String,
    "spent": MONEY,
    "used_ratio": pl.Float64,
    "elapsed_ratio": pl.Float64,
    "N": pl.Int64,
    "unpriced_count": pl.Int64,
    "coverage_ratio": pl.Float64,
    "per_day_cost": MONEY,
    "forecast_cost": MONEY,
    "low_cost": MONEY,
    "high_cost": MONEY,
    "exceeds": pl.String,
    "warning": pl.String,
}
OUTLOOK = ("per_day_cost", "forecast_cost", "low_cost", "high_cost", "exceeds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one scope cost: money by currency, its calls, and those of them without a price."""

    costs: dict[str | None, Decimal]
    call_count: int
    unpriced_count: int

    @property
    def coverage_ratio(self) -> float | None:
        """Priced calls over calls; None without a call."""
        priced_count = self.call_count - self.unpriced_count
        return priced_count / self.call_count if self.call_count else None


def budget(
    ledger: Ledger,
    configuration: Configuration,
    *,
    timezone: str | None = None,
    where: Filters | None = None,
) -> Answer:
    """A row for each budget, or for those of the month in `where`, the newest month first.

    `spent` and `amount` are in the configured currency. `elapsed_ratio` is the share of the month
    up to the last end of the ledger's production calls; a running month has idle time up to there.
    `coverage_ratio` is priced calls over calls: where it is below 1, `spent` is a lower bound.
    Raises `NoDataError` where there is no such budget.
    """
    zone = timezone or configuration.timezone
    reach = extent_of(ledger.connection, selected(None))
    whole = Window(since=reach.first_at, until=None, timezone=zone)
    month = (where or {}).get("month")
    asked = [one for one in configuration.budgets if month in (None, one.month)]
    if not asked:
        of_month = f" of {month}" if month and configuration.budgets else ""
        raise NoDataError(f"no budget{of_month} is configured; give one under [[budgets]]")
    scan = _kept(scanned)
    rows = [_row(ledger, configuration, one, zone=zone, reach=reach, scan=scan) for one in asked]
    frame = pl.DataFrame(rows, schema=SCHEMA).sort("month", "scope", descending=[True, False])
    return Answer(frame=frame, notes=tuple(_notes(frame, reach, zone)), window=whole)


def _kept(scan: Scan) -> Scan:
    """`scan`, which reads each month once however many budgets it has."""
    kept: dict[tuple[Window, bool], pl.DataFrame] = {}

    def reading(
        connection: Connection,
        times: pl.DataFrame,
        *,
        by: Sequence[str],
        window: Window,
        filters: Filters,
    ) -> pl.DataFrame:
        if not {*filters}.isdisjoint(CALLER_COLUMNS):
            return scan(connection, times, by=by, window=window, filters=filters)
        key = window, times.is_empty()
        if key not in kept:
            kept[key] = scan(connection, times, by=by, window=window, filters={})
        return kept[key]

    return reading


def _row(
    ledger: Ledger,
    configuration: Configuration,
    one: Budget,
    *,
    zone: str,
    reach: Extent,
    scan: Scan,
) -> dict[str, Any]:
    month = Window.month(one.month, zone)
    elapsed = _elapsed_ratio(month, reach)
    spending = None
    if elapsed:
        # Of a running month the window ends where the ledger does: idle time to come is not spent.
        window = month if elapsed == 1 else Window(since=month.since, timezone=zone)
        spending = _spending(ledger, configuration, one, window, scan)
    currency = configuration.currency
    spent = None if spending is None else spending.costs.get(currency, _nothing(spending))
    outlook: Mapping[str, Any] = dict.fromkeys(OUTLOOK)
    if spent is not None and elapsed:
        outlook = _outlook(ledger, configuration, one, rounded(spent), zone=zone, scan=scan)
    return {
        "scope": filter_text(one.scope) or EVERYTHING,
        "month": one.month,
        "amount": one.amount,
        "currency": currency,
        "spent": None if spent is None else rounded(spent),
        "used_ratio": float(spent / one.amount) if spent is not None and one.amount else None,
        "elapsed_ratio": elapsed,
        "N": None if spending is None else spending.call_count,
        "unpriced_count": None if spending is None else spending.unpriced_count,
        "coverage_ratio": None if spending is None else spending.coverage_ratio,
        **outlook,
        "warning": _warning(spending, currency),
    }


def _nothing(spending: Spending) -> Decimal | None:
    """What is spent where no line has money in the currency: nothing, unless calls lack a price."""
    return None if spending.unpriced_count == spending.call_count > 0 else Decimal(0)


def _elapsed_ratio(month: Window, reach: Extent) -> float | None:
    """The share of `month` up to the last end of the ledger; None where the ledger begins later."""
    if month.since is None or month.until is None:
        return None
    if reach.first_at is None or reach.last_at is None or reach.first_at >= month.until:
        return None
    passed = (reach.last_at - month.since) / (month.until - month.since)
    return min(1.0, max(0.0, passed))


def _outlook(
    ledger: Ledger,
    configuration: Configuration,
    one: Budget,
    spent: Decimal,
    *,
    zone: str,
    scan: Scan,
) -> dict[str, Any]:
    """What the month of the budget is expected to cost, and whether that exceeds it."""
    ends = Window(until=Window.month(one.month, zone).until, timezone=zone)
    found = month_forecast(
        ledger, configuration, by=(), window=ends, where=dict(one.scope), scan=scan
    )
    own = [key for key in found.lines if key.currency == configuration.currency]
    bounds = found.bounds(own)
    month, low, high = (
        None if amount is None else spent + amount - bounds.spent
        for amount in (bounds.month, bounds.low, bounds.high)
    )
    return {
        "per_day_cost": found.per_day(spent),
        "forecast_cost": month,
        "low_cost": low,
        "high_cost": high,
        "exceeds": _verdict(one.amount, spent, month, low, high),
    }


def _verdict(
    amount: Decimal,
    spent: Decimal,
    month: Decimal | None,
    low: Decimal | None,
    high: Decimal | None,
) -> str | None:
    """How sure it is that more than `amount` is spent in the month."""
    if spent > amount:
        return "exceeded"
    if month is None or low is None or high is None:
        return None
    sure = {"expected": low, "likely": month, "possible": high}
    return next((word for word, cost in sure.items() if cost > amount), "no")


def _spending(
    ledger: Ledger, configuration: Configuration, one: Budget, window: Window, scan: Scan
) -> Spending:
    try:
        found = law_lines(
            ledger, configuration, by=(), window=window, where=dict(one.scope), scan=scan
        )
    except NoDataError:
        return Spending(costs={}, call_count=0, unpriced_count=0)
    return _spent(found.lines)


def _spent(lines: Sequence[Line]) -> Spending:
    currencies = {line.currency for line in lines if line.cost is not None}
    counts = [(line.sums.call_count, line.cost is None) for line in lines if line.sums is not None]
    costs = {
        currency: total_of([line.cost for line in lines if line.currency == currency])
        for currency in currencies
    }
    return Spending(
        costs={currency: cost for currency, cost in costs.items() if cost is not None},
        call_count=sum(count for count, _ in counts),
        unpriced_count=sum(count for count, is_unpriced in counts if is_unpriced),
    )


def _warning(spending: Spending | None, currency: str) -> str | None:
    """What the amount spent lacks, in words; None where it lacks nothing."""
    if spending is None:
        return "the ledger does not reach this month"
    said = []
    if spending.unpriced_count:
        calls, unpriced = spending.call_count, spending.unpriced_count
        said.append(
            f"{unpriced:,} of {counted(calls, 'call')} have no price, "
            f"coverage {part_text(calls - unpriced, calls)}: more is spent than this"
        )
    others = [other for other in spending.costs if other != currency]
    said += [
        f"{rounded(spending.costs[other]):f} {other} are spent besides; "
        "give a rate under [[exchange_rates]]"
        for other in sorted(others, key=str)
    ]
    return "; ".join(said) or None


def _notes(frame: pl.DataFrame, reach: Extent, zone: str) -> list[str]:
    notes = []
    if reach.last_at is not None:
        notes.append(
            f"spent and elapsed up to the ledger's last end, {instant_text(reach.last_at, zone)}"
        )
    warned = frame.drop_nulls("warning")
    notes += [
        f"budget of {scope}, {month}: {warning}"
        for scope, month, warning in warned.select("scope", "month", "warning").rows()
    ]
    return notes
