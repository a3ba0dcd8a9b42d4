"""The figures of one month, asked of the ledger.

Owns which questions a report asks and how their rounding agrees. Refuses a month without calls:
the question's error says what the ledger has.
"""

from decimal import Decimal

import polars as pl

from analysis.errors import NoDataError
from analysis.explain import explain
from analysis.law import law
from analysis.window import Window
from dashboard.comparison import LETTERS, letter_values
from dashboard.lines import labelled, total_cost, with_rounded_cost
from dashboard.monthly.figures import MonthlyFigures
from dashboard.moves import moves_of
from dashboard.period import month_before, month_period
from dashboard.rounding import decimals_of, rounded_to_total
from dashboard.series import spend_by_day
from dashboard.summary import summary_of
from ingest.config import Configuration
from ingest.ledger import Ledger

MOVED_SCHEMA = {
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
    currency = configuration.currency
    by_endpoint = law(ledger, configuration, by=("endpoint",), window=period.window)
    by_team = law(ledger, configuration, by=("team",), window=period.window)
    daily = law(ledger, configuration, by=("day", "endpoint"), window=period.window).frame
    endpoints = _document_lines(by_endpoint.frame, "endpoint")
    return MonthlyFigures(
        month=month,
        window_text=period.text,
        summary=summary_of(by_endpoint.frame, currency),
        previous_month=previous.name,
        previous_cost=_previous_cost(ledger, configuration, previous.window),
        endpoints=endpoints,
        teams=_document_lines(by_team.frame, "team"),
        days=_days(daily, endpoints, currency),
        idle_and_unpriced=_without_calls_or_price(endpoints),
        moved=_moved(ledger, configuration, previous.window, period.window),
        data_quality=_data_quality(ledger, configuration, period.window),
        spend=spend_by_day(
            labelled(daily, ("endpoint",)), currency=currency, window_text=period.text
        ),
        notes=by_endpoint.notes,
    )
