"""Which share of a call's prefill each cause of a lost prefix has: the form that levers take.

Owns the columns. Refuses to say which lever is against which cause.
"""

import numpy as np
import polars as pl

from analysis.prefix.losses import CAUSES, parts
from analysis.prefix.orders import Orders

AVOIDABLE = ("unexplained", "eviction", "routing")
"""The causes for which a lever need not change a prompt."""


def avoidable_tokens(orders: Orders) -> pl.DataFrame:
    """A row a call asked for whose prompt is known: its tokens by cause, and those computed.

    `is_told` says whether it tells what it read from a cache, `has_replica` which replica it had.
    """
    found = parts(orders)
    is_asked = orders.is_asked & orders.is_known
    columns = {name: found[:, CAUSES.index(name)] for name in AVOIDABLE}
    frame = orders.calls.select(
        "call_no", has_replica=pl.col("replica").is_not_null()
    ).with_columns(
        computed=pl.Series(orders.computed_tokens.astype(np.int64)),
        is_told=pl.Series(~np.isnan(orders.told_tokens)),
        **{name: pl.Series(tokens) for name, tokens in columns.items()},
    )
    return frame.filter(pl.Series(is_asked))


def claims_of(tokens: pl.DataFrame, cause: str) -> pl.DataFrame:
    """What of the prefill of each call in `tokens` that cause is."""
    lost = tokens.filter((pl.col(cause) > 0) & (pl.col("computed") > 0))
    return lost.select(
        pl.col("call_no").cast(pl.Int64),
        prefill_ratio=(pl.col(cause) / pl.col("computed")).clip(0.0, 1.0),
        decode_ratio=pl.lit(0.0),
    )
