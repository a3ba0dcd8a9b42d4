"""The calendar of a time zone over quarter-hours: which hour, day and month each lies in.

Owns local hours, days and months. A quarter-hour since 1970 lies wholly in one of each in every
zone in use, so no total is ever split below it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from analysis.window import QUARTER_NS, Window

HOUR_FORMAT = "%Y-%m-%dT%H:00%:z"
_PARSED_HOUR = "%Y-%m-%dT%H:%M%:z"


def calendar_of(quarters: Sequence[int], timezone: str) -> pl.DataFrame:
    """`quarter`, `hour` (text with offset), `day` (date) and `month` (`YYYY-MM`) in `timezone`.

    The hour that a clock shows twice in autumn has two offsets, hence two texts. Where the zone
    is 30 or 45 minutes off, an hour begins at that minute of UTC.
    """
    frame = pl.DataFrame({"quarter": pl.Series(quarters, dtype=pl.Int32)})
    local = (
        (pl.col("quarter").cast(pl.Int64) * QUARTER_NS)
        .cast(pl.Datetime("ns"))
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(timezone)
    )
    return frame.with_columns(
        hour=local.dt.strftime(HOUR_FORMAT),
        day=local.dt.date(),
        month=local.dt.strftime("%Y-%m"),
    )


def numbered_times(quarters: Sequence[int], timezone: str, column: str) -> pl.DataFrame:
    """`quarters` with the hour, day or month of each, and its `time_number` in their order."""
    (order,) = in_order([column])
    return calendar_of(quarters, timezone).select(
        "quarter", column, time_number=order.rank("dense").cast(pl.Int32)
    )


def in_order(columns: Iterable[str]) -> list[pl.Expr]:
    """What to sort by, so that `columns` are in order: hours by their instant, not by their text.

    The hour that a clock shows twice has the larger offset first.
    """
    return [
        pl.col(column).str.to_datetime(_PARSED_HOUR) if column == "hour" else pl.col(column)
        for column in columns
    ]


def pieces_of(window: Window, column: str) -> list[tuple[Any, int, int]]:
    """The hours, days or months of `window`: the value of `column`, first and last instant.

    Instants are nanoseconds since 1970; the first and the last piece end where the window does.
    """
    if window.since is None or window.until is None:
        return []
    quarters = range(window.since // QUARTER_NS, -(-window.until // QUARTER_NS))
    spans = (
        calendar_of(quarters, window.timezone)
        .group_by(column, maintain_order=True)
        .agg(first=pl.col("quarter").min(), last=pl.col("quarter").max())
    )
    return [
        (value, max(window.since, first * QUARTER_NS), min(window.until, (last + 1) * QUARTER_NS))
        for value, first, last in spans.iter_rows()
    ]
