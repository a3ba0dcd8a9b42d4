"""Why tokens of a prompt were computed that a cache could have held: the parts of its input.

Owns the causes and their order. Refuses a part below 0, and a token in two parts: from the first
token on, each cache that is one condition better holds a longer beginning of the prompt.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.prefix.caches import Floats, Lookups
from analysis.prefix.engines import cache_numbers
from analysis.prefix.orders import Orders
from analysis.sql import question_named, run_in_batches
from ingest.ledger import Connection

Whole = npt.NDArray[np.int64]

CAUSES = (
    "hit",
    "unexplained",
    "eviction",
    "routing",
    "volatile",
    "first_use",
    "unshared",
    "unknown",
)
"""What became of the tokens of prompts, in the order of the parts of a prompt."""
BATCH_PIECES = 100_000
"""Sums of so many charges fit into 64 bits."""


def parts(orders: Orders) -> Whole:
    """Tokens of each call by cause, of shape (calls, causes); each row adds up to its input.

    - hit: read from a cache; where the call does not tell, what the cache of its replica holds
    - unexplained: held by that cache, and yet not read
    - eviction: held if the cache of the replica had no limit
    - routing: held if all replicas shared one
    - volatile: held if what looks volatile stood behind all other text
    - first_use: first sent here, and shared with a later call
    - unshared: in no other prompt's beginning
    - unknown: the prompt, its time or its input is not told
    """
    calls = orders.calls
    inputs = calls["input_tokens"].fill_null(0).to_numpy()
    pool = cache_numbers(calls, "pool")
    edges = [
        orders.now_tokens,
        orders.hit_tokens(orders.nearest.seen()),
        orders.hit_tokens(Lookups(orders.prompts, pool).seen()),
    ]
    stable = Lookups(orders.stable, pool)
    edges += [orders.hit_tokens(stable.seen()), orders.hit_tokens(stable.shared()), inputs]
    told = np.clip(orders.told_tokens, 0, inputs)
    reached = np.where(np.isnan(told), edges[0], told).astype(np.int64)
    found = np.zeros((calls.height, len(CAUSES)), dtype=np.int64)
    found[:, 0] = reached
    for place, edge in enumerate(edges, start=1):
        further = np.maximum(reached, edge.astype(np.int64))
        found[:, place] = further - reached
        reached = further
    found[~orders.is_known] = 0
    found[~orders.is_known, -1] = inputs[~orders.is_known]
    return found


def portions(found: Whole) -> Floats:
    """The share of what a call's prefill cost up to each cause, of shape (calls, causes).

    It is spread over the tokens that were computed. Where none was, all of it is `unshared`, or
    `unknown`.
    """
    computed = found.copy()
    computed[:, 0] = 0
    none = computed.sum(axis=1) == 0
    computed[none, -2] = 1
    up_to = np.cumsum(computed, axis=1)
    return up_to / up_to[:, -1:]


def prefill_by_cause(
    connection: Connection, calls: pl.DataFrame, shares: Floats, cohort_ids: list[int]
) -> pl.DataFrame:
    """GPU-picoseconds of prefill by `key` of `calls`, rate and cause; `shares` as `portions`.

    `calls` has `call_no` and `key`, a row for each of `shares`. Every piece is cut so that its
    parts add up to it exactly.
    """
    schema = {"key": pl.Int64, "rate_id": pl.Int64, "cause": pl.String, "prefill_ps": pl.Int128}
    sums = list(_sums(connection, calls, shares, cohort_ids))
    if not sums:
        return pl.DataFrame(schema=schema)
    whole = pl.concat(sums).group_by("key", "rate_id").agg(pl.col(CAUSES).sum())
    return (
        whole.unpivot(CAUSES, index=["key", "rate_id"], variable_name="cause")
        .rename({"value": "prefill_ps"})
        .cast(schema)  # type: ignore[arg-type]
    )


def _sums(
    connection: Connection, calls: pl.DataFrame, shares: Floats, cohort_ids: list[int]
) -> Iterator[pl.DataFrame]:
    call_nos, keys = calls["call_no"].to_numpy(), calls["key"].to_numpy()
    places = np.full(int(call_nos.max(initial=-1)) + 2, -1, dtype=np.int64)
    places[call_nos] = np.arange(len(call_nos))
    question = question_named("charged_pieces")
    for batch in run_in_batches(connection, question, BATCH_PIECES, cohort_ids=cohort_ids):
        numbers = np.minimum(batch["call_no"].to_numpy(), len(places) - 1)
        at = places[numbers]
        is_asked = at >= 0
        prefill = batch["prefill_ps"].to_numpy()[is_asked]
        up_to = np.floor(prefill[:, None] * shares[at[is_asked]]).astype(np.int64)
        up_to[:, -1] = prefill
        own = np.diff(np.minimum(up_to, prefill[:, None]), axis=1, prepend=0)
        frame = pl.DataFrame(own, schema=list(CAUSES)).with_columns(
            key=pl.Series(keys[at[is_asked]]),
            rate_id=batch["rate_id"].filter(pl.Series(is_asked)),
        )
        yield frame.group_by("key", "rate_id").agg(pl.col(CAUSES).sum().cast(pl.Int128))
