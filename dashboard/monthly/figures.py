"""The figures of one month, as every document of the report shows them.

Owns which figures a report has. Refuses to ask a question: `dashboard.monthly.gather` fills it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from dashboard.monthly.tables import (
    Table,
    days_table,
    idle_and_unpriced_table,
    law_table,
    plain_table,
)
from dashboard.series import SpendByDay
from dashboard.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyFigures:
    """One month in one time zone; every amount is in the summary's currency."""

    month: str
    window_text: str
    summary: Summary
    previous_month: str
    previous_cost: Decimal | None
    endpoints: pl.DataFrame
    """Lines of the law by endpoint, with `label`, `rounded_cost` and `law_cost`."""
    teams: pl.DataFrame
    """The same by team."""
    days: pl.DataFrame
    """Columns `day`, `N`, `gpu_seconds`, `calls_cost`, `idle_cost`, `cost`."""
    idle_and_unpriced: pl.DataFrame
    """Lines without a call to charge, or without a price."""
    moved: pl.DataFrame
    """Columns `name`, `before`, `now`, `effect_cost`; empty where there is no month before."""
    data_quality: pl.DataFrame
    spend: SpendByDay
    notes: Sequence[str]

    def tables(self) -> tuple[Table, ...]:
        """The tables of the report in their order."""
        currency = self.summary.currency
        return (
            law_table("Endpoints", "Endpoint", self.endpoints, currency),
            law_table("Teams", "Team", self.teams, currency),
            days_table(self.days, currency),
            idle_and_unpriced_table(self.idle_and_unpriced, currency),
            plain_table("Data quality", self.data_quality),
        )
