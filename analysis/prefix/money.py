"""What GPU-picoseconds by rate come to: GPU-seconds, and money by currency.

Owns the step from rates to rows of an answer. Refuses to add currencies.
"""

from decimal import Decimal

import polars as pl

from analysis.money import gpu_cost, rounded
from ingest.charging.pools import rates_in
from ingest.ledger import Connection

COST = pl.Decimal(38, 9)


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
