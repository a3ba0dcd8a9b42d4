"""The lines of the law as a reader sees them: a label each, and money that adds up to the bill.

Owns labels and the rounding of a whole table. Refuses to drop a line: what has no price has a
line without money.
"""

from collections.abc import Sequence
from decimal import Decimal

import polars as pl

from dashboard.rounding import decimals_of, rounded, rounded_to_total

IDLE_LABEL = "idle"
UNATTRIBUTED_LABEL = "unattributed"
UNPRICED_LABEL = "unpriced"
LINE_LABELS = {
    "idle": IDLE_LABEL,
    "unattributed": UNATTRIBUTED_LABEL,
    "unpriced": UNPRICED_LABEL,
}
SUMS = (
    "N",
    "input_tokens",
    "output_tokens",
    "gpu_seconds",
    "prefill_gpu_seconds",
    "decode_gpu_seconds",
)
"""Columns of a law frame that may be added up over its lines."""


def labelled(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """`frame` with a column `label`: the group's name, or what the line is."""
    name = pl.concat_str([pl.col(column) for column in by], separator=" · ", ignore_nulls=True)
    return frame.with_columns(
        label=pl.when(pl.col("line") == "calls")
        .then(name)
        .otherwise(pl.col("line").replace(LINE_LABELS))
    )


def with_rounded_cost(frame: pl.DataFrame, currency: str) -> pl.DataFrame:
    """`frame` with `rounded_cost`: to the smallest unit of `currency`, adding up to the total.

    Idle is rounded first and against the rest as a whole, so that it is the same amount in every
    table of one window, however the calls are grouped.
    """
    decimals = decimals_of(currency)
    is_idle = [line == "idle" for line in frame["line"]]
    costs: list[Decimal | None] = frame["cost"].to_list()
    idle = [cost if flag else None for cost, flag in zip(costs, is_idle, strict=True)]
    rest = [None if flag else cost for cost, flag in zip(costs, is_idle, strict=True)]
    split = rounded_to_total([total_of(idle), total_of(rest)], decimals)
    idle_rounded = rounded_to_total(idle, decimals, total=split[0])
    rest_rounded = rounded_to_total(rest, decimals, total=split[1])
    merged = [
        one if flag else other
        for one, other, flag in zip(idle_rounded, rest_rounded, is_idle, strict=True)
    ]
    return frame.with_columns(pl.Series("rounded_cost", merged, dtype=money_type(decimals)))


def total_cost(frame: pl.DataFrame, currency: str) -> Decimal | None:
    """The bill of `frame` in `currency`, rounded; None where no line has a price."""
    exact = total_of(frame["cost"].to_list())
    return None if exact is None else rounded(exact, decimals_of(currency))


def total_of(amounts: Sequence[Decimal | None]) -> Decimal | None:
    """The exact sum of the known amounts; None where none is known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known else None


def money_type(decimals: int) -> pl.Decimal:
    """The column type of rounded money."""
    return pl.Decimal(38, decimals)
