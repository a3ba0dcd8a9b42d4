"""Spend over time as few enough series to be told apart.

Owns which lines keep a series of their own. Refuses to lose money: what has none is in OTHERS.
"""

from dataclasses import dataclass

import polars as pl

from dashboard.lines import IDLE_LABEL

KEPT_SERIES = 8
OTHERS = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendByDay:
    """Cost by day and label; `labels` is the order of the stack, the largest first, idle last."""

    frame: pl.DataFrame
    """Columns `day` (date), `label` (text), `cost` (decimal), one row a day and label."""
    labels: tuple[str, ...]
    currency: str
    window_text: str


def spend_by_day(
    frame: pl.DataFrame, *, currency: str, window_text: str, kept: int = KEPT_SERIES
) -> SpendByDay:
    """The series of `frame` (`day`, `label`, `cost`, `currency`) that are in `currency`.

    The largest have a series of their own, `kept` at most; what is beyond is OTHERS.
    """
    known = frame.filter(pl.col("cost").is_not_null() & (pl.col("currency") == currency))
    totals = (
        known.filter(pl.col("label") != IDLE_LABEL)
        .group_by("label")
        .agg(pl.col("cost").sum())
        .sort(["cost", "label"], descending=[True, False])
    )
    ranked = totals["label"].to_list()
    is_folded = len(ranked) > kept
    own = ranked[: kept - 1] if is_folded else ranked
    idle = [IDLE_LABEL] if (known["label"] == IDLE_LABEL).any() else []
    labels = [*own, *([OTHERS] if is_folded else []), *idle]
    is_own = pl.col("label").is_in([*own, *idle])
    summed = (
        known.with_columns(pl.when(is_own).then(pl.col("label")).otherwise(pl.lit(OTHERS)))
        .group_by("day", "label")
        .agg(pl.col("cost").sum())
        .sort("day", "label")
    )
    return SpendByDay(
        frame=summed, labels=tuple(labels), currency=currency, window_text=window_text
    )
