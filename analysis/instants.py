"""Instants as text, for answers that leave the ledger.

Owns the text of an instant in a frame: RFC 3339 with nine decimals, so that nothing is rounded.
"""

from collections.abc import Sequence

import polars as pl

from ingest.calls.timing import LATEST_AT

INSTANT_FORMAT = "%Y-%m-%dT%H:%M:%S%.9f%:z"


def with_instant_texts(frame: pl.DataFrame, columns: Sequence[str], timezone: str) -> pl.DataFrame:
    """`frame` with `columns`, nanoseconds since 1970, as text in `timezone`.

    One that lies where no ledger can hold it is null: the bound that is kept for it is no time.
    """
    return frame.with_columns(
        pl.when(pl.col(column).abs() < LATEST_AT)
        .then(pl.col(column))
        .cast(pl.Datetime("ns"))
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(timezone)
        .dt.strftime(INSTANT_FORMAT)
        .alias(column)
        for column in columns
    )
