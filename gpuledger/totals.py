"""The totals below a table of the law: a row for each currency, equal to the rows above it.

Owns which totals there are. Refuses to add amounts of different currencies, and letters, which are
ratios, and to round otherwise than a page or a report does. CSV and JSON have no totals: there,
lines are what a program adds up itself.
"""

from decimal import Decimal
from typing import Any

import polars as pl

from analysis.money import money_places, total
from dashboard.lines import with_rounded_cost
from dashboard.rounding import decimals_of, rounded

TOTAL = "total"
CENTS = 2
COUNTS = (
    "N",
    "gpu_seconds",
    "prefill_gpu_seconds",
    "decode_gpu_seconds",
    "input_tokens",
    "output_tokens",
)
"""Columns that add up over all lines, whatever their currency, and those without a price."""


def with_totals(lines: pl.DataFrame) -> pl.DataFrame:
    """`lines` of the law with costs rounded for a table, and the totals of what is shown.

    Amounts have the decimals of their currency, or millionths where all of them are below 1.
    Calls, GPU-seconds and tokens of all lines stand in one total: in that of the money where there
    is one currency, else in a row of their own above the totals of the currencies.
    """
    currencies = lines["currency"].drop_nulls().unique(maintain_order=True).to_list()
    sums = {name: _bill(lines, name) for name in currencies}
    places = money_places([*sums.values(), *lines["cost"].drop_nulls()])
    decimals = {name: decimals_of(name) if places == CENTS else places for name in currencies}
    counts = {column: _sum(lines[column]) for column in COUNTS}
    bills = [_money_row(name, rounded(sums[name], decimals[name])) for name in currencies]
    rows = [bills[0] | counts] if len(bills) == 1 else [_money_row(None, None) | counts, *bills]
    scale = max(decimals.values(), default=CENTS)
    cost = pl.col("rounded_cost").cast(pl.Decimal(38, scale))
    shown = with_rounded_cost(lines, decimals).with_columns(cost=cost).drop("rounded_cost")
    schema = {name: shown.schema[name] for name in rows[0]}
    return pl.concat([shown, pl.DataFrame(rows, schema=schema)], how="diagonal")


def _bill(lines: pl.DataFrame, currency: str) -> Decimal:
    return total(lines.filter(pl.col("currency") == currency)["cost"].drop_nulls().to_list())


def _money_row(currency: str | None, bill: Decimal | None) -> dict[str, Any]:
    return {
        "line": TOTAL,
        "cost": bill,
        "currency": currency,
        "share_ratio": 1.0 if bill else None,
    }


def _sum(column: pl.Series) -> int | float | Decimal | None:
    """The sum of what is known; None where nothing is."""
    known = column.drop_nulls()
    return None if known.is_empty() else known.sum()
