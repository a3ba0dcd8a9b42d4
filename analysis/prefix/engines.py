"""Which calls share a cache, and how many tokens it has room for.

Owns the engines of calls, their caches by reach, and the way from a pool to its KV memory. Refuses
to guess a size: a cache of which nobody tells it has no limit.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from analysis.capacity.sizes import kv_cache_sizes
from analysis.prefix.caches import Floats
from analysis.prefix.distances import NEVER, Integers
from analysis.selection import read_cohorts
from ingest.config import Configuration
from ingest.ledger import Connection

ENGINE = ("pool", "provider", "model", "adapter")
"""Calls that differ in one of these share no cache."""
IS_KNOWN = (pl.col("block_count") > 0) & pl.col("served_at").is_not_null()
"""Whether the prompt and the time of a call are told."""


def numbered_engines(connection: Connection, origin: str | None) -> pl.DataFrame:
    """All cohorts of `origin`, with the `engine_number` of the engine that they ran on."""
    return read_cohorts(connection, {"origin": origin}).with_columns(
        engine_number=pl.struct(ENGINE).rank("dense").cast(pl.Int64)
    )


def cache_numbers(calls: pl.DataFrame, reach: str) -> Integers:
    """Through which cache each call goes; `NEVER` where that is not known.

    `reach` is "pool", one cache for all replicas; "replica", one in each; or "nearest", one in each
    replica, and one for the calls of an engine that tell none.
    """
    shared = ["engine_number", "prefix_block_tokens"]
    is_known = IS_KNOWN
    if reach == "replica":
        is_known &= pl.col("replica").is_not_null()
    key = pl.struct(shared if reach == "pool" else [*shared, "replica"])
    number = pl.when(is_known).then(key.rank("dense").cast(pl.Int64)).otherwise(NEVER)
    return calls.select(number).to_series().to_numpy()


def capacities(
    connection: Connection, configuration: Configuration, capacity_tokens: int | None = None
) -> Mapping[str, int] | int:
    """`capacity_tokens` of each cache, else pool to the tokens of its KV memory, where told."""
    if capacity_tokens is not None:
        return capacity_tokens
    return kv_cache_sizes(connection, configuration)


def rooms(calls: pl.DataFrame, engines: pl.DataFrame, sizes: Mapping[str, int]) -> Floats:
    """The tokens that the cache of each call has room for; infinite where it is not known."""
    room_of = engines.select(
        "engine_number",
        room=pl.col("pool").replace_strict(
            list(sizes), list(sizes.values()), default=None, return_dtype=pl.Float64
        ),
    )
    found = calls.select("engine_number").join(
        room_of.unique("engine_number"), on="engine_number", how="left", maintain_order="left"
    )
    return found["room"].fill_null(np.inf).to_numpy()
