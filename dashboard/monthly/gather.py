"""The figures of one month, asked of the ledger.

Owns which questions a report asks and how their rounding agrees. Refuses a month without calls:
the question's error says what the ledger has.
"""

from collections.abc import Mapping
from decimal import Decimal

import polars as pl

from analysis.errors import NoDataError
from analysis.explain import explain
from analysis.extent import extent_of
from analysis.law import law
from analysis.selection import selected
from analysis.window import Window
from dashboard.comparison import LETTERS, letter_values
from dashboard.lines import labelled, labelled_with_pool, total_cost, with_rounded_cost
from dashboard.monthly.figures import MonthlyFigures
from dashboard.moves import moves_of
from dashboard.notes import notes_beside
from dashboard.period import is_covered, month_before, month_period
from dashboard.rounding import decimals_of, rounded_to_total
from dashboard.series import spend_by_day
from dashboard.summary import summary_of
from dashboard.wording import money_text
from ingest.config import Configuration
from ingest.ledger import Ledger

MOVED_SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "name": pl.String,
    "before": pl.Float64,
    "now": pl.Float64,
    "effect_cost": pl.Decimal(38, 9),
}


def monthly_figures(
    ledger: Ledger, configuration: Configuration, month: str, zone: str
) -> MonthlyFigures:
    """The figures of `month` (YYYY-MM), cut in `zone`. Raises `NoDataError` without calls."""
    period = month_period(month, zone)
    previous = month_period(month_before(month), zone)
    before = _covered(ledger, previous.window)
    currency = configuration.currency
    by_endpoint = law(ledger, configuration, by=("endpoint",), window=period.window)
    by_team = law(ledger, configuration, by=("team",), window=period.window)
    daily = law(ledger, configuration, by=("day", "endpoint"), window=period.window).frame
    endpoints = _document_lines(by_endpoint.frame, "endpoint", currency)
    return MonthlyFigures(
        month=month,
        window_text=period.text,
        summary=summary_of(by_endpoint.frame, currency),
        previous_month=previous.name,
        previous_cost=_previous_cost(ledger, configuration, before),
        endpoints=endpoints,
        teams=_document_lines(by_team.frame, "team", currency),
        days=_days(daily, endpoints, currency),
        idle_and_unpriced=_without_calls_or_price(endpoints),
        moved=_moved(ledger, configuration, before, period.window),
        data_quality=_data_quality(ledger, configuration, period.window),
        spend=spend_by_day(
            labelled(daily, ("endpoint",)), currency=currency, window_text=period.text
        ),
        notes=notes_beside(by_endpoint),
    )


def _document_lines(frame: pl.DataFrame, by: str, currency: str) -> pl.DataFrame:
    """The lines of `frame` with `label`, `rounded_cost`, and `law_cost` where the law applies.

    What a line costs in another currency stands in its label: the columns of money are in one.
    """
    lines = with_rounded_cost(labelled_with_pool(frame, (by,)))
    is_own = pl.col("currency").is_null() | (pl.col("currency") == currency)
    told = [_label(*row) for row in lines.select("label", "rounded_cost", "currency").rows()]
    money = ("rounded_cost", "cost", "price_per_gpu_hour")
    lines = lines.with_columns(
        pl.when(is_own).then("label").otherwise(pl.Series(told, dtype=pl.String)).alias("label"),
        *(pl.when(is_own).then(pl.col(name)).alias(name) for name in money),
    )
    has_letters = pl.col("B").is_not_null() & pl.col("Td_s").is_not_null()
    return lines.with_columns(law_cost=pl.when(has_letters).then(pl.col("cost")))


def _label(label: str, cost: Decimal | None, currency: str | None) -> str:
    """The label of a line with its cost, as it stands where no column has it."""
    if cost is None or currency is None:
        return label
    return f"{label} ({money_text(cost, currency)})"


def _covered(ledger: Ledger, window: Window) -> Window | None:
    """`window`; None where the ledger's calls do not cover it from its start."""
    first_at = extent_of(ledger.connection, selected(None)).first_at
    return window if first_at is not None and is_covered(window, first_at) else None


def _previous_cost(
    ledger: Ledger, configuration: Configuration, window: Window | None
) -> Decimal | None:
    if window is None:
        return None
    try:
        frame = law(ledger, configuration, by=(), window=window).frame
    except NoDataError:
        return None
    return total_cost(frame, configuration.currency)


def _days(daily: pl.DataFrame, endpoints: pl.DataFrame, currency: str) -> pl.DataFrame:
    """A row a day, whose money adds up to the lines of `endpoints`, idle and the rest apart."""
    in_currency = pl.col("currency") == currency
    is_idle = pl.col("line") == "idle"
    days = (
        daily.group_by("day")
        .agg(
            pl.col("N").sum(),
            pl.col("gpu_seconds").sum(),
            calls_cost=pl.col("cost").filter(in_currency & ~is_idle).sum(),
            idle_cost=pl.col("cost").filter(in_currency & is_idle).sum(),
        )
        .sort("day")
    )
    lines = endpoints.filter(in_currency)
    rounded = [
        _rounded_column(days["calls_cost"], lines.filter(~is_idle)["rounded_cost"], currency),
        _rounded_column(days["idle_cost"], lines.filter(is_idle)["rounded_cost"], currency),
    ]
    return days.with_columns(*rounded).with_columns(cost=pl.col("calls_cost") + pl.col("idle_cost"))


def _rounded_column(amounts: pl.Series, lines: pl.Series, currency: str) -> pl.Series:
    total = sum(lines.drop_nulls(), Decimal(0))
    parts = rounded_to_total(amounts.to_list(), decimals_of(currency), total=total)
    return pl.Series(amounts.name, parts, dtype=lines.dtype)


def _without_calls_or_price(endpoints: pl.DataFrame) -> pl.DataFrame:
    return endpoints.filter((pl.col("line") == "idle") | pl.col("cost").is_null())


def _data_quality(ledger: Ledger, configuration: Configuration, window: Window) -> pl.DataFrame:
    """Where times and token counts of the month's calls come from, and how many have no price."""
    by = ("timing_source", "tokens_source")
    lines = law(ledger, configuration, by=by, window=window).frame
    counts = ("basis", "N", "input_tokens", "output_tokens", "gpu_seconds")
    return lines.filter(pl.col("line") != "idle").select(*by, *counts)


def _moved(
    ledger: Ledger, configuration: Configuration, before: Window | None, now: Window
) -> pl.DataFrame:
    """The moves with their letter before and now; empty where there is nothing to compare with."""
    if before is None:
        return pl.DataFrame(schema=MOVED_SCHEMA)
    currency = configuration.currency
    try:
        explained = explain(ledger, configuration, before=before, after=now)
        old = letter_values(law(ledger, configuration, by=(), window=before).frame, currency)
    except NoDataError:
        return pl.DataFrame(schema=MOVED_SCHEMA)
    new = letter_values(law(ledger, configuration, by=(), window=now).frame, currency)
    columns = {letter.symbol: letter.column for letter in LETTERS}
    rows = [
        {
            "name": move.name,
            "before": old.get(columns.get(move.cause, "")),
            "now": new.get(columns.get(move.cause, "")),
            "effect_cost": move.cost,
        }
        for move in moves_of(explained.frame, currency)
    ]
    return pl.DataFrame(rows, schema=MOVED_SCHEMA)
