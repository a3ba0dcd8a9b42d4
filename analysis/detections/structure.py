"""Levers 5 to 7 and 21: how calls depend on each other, and on nothing.

Owns their sentences.
"""

from collections.abc import Mapping

import polars as pl

from analysis.detections.detected import Asked, Detected, Detection, joined, no, yes
from analysis.few_outputs import few_outputs, few_outputs_claims
from analysis.wording import counted

MOST_ENDPOINTS = 3


def _no_model(asked: Asked) -> Detected:
    """Lever 6: endpoints whose answers take few values."""
    told = {"window": asked.window, "where": asked.where}
    rows = few_outputs(asked.ledger, asked.configuration, **told).frame
    untold = int(rows["untold_count"].sum())
    missing = (
        f"not compared: {counted(untold, 'answered call')} without a hash of the answer"
        if untold
        else None
    )
    few = rows.filter(pl.col("is_few"))
    if few.is_empty():
        return no("no endpoint is answered with few values", missing)
    texts = [
        f"{row['endpoint'] or 'no known endpoint'} is answered with {row['distinct_count']:,} "
        f"values, ten of which cover {row['top_10_ratio']:.1%} of "
        f"{counted(row['told_count'], 'call')}"
        for row in few.head(MOST_ENDPOINTS).iter_rows(named=True)
    ]
    claims = few_outputs_claims(asked.ledger, asked.configuration, **told)
    return yes(str(joined(*texts)), claims, missing=missing)


DETECTIONS: Mapping[int, Detection] = {6: _no_model}
"""By number of the lever."""
