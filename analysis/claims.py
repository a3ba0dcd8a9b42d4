"""Which share of a call would not have happened: the form in which a question tells what it found.

Owns the columns. Refuses to price them: `analysis/savings.py` does, so that nothing is saved twice.
"""

import polars as pl

CLAIM_SCHEMA = pl.Schema(
    {"call_no": pl.Int64, "prefill_ratio": pl.Float64, "decode_ratio": pl.Float64}
)
"""A call once; the share of its charged prefill, that is of its uncached input, and of its decode,
that is of its output, from 0 to 1."""


def whole_calls(call_nos: pl.Series) -> pl.DataFrame:
    """Claims on all of these calls."""
    numbers = call_nos.drop_nulls().cast(pl.Int64).unique().sort()
    return pl.DataFrame({"call_no": numbers}).with_columns(
        prefill_ratio=pl.lit(1.0), decode_ratio=pl.lit(1.0)
    )


def no_claims() -> pl.DataFrame:
    """Claims on no call."""
    return pl.DataFrame(schema=CLAIM_SCHEMA)
