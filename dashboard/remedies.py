"""Why calls have no price, and what a reader does about it.

Owns the step that follows each reason. Refuses to count: the calls come from `analysis`.
"""

from collections.abc import Mapping

import polars as pl

UNKNOWN_MODEL = "not known"
REMEDIES: Mapping[str, str] = {
    "no pool and no price by the token": (
        "configure it: in models of a [[pools]] entry, or as a [[token_prices]] entry"
    ),
    "its pool has no price": "configure price_per_gpu_hour in the [[pools]] entry of its pool",
    "its pool has no price for a part of its time": (
        "configure a [[pools]] entry of its pool whose from is before the call"
    ),
    "its times are not known": "send its start and end: they place it in time and on a GPU",
    "its times contradict each other": "compare the clocks that stamped its start and its end",
    "its times lie outside of the years 1823 to 2116": "compare the unit in which they are sent",
    "its input tokens are not known": "send gen_ai.usage.input_tokens, or input_tokens",
    "its output tokens are not known": "send gen_ai.usage.output_tokens, or output_tokens",
}
"""What to do, by the reason that `check` gives."""
OTHERWISE = "see why no price in its calls"


def with_remedies(unpriced: pl.DataFrame) -> pl.DataFrame:
    """`unpriced` (`model`, `reason`, `call_count`) with what to do about each row."""
    remedy = pl.col("reason").replace_strict(
        list(REMEDIES), list(REMEDIES.values()), default=OTHERWISE
    )
    return unpriced.select(
        "call_count", "reason", remedy.alias("remedy"), pl.col("model").fill_null(UNKNOWN_MODEL)
    )
