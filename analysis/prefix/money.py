"""What parts of the prefill of calls come to: GPU-picoseconds, and money.

Owns the cut of each charge into parts that add up to it. Refuses to add currencies.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
import polars as pl

from analysis.money import gpu_cost, rounded
from analysis.prefix.caches import Floats
from analysis.sql import question_named, run_in_batches
from ingest.charging.pools import rates_in
from ingest.ledger import Connection

COST = pl.Decimal(38, 9)
BATCH_PIECES = 100_000
"""Sums of so many charges fit into 64 bits."""


def prefill_parts(
    connection: Connection,
    calls: pl.DataFrame,
    shares: Floats,
    names: Sequence[str],
    cohort_ids: list[int],
) -> pl.DataFrame:
    """Parts of the prefill by `key` of `calls`: columns `key`, `part`, `gpu_ps`, cost, currency.

    `calls` has `call_no` and `key`. `shares` of shape (calls, parts) is what of each call's prefill
    lies in its parts up to this one; the last of `names` takes the rest. Cost is null without a
    price, and where it is in several currencies.
    """
    sums = list(_sums(connection, calls, shares, names, cohort_ids))
    schema = {"key": pl.Int64, "rate_id": pl.Int64, "part": pl.String, "gpu_ps": pl.Int128}
    long = pl.DataFrame(schema=schema)
    if sums:
        whole = pl.concat(sums).group_by("key", "rate_id").agg(pl.col(names).sum())
        long = whole.unpivot(
            names, index=["key", "rate_id"], variable_name="part", value_name="gpu_ps"
        )
    paid = with_costs(connection, long, ["key", "part"])
    is_one = pl.col("currency").drop_nulls().n_unique() == 1
    return paid.group_by("key", "part").agg(
        gpu_ps=pl.col("gpu_ps").sum(),
        cost=pl.when(is_one).then(pl.col("cost").sum()),
        currency=pl.when(is_one).then(pl.col("currency").drop_nulls().first()),
    )


def _sums(
    connection: Connection,
    calls: pl.DataFrame,
    shares: Floats,
    names: Sequence[str],
    cohort_ids: list[int],
) -> Iterator[pl.DataFrame]:
    call_nos, keys = calls["call_no"].to_numpy(), calls["key"].to_numpy()
    places = np.full(int(call_nos.max(initial=-1)) + 2, -1, dtype=np.int64)
    places[call_nos] = np.arange(len(call_nos))
    question = question_named("charged_pieces")
    for batch in run_in_batches(connection, question, BATCH_PIECES, cohort_ids=cohort_ids):
        at = places[np.minimum(batch["call_no"].to_numpy(), len(places) - 1)]
        is_asked = at >= 0
        prefill = batch["prefill_ps"].to_numpy()[is_asked]
        up_to = np.floor(prefill[:, None] * shares[at[is_asked]]).astype(np.int64)
        up_to[:, -1] = prefill
        own = np.diff(np.minimum(up_to, prefill[:, None]), axis=1, prepend=0)
        frame = pl.DataFrame(own, schema=list(names)).with_columns(
            key=pl.Series(keys[at[is_asked]]),
            rate_id=batch["rate_id"].filter(pl.Series(is_asked)).cast(pl.Int64),
        )
        yield frame.group_by("key", "rate_id").agg(pl.col(names).sum().cast(pl.Int128))


def with_costs(connection: Connection, sums: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """`sums` by `keys`, with `gpu_ps` and `rate_id`, as one row a key and currency.

    Columns: `keys`, `currency`, `gpu_ps`, `cost`; currency and cost are null without a price.
    """
    rates = {rate.rate_id: rate for rate in rates_in(connection)}
    whole: dict[tuple[object, ...], tuple[int, Decimal | None]] = {}
    for *key, rate_id, gpu_ps in sums.select(*keys, "rate_id", "gpu_ps").iter_rows():
        rate = rates[rate_id]
        price = rate.price_per_gpu_hour
        place = (*key, rate.currency if price is not None else None)
        before_ps, before_cost = whole.get(place, (0, None))
        cost = None if price is None else (before_cost or Decimal(0)) + gpu_cost(gpu_ps, price)
        whole[place] = (before_ps + gpu_ps, cost)
    rows = [
        (*place, gpu_ps, None if cost is None else rounded(cost))
        for place, (gpu_ps, cost) in whole.items()
    ]
    schema = {name: sums.schema[name] for name in keys}
    return pl.DataFrame(
        rows,
        schema={**schema, "currency": pl.String, "gpu_ps": pl.Int128, "cost": COST},
        orient="row",
    )
