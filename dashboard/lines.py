"""The lines of the law as a reader sees them: a label each, and money that adds up to the bill.

Owns labels and the rounding of a whole table. Refuses to drop a line (what has no price has a
line without money) and to add amounts of different currencies.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import polars as pl

from analysis.money import total_of
from dashboard.rounding import decimals_of, rounded, rounded_to_total

IDLE_LABEL = "idle"
MOST_DECIMALS = 3
SEPARATOR = " · "


def labelled(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """`frame` with a column `label`: the group's name, or what the line is."""
    name = pl.concat_str([pl.col(column) for column in by], separator=SEPARATOR)
    is_group = pl.col("line") == "calls"
    return frame.with_columns(label=pl.when(is_group).then(name).otherwise(pl.col("line")))


def labelled_with_pool(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The same, with the pool beside idle time: "idle (chat)"."""
    of_pool = pl.format("{} ({})", pl.lit(IDLE_LABEL), pl.col("pool"))
    has_pool = (pl.col("line") == "idle") & pl.col("pool").is_not_null()
    return labelled(frame, by).with_columns(
        label=pl.when(has_pool).then(of_pool).otherwise(pl.col("label"))
    )


def with_rounded_cost(
    frame: pl.DataFrame, decimals: Mapping[str, int] | None = None
) -> pl.DataFrame:
    """`frame` with `rounded_cost`: to the smallest unit of each currency, adding up to its total.

    Every page, document and printed table rounds by this, over all lines of a window. Idle is
    rounded first and against the rest as a whole, so that it is the same amount in every table of
    one window, however the calls are grouped. `decimals` by currency are those of its smallest
    unit where they are not given.
    """
    places_of = decimals or {}
    result: list[Decimal | None] = [None] * frame.height
    rows = list(zip(frame["currency"], frame["line"], frame["cost"], strict=True))
    for currency in frame["currency"].drop_nulls().unique():
        places = [index for index, row in enumerate(rows) if row[0] == currency]
        idle = [index for index in places if rows[index][1] == "idle"]
        rest = [index for index in places if rows[index][1] != "idle"]
        digits = places_of.get(currency, decimals_of(currency))
        parts = [[rows[index][2] for index in group] for group in (idle, rest)]
        wholes = rounded_to_total([total_of(part) for part in parts], digits)
        for group, part, whole in zip((idle, rest), parts, wholes, strict=True):
            amounts = rounded_to_total(part, digits, total=whole)
            for index, amount in zip(group, amounts, strict=True):
                result[index] = amount
    scale = max(MOST_DECIMALS, *places_of.values(), 0)
    return frame.with_columns(pl.Series("rounded_cost", result, dtype=pl.Decimal(38, scale)))


def total_cost(frame: pl.DataFrame, currency: str) -> Decimal | None:
    """The bill of `frame` in `currency`, rounded; None where no line has a price in it."""
    exact = total_of(frame.filter(pl.col("currency") == currency)["cost"].to_list())
    return None if exact is None else rounded(exact, decimals_of(currency))


def idle_cost(frame: pl.DataFrame, currency: str) -> Decimal | None:
    """The rounded cost of idle time in `currency`; None where none is known."""
    of_idle = (pl.col("line") == "idle") & (pl.col("currency") == currency)
    return total_of(with_rounded_cost(frame).filter(of_idle)["rounded_cost"].to_list())


def other_currencies(frame: pl.DataFrame, currency: str) -> dict[str, Decimal]:
    """The bills of `frame` in currencies other than `currency`; they are part of no total."""
    others = frame["currency"].drop_nulls().unique().sort().to_list()
    totals = {other: total_cost(frame, other) for other in others if other != currency}
    return {other: amount for other, amount in totals.items() if amount is not None}
