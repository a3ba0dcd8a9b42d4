"""From a line of the law to the calls behind it.

Owns which lines have calls behind them and the condition that selects those. Refuses idle time:
no call is behind it.
"""

import polars as pl

NO_LINE = "choose a line"
UNATTRIBUTED = "unattributed"


def line_choices(frame: pl.DataFrame, by: str) -> dict[str, str | None]:
    """Label to value of `by` of each line that has calls, in the order of `frame`."""
    with_calls = frame.filter(pl.col("line").is_in(["calls", UNATTRIBUTED]))
    return {UNATTRIBUTED if value is None else value: value for value in with_calls[by]}
