"""What the month that runs will have cost at its end, with an interval, by group and in total.

Owns the sum of what is spent and what is expected. Refuses a clock of its own: now is the end of
the window, else the last end of the ledger's calls. Refuses calls without a price: they are told.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.columns import COHORT_COLUMNS, checked_groups
from analysis.errors import WrongQuestionError
from analysis.facts import Facts
from analysis.lines import MONEY
from analysis.money import money_text
from analysis.month_ahead import RestKey
from analysis.month_forecast import Bounds, MonthForecast, month_forecast
from analysis.resampling import INTERVAL_RATIO
from analysis.scan import Scan, scanned
from analysis.selection import Filters
from analysis.window import Window, instant_text
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="forecast",
    question="What will the month cost at its end, between which bounds, and how much a day?",
    grain="a line of law in the month so far, or one expected in its rest; idle per pool; a total "
    "in each currency",
    unit="money in currency; per_day_cost is money a day of the month so far; the month costs "
    "between low_cost and high_cost with a chance of interval_ratio",
    params="a column that many calls share; since, from which days are looked at; until, which is "
    "now, else the last end; a filter",
    nulls="rest_cost, forecast_cost, low_cost and high_cost are null where fewer than three whole "
    "days are known before now",
    identity="spent_cost is that of law from the begin of the month to now; spent_cost + rest_cost "
    "= forecast_cost; the lines of a currency add up to its total, but for the bounds; calls and "
    "idle of a pool of known size are in the rest provisioned GPU-seconds times price. What is "
    "unusual is found by line, so the totals by two columns may differ a little",
)
TOTAL = "total"
AMOUNTS = ("spent_cost", "per_day_cost", "rest_cost", "forecast_cost", "low_cost", "high_cost")


def forecast(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
    scan: Scan = scanned,
) -> Answer:
    """The month in which `window` ends: spent, expected in its rest, and the sum with an interval.

    Raises `WrongQuestionError` for more than one column or one that is not shared by many calls,
    `NoDataError` where the ledger has no call that tells its time.
    """
    columns = checked_groups(by)
    if len(columns) > 1 or not set(columns) <= set(COHORT_COLUMNS):
        raise WrongQuestionError(
            f"a forecast is by one of {', '.join(COHORT_COLUMNS)}; its days are implied"
        )
    asked = window or Window(timezone=configuration.timezone)
    found = month_forecast(ledger, configuration, by=columns, window=asked, where=where, scan=scan)
    rows = [_row(found, key, columns) for key in found.lines]
    totals = [_total(found, currency) for currency in found.currencies]
    span = Window(since=found.month.since, until=found.now, timezone=asked.timezone)
    return Answer(
        frame=_frame([*rows, *totals], columns), notes=tuple(_notes(found, asked)), window=span
    )


def _row(found: MonthForecast, key: RestKey, by: Sequence[str]) -> dict[str, Any]:
    return {
        "line": key.line,
        "pool": key.pool,
        **dict(zip(by, key.values, strict=True)),
        "basis": key.basis,
        "currency": key.currency,
        **_amounts(found, found.bounds([key])),
    }


def _total(found: MonthForecast, currency: str) -> dict[str, Any]:
    own = [key for key in found.lines if key.currency == currency]
    return {"line": TOTAL, "currency": currency, **_amounts(found, found.bounds(own))}


def _amounts(found: MonthForecast, bounds: Bounds) -> dict[str, Any]:
    return {
        "month": found.name,
        "elapsed_ratio": found.elapsed_ratio,
        "spent_cost": bounds.spent,
        "per_day_cost": found.per_day(bounds.spent),
        "rest_cost": bounds.rest,
        "forecast_cost": bounds.month,
        "low_cost": bounds.low,
        "high_cost": bounds.high,
        "interval_ratio": None if bounds.low is None else INTERVAL_RATIO,
    }


def _frame(rows: Sequence[dict[str, Any]], by: Sequence[str]) -> pl.DataFrame:
    """The lines that will have cost most first, the totals last."""
    texts = list(dict.fromkeys(["line", *by, "pool", "basis"]))
    schema: dict[str, Any] = dict.fromkeys([*texts, "month"], pl.String)
    schema |= {"elapsed_ratio": pl.Float64} | dict.fromkeys(AMOUNTS, MONEY)
    schema |= {"currency": pl.String, "interval_ratio": pl.Float64}
    frame = pl.DataFrame(list(rows), schema=schema)
    order = [pl.col("line") == TOTAL, pl.col("forecast_cost"), pl.col("spent_cost")]
    return frame.sort(
        [*order, *(pl.col(name) for name in [*texts, "currency"])],
        descending=[False, True, True, *(False for _ in [*texts, "currency"])],
        nulls_last=True,
    )


def _notes(found: MonthForecast, asked: Window) -> Iterator[str]:
    now = instant_text(found.now, asked.timezone)
    yield f"{found.name} ({asked.timezone}), spent up to {now}"
    if asked.until is not None and asked.until > found.now:
        yield "the ledger's calls end there, before the end that was asked for"
    if found.unpriced_count:
        yield f"without a price, hence in no amount: {counted(found.unpriced_count, 'call')}"
    if found.rest is None:
        yield (
            f"no forecast: {counted(len(found.days), 'whole day')} before now; it needs three, "
            "ingest what came before"
        )
    elif found.days:
        yield (
            f"expected of the {counted(len(found.days), 'whole day')} from {found.days[0]} to "
            f"{found.days[-1]}: each day ahead is like those of its weekday, at the level of "
            "the last days where that has changed; no trend is assumed"
        )
        yield f"the bounds hold in {INTERVAL_RATIO:.0%} of cases as long as days stay as they were"
    for currency, amount in sorted(found.known.items()):
        yield (
            f"of the rest, {money_text(amount, currency)} is known: pools and plans as configured"
        )
