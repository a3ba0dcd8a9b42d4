"""The totals below a table of the law: a row for each currency, equal to the rows above it.

Owns the rounding of such a table. Refuses to add amounts of different currencies, and letters,
which are ratios. CSV and JSON have no totals: there, lines are what a program adds up itself.
"""

from decimal import Decimal

import polars as pl

from analysis.money import rounded, rounded_to_total, total
from gpuledger.output import money_places

TOTAL = "total"
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

    A total for each currency; calls, GPU-seconds and tokens of all lines stand in the first.
    """
    currencies = lines["currency"].drop_nulls().unique(maintain_order=True).to_list()
    exact = {name: _amounts(lines, name) for name in currencies}
    sums = {name: total(list(amounts.values())) for name, amounts in exact.items()}
    places = money_places([*sums.values(), *lines["cost"].drop_nulls()])
    quantum = Decimal(1).scaleb(-places)
    costs: list[Decimal | None] = [None] * lines.height
    rows = []
    for number, name in enumerate(currencies or [None]):
        bill = rounded(sums[name], quantum) if name in sums else None
        if bill is not None:
            shown = rounded_to_total(list(exact[name].values()), bill, quantum)
            for place, cost in zip(exact[name], shown, strict=True):
                costs[place] = cost
        counts = {column: _sum(lines[column]) for column in COUNTS} if number == 0 else {}
        share = 1.0 if bill else None
        rows.append({"line": TOTAL, "cost": bill, "currency": name, "share_ratio": share, **counts})
    schema = {name: lines.schema[name] for name in rows[0]}
    totals = pl.DataFrame(rows, schema=schema)
    rounded_lines = lines.with_columns(pl.Series("cost", costs, dtype=lines.schema["cost"]))
    return pl.concat([rounded_lines, totals], how="diagonal")


def _amounts(lines: pl.DataFrame, currency: str) -> dict[int, Decimal]:
    """The known costs in `currency`, by the number of their row."""
    cells = zip(lines["currency"], lines["cost"], strict=True)
    return {
        place: cost
        for place, (found, cost) in enumerate(cells)
        if found == currency and cost is not None
    }


def _sum(column: pl.Series) -> int | float | Decimal | None:
    """The sum of what is known; None where nothing is."""
    known = column.drop_nulls()
    return None if known.is_empty() else known.sum()
