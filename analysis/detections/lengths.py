"""Levers 22 and 42: answers, and prompts, that are longer than nearly all others.

Owns their sentences. A claim on the tokens of an answer beyond the cap is an upper bound: what they
said is lost, and what is cut may be asked for again.
"""

from collections.abc import Mapping

import polars as pl

from analysis.claims import CLAIM_SCHEMA
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.groups import groups_of
from analysis.lengths import length, limits
from analysis.sql import question_named, run_question
from analysis.wording import counted

LEAST_CALLS = 100
"""Fewer answers of an endpoint have no p99 to speak of."""
BEYOND_RATIO = 1.1
"""An endpoint has answers to cap whose longest has so many times the tokens of the p99."""
LONG_TAIL = 3.0
"""A tail is long where the p99 is so many times the median."""
MOST_ENDPOINTS = 3


def output_tails_claims(asked: Asked) -> pl.DataFrame:
    """Of answers longer than the p99 of their endpoint the decode of the tokens beyond it."""
    found = _tails(asked).select(
        "call_no",
        prefill_ratio=pl.lit(0.0),
        decode_ratio=1 - pl.col("cap_tokens") / pl.col("choice_tokens"),
    )
    return found.cast(CLAIM_SCHEMA)


def _tails(asked: Asked) -> pl.DataFrame:
    def read() -> pl.DataFrame:
        groups = groups_of(
            asked.connection,
            asked.configuration,
            by=("endpoint",),
            window=asked.window,
            where=asked.where,
        )
        rows = run_question(
            asked.connection,
            question_named("output_tails"),
            **groups.values(),
            least_calls=LEAST_CALLS,
        )
        is_long = pl.col("longest_tokens") >= BEYOND_RATIO * pl.col("cap_tokens")
        return groups.labelled(rows).filter(is_long)

    return asked.once("output_tails", read)


def _output_cap(asked: Asked) -> Detected:
    if not asked.told["output_count"]:
        return unknown("needs output tokens of calls")
    beyond = _tails(asked)
    missing = None
    if not asked.told["ended_count"]:
        missing = "needs finish reasons, to see whether answers are cut already"
    if beyond.is_empty():
        return no(
            f"no answer is far longer than the p99 of its endpoint, of those with {LEAST_CALLS} "
            "answers or more",
            missing,
        )
    by_endpoint = beyond.group_by("endpoint").agg(
        pl.len(), pl.col("p99_tokens", "longest_tokens").max(),
        over=(pl.col("choice_tokens") - pl.col("cap_tokens")).sum(),
    ).sort("over", "endpoint", descending=[True, False], nulls_last=True)  # fmt: skip
    most = by_endpoint.row(0, named=True)
    evidence = (
        f"{counted(beyond.height, 'answer')} beyond the p99 of the endpoint, most at "
        f"{most['endpoint'] or 'no known endpoint'} (p99 {most['p99_tokens']:,.0f} tokens, longest "
        f"{most['longest_tokens']:,.0f})"
    )
    return yes(evidence, output_tails_claims(asked), beside=_cut(asked), missing=missing)


def _cut(asked: Asked) -> str:
    """How the limits of today stand to these answers, over all calls."""
    row = limits(
        asked.ledger, asked.configuration, by=(), window=asked.window, where=asked.where
    ).frame.row(0, named=True)
    unlimited = f"{counted(row['unlimited_count'], 'call')} without max_tokens"
    return f"{unlimited}, {counted(row['cut_count'], 'answer')} cut by it"


def _limits(asked: Asked) -> Detected:
    """Lever 42: a few prompts or answers are far longer than most of their endpoint."""
    rows = length(asked.ledger, asked.configuration, window=asked.window, where=asked.where).frame
    told = rows.filter(pl.col("known_count") >= LEAST_CALLS, pl.col("p50_tokens") > 0)
    if told.is_empty():
        return unknown(f"needs tokens of {LEAST_CALLS} calls or more of an endpoint")
    ranked = told.with_columns(tail=pl.col("p99_tokens") / pl.col("p50_tokens")).sort(
        "tail", descending=True
    )
    long = ranked.filter(pl.col("tail") >= LONG_TAIL)
    texts = [
        f"{row['measure']} of {row['endpoint'] or 'no known endpoint'} has p99 "
        f"{row['p99_tokens']:,.0f} tokens, {row['tail']:.1f} times the median, the longest "
        f"{row['longest_tokens']:,.0f}"
        for row in (long if long.height else ranked.head(1)).iter_rows(named=True)
    ]
    evidence = str(joined(*texts[:MOST_ENDPOINTS]))
    if long.is_empty():
        return no(f"no tail is long: {evidence}")
    return yes(evidence, missing="needs the model to say what a limit lets into the batch")


DETECTIONS: Mapping[int, Detection] = {22: _output_cap, 42: _limits}
"""By number of the lever."""
