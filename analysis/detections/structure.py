"""Levers 5 to 7 and 21: how calls depend on each other, and on nothing.

Owns their sentences.
"""

from collections.abc import Mapping

import polars as pl

from analysis.batch_lane import LOOK_NOTE, batch_lane
from analysis.chains import PROOF, claims_of_linked, linked_calls
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.few_outputs import few_outputs, few_outputs_claims
from analysis.repetition import HOW_TO_KNOW, not_compared
from analysis.siblings import STEPS, siblings
from analysis.wording import counted

MOST_ENDPOINTS = 3


def _merge(asked: Asked) -> Detected:
    """Lever 5: calls right after another one, whose prompts begin with what was said there."""
    if not asked.told["scoped_count"]:
        return unknown("needs traces or conversations around calls")
    linked = linked_calls(asked.ledger, asked.configuration, window=asked.window, where=asked.where)
    claims = claims_of_linked(linked)
    proven_count = linked.filter(pl.col("evidence") == PROOF).height
    signs = linked.height - proven_count
    sign = (
        f"{counted(signs, 'call')} may be such by the lengths of prompts and answers"
        if signs
        else None
    )
    unhashed = asked.told["call_count"] - asked.told["prefix_count"]
    missing = (
        f"not compared but by length: {counted(unhashed, 'call')} without prefix hashes"
        if unhashed
        else None
    )
    if claims.is_empty():
        if sign is None and asked.told["prefix_count"] == 0:
            return unknown("needs prompts or prefix hashes")
        return no(str(joined("no call begins with the prompt and answer before it", sign)), missing)
    evidence = (
        f"{counted(proven_count, 'call')} right after another one, whose prompts begin with its "
        "prompt and answer"
    )
    return yes(evidence, claims, beside=sign, missing=missing)


def _no_model(asked: Asked) -> Detected:
    """Lever 6: endpoints whose answers take few values."""
    rows = few_outputs(asked.ledger, asked.configuration, **asked.choice).frame
    untold = int(rows["untold_count"].sum())
    missing = (
        f"not compared: {counted(untold, 'answered call')} without a hash of the answer; "
        f"{HOW_TO_KNOW['answers']}"
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
    claims = few_outputs_claims(asked.ledger, asked.configuration, **asked.choice)
    return yes(str(joined(*texts)), claims, missing=missing)


def _batch_lane(asked: Asked) -> Detected:
    """Lever 21: work that nobody waits for."""
    rows = batch_lane(
        asked.ledger, asked.configuration, window=asked.window, where=asked.where
    ).frame
    untold = int(rows.filter(pl.col("lane") == "unknown")["call_count"].sum())
    missing = (
        f"not told who waits for {counted(untold, 'call')}: send their traces" if untold else None
    )
    batch = rows.filter(pl.col("lane") == "batch")
    if batch.is_empty():
        if untold:
            return unknown(f"needs traces: {missing}")
        return no("somebody waits for the calls of each endpoint", missing)
    texts = [
        f"nobody waits for {row['endpoint'] or 'calls of no known endpoint'}: "
        f"{counted(row['call_count'], 'call')}, {row['gpu_seconds'] or 0:,.0f} GPU-seconds, told "
        f"by {row['evidence']}"
        for row in batch.head(MOST_ENDPOINTS).to_dicts()
    ]
    needs = "needs the model with two lanes to say what it saves"
    return yes(str(joined(*texts)), beside=LOOK_NOTE, missing=joined(needs, missing))


def _parallel(asked: Asked) -> Detected:
    """Lever 7: steps one after the other that need nothing of each other."""
    rows = siblings(asked.ledger, asked.configuration, window=asked.window, where=asked.where).frame
    missing = joined(*not_compared(asked.hashes, *STEPS))
    if rows.is_empty() or not rows["gained_s"].sum():
        if not any(asked.hashes[kind].told_count for kind in STEPS):
            return unknown(str(missing))
        return no("no steps of a trace could run side by side and shorten it", missing)
    texts = [
        f"{row['gained_s']:,.1f} s of {row['endpoint'] or 'no known endpoint'} by "
        f"{row['kind']} steps side by side, told by {row['evidence']}"
        for row in rows.head(MOST_ENDPOINTS).to_dicts()
    ]
    return yes(
        str(joined(*texts)),
        beside="waiting time on the critical path, no GPU time",
        missing=missing,
    )


DETECTIONS: Mapping[int, Detection] = {
    5: _merge,
    6: _no_model,
    7: _parallel,
    21: _batch_lane,
}
"""By number of the lever."""
