"""From a line of the law to the calls behind it.

Owns which lines have calls behind them and what selects those. Refuses idle time: no call is
behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

NO_LINE = "choose a line"
UNATTRIBUTED = "unattributed"
WITHOUT_PRICE = "unpriced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """The calls behind a line: a condition; or, `unpriced_count` of them, those without a price."""

    where: Mapping[str, str | None]
    unpriced_count: int | None = None


def line_choices(
    frame: pl.DataFrame, by: str, where: Mapping[str, str | None]
) -> dict[str, Behind]:
    """Label to calls of each line of `frame` that has some; `where` is what selected them all."""
    with_calls = frame.filter(
        pl.col("line").is_in(["calls", UNATTRIBUTED]), pl.col("N").is_not_null()
    )
    choices = {
        UNATTRIBUTED if value is None else value: Behind(where={**where, by: value})
        for value in with_calls[by]
    }
    unpriced = frame.filter(pl.col("cost").is_null() & (pl.col("line") != "idle"))
    if unpriced.height:
        count = int(unpriced["N"].sum())
        choices[WITHOUT_PRICE] = Behind(where=where, unpriced_count=count)
    return choices
