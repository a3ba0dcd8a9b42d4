"""Levers 31, 33 to 35 and 43: the model and the engine behind a pool, as far as calls tell.

Owns their sentences. Refuses to say what another model or kernel would give: that takes a replay or
an endpoint to compare with.
"""

from collections.abc import Mapping

import polars as pl

from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.law import law
from analysis.selection import read_cohorts
from analysis.sql import question_named, run_question
from analysis.wording import counted

SMALL_BATCH = 16
"""With so few calls at once each step reads the weights for few tokens: every GPU of today does
hundreds of operations in the time in which it reads a byte, so its memory is what decode waits
for."""
FEW_AT_ONCE = 8
"""With so few calls at once a step has arithmetic to spare for tokens that may be rejected."""
DECODE_RATIO = 0.5
WORTH_GPU_SECONDS = 3_600
"""Less decode than a GPU-hour in the window is not worth another model's tests."""
NOT_BOUND = (
    "decode is not what most GPU-seconds go to, is less than a GPU-hour, or many calls run at once"
)
NOTHING_ATTRIBUTED = "a candidate by its small B, no saving is attributed"
MOST_ROWS = 3
NO_PHASES = "needs calls that are charged by GPU-seconds, with their prefill and decode"


def _pools(asked: Asked) -> pl.DataFrame:
    """The lines of the law of calls on GPUs, by pool and model, those with most decode first."""

    def read() -> pl.DataFrame:
        answer = law(
            asked.ledger,
            asked.configuration,
            by=("pool", "model"),
            window=asked.window,
            where=asked.where,
        )
        return answer.frame.filter(
            (pl.col("line") == "calls") & (pl.col("basis") == "gpu"), pl.col("gpu_seconds") > 0
        ).sort("decode_gpu_seconds", descending=True)

    return asked.once("law", read)


def _bound_by_memory(asked: Asked, most_calls: int) -> tuple[str | None, str]:
    """Of which models decode waits for memory, or None; and all models in words."""
    rows = _pools(asked).with_columns(
        decode_ratio=pl.col("decode_gpu_seconds") / pl.col("gpu_seconds")
    )
    found, told = [], []
    for row in rows.iter_rows(named=True):
        if row["B"] is None:
            continue
        text = (
            f"{row['model'] or 'a model without name'} on {row['pool']}: B {row['B']:.1f}, "
            f"{row['decode_ratio']:.0%} of {row['gpu_seconds']:,.0f} GPU-seconds are decode"
        )
        told.append(text)
        is_worth = row["decode_gpu_seconds"] >= WORTH_GPU_SECONDS
        if row["B"] < most_calls and row["decode_ratio"] >= DECODE_RATIO and is_worth:
            found.append(text)
    return joined(*found[:MOST_ROWS]), str(joined(*told[:MOST_ROWS]))


def _weights(asked: Asked) -> Detected:
    if _pools(asked).is_empty():
        return unknown(NO_PHASES)
    found, told = _bound_by_memory(asked, SMALL_BATCH)
    if found is None:
        return no(f"{NOT_BOUND}: {told}")
    return yes(
        found,
        beside=f"{NOTHING_ATTRIBUTED}: a replay or an endpoint with the quality gate decides",
        missing="needs a replay or an endpoint with the quality gate",
    )


def _speculation(asked: Asked) -> Detected:
    if _pools(asked).is_empty():
        return unknown(NO_PHASES)
    found, told = _bound_by_memory(asked, FEW_AT_ONCE)
    if found is None:
        return no(f"{NOT_BOUND}: {told}")
    return yes(
        found,
        beside=(
            f"{NOTHING_ATTRIBUTED}: the acceptance rate decides, and the gain vanishes as B grows"
        ),
        missing="needs the acceptance rate, which a replay or an endpoint measures",
    )


def _kernels(asked: Asked) -> Detected:
    return unknown(
        "needs the time of each step and the roofline of its GPU, or an endpoint to compare with",
        _volume(asked),
    )


def _parallelism(asked: Asked) -> Detected:
    return unknown(
        "needs the size of the model and the memory and links of its GPUs, or an endpoint to "
        "compare with",
        _volume(asked),
    )


def _volume(asked: Asked) -> str | None:
    """The model with most GPU-seconds."""
    rows = _pools(asked)
    if rows.is_empty():
        return None
    row = rows.sort("gpu_seconds", descending=True).row(0, named=True)
    return (
        f"most is {row['model'] or 'a model without name'} on {row['pool']}: "
        f"{counted(row['N'], 'call')}, {row['gpu_seconds']:,.0f} GPU-seconds"
    )


def _routing(asked: Asked) -> Detected:
    """Lever 43: calls of several regions, or adapters that a replica switches between."""
    cohorts = read_cohorts(asked.connection, asked.filters)
    counts = {name: cohorts[name].drop_nulls().n_unique() for name in ("region", "adapter")}
    if not any(counts.values()):
        return unknown("needs the region or the adapter of calls, and their replica")
    told = f"{counted(counts['region'], 'region')}, {counted(counts['adapter'], 'adapter')}"
    missing = "needs the round trip to each region" if counts["region"] > 1 else None
    if counts["adapter"] > 1 and asked.told["replica_count"]:
        switches = run_question(
            asked.connection,
            question_named("adapter_switches"),
            cohort_ids=cohorts.filter(pl.col("adapter").is_not_null())["cohort_id"].to_list(),
            since=asked.window.since,
            until=asked.window.until,
        ).row(0, named=True)
        if switches["switch_count"]:
            return yes(
                f"{told}; {switches['switch_count']:,} of {switches['call_count']:,} calls with an "
                "adapter follow one with another adapter on their replica",
                missing=missing,
            )
    if counts["region"] > 1:
        return unknown(str(missing), told)
    if counts["adapter"] > 1 and not asked.told["replica_count"]:
        return unknown("needs the replica of calls", told)
    return no(told)


DETECTIONS: Mapping[int, Detection] = {
    31: _weights,
    33: _speculation,
    34: _kernels,
    35: _parallelism,
    43: _routing,
}
"""By number of the lever."""
