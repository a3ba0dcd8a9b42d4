"""Whether levers that let more calls run at once apply, by who waits beside what room.

Owns the verdicts on levers 15, 16, 17 and 32. Refuses to take overhead, in which calls wait though
the engine takes more at once at other times, for a limit of the batch.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from analysis.capacity.over_time import FULL_RATIO
from analysis.capacity.verdicts import Verdict, verdict_frame

NO_SIZE = (
    "how many tokens its KV memory has room for: ingest the engine's metrics (vLLM's "
    "cache_config_info, SGLang's max_total_num_tokens), or set kv_cache_tokens of [[pools]] to "
    "what it says when it starts"
)
NO_QUEUE = "when calls arrived and when their service started: only an engine's spans tell both"
NO_TOKENS = "how many tokens calls read and wrote"
NO_RESERVE = (
    "whether the engine keeps room for whole answers: if so, KV memory is the limit, else more "
    "calls may run and be preempted; a replay with more sequences says so"
)

LEVERS = (15, 16, 17, 32)
"""Continuous batching, max_num_seqs, gpu_memory_utilization, KV-cache quantisation."""

SELDOM_RATIO = 0.01
"""A queue that stands for less than this share of the busy time is none to act on."""
FAR_BELOW_RATIO = 0.5
"""Fewer calls at once than this share of what memory allows are far below it."""

JOINED_RATIO = 0.001
"""Of the starts so many in the decode of another call show that calls join a batch under way."""
NEAR_CALLS = 0.25
NEAR_RATIO = 0.97
"""Calls wait for a place in the batch where about as many run meanwhile as at p95 of the time: at
most so many fewer, or so large a share. Where fewer run, the engine takes more: it is overhead."""


def verdicts_of(pools: pl.DataFrame) -> pl.DataFrame:
    """The verdicts of `concurrency_verdicts` from the rows of an answer, a pool each."""
    return verdict_frame(
        verdict for row in pools.iter_rows(named=True) for verdict in _verdicts(row)
    )


def _verdicts(row: Mapping[str, Any]) -> Iterator[Verdict]:
    """Of levers 15 (continuous batching), 16 (max_num_seqs), 17 and 32 (more, smaller KV memory).

    The last two need the same: calls wait because KV memory is the limit.
    """
    pool, missing = row["pool"], _missing(row)
    if missing is not None:
        for lever in LEVERS:
            yield Verdict(lever=lever, pool=pool, applies=None, evidence=None, missing=missing)
        return
    busy, allowed = row["busy_s"], row["allowed_concurrency"]
    if row["queued_s"] < SELDOM_RATIO * busy:
        text = f"calls wait for {row['queued_s']:,.0f} s beside {busy:,.0f} busy s: no queue"
        for lever in LEVERS:
            yield Verdict(lever=lever, pool=pool, applies=False, evidence=text)
        return
    text = (
        f"calls wait for {row['queued_s']:,.0f} s: for {row['queued_free_s']:,.0f} s KV memory has "
        f"room for one more to its end, for {row['queued_growing_s']:,.0f} s the running ones grow "
        f"into it, for {row['queued_full_s']:,.0f} s it is {FULL_RATIO:.0%} full or more; "
        f"{row['queued_concurrency']:.1f} run meanwhile, memory allows {allowed:.1f}"
    )
    is_free, is_growing, is_full = (
        row[f"queued_{name}_s"] >= SELDOM_RATIO * busy for name in ("free", "growing", "full")
    )
    is_far = row["queued_concurrency"] < FAR_BELOW_RATIO * allowed
    is_static = is_free and is_far and is_at_most(row) and not joins(row)
    found = (is_static, is_free and is_at_most(row), is_full, is_full)
    for lever, applies in zip(LEVERS, found, strict=True):
        is_open = is_growing and not applies and lever != LEVERS[0]
        yield Verdict(
            lever=lever,
            pool=pool,
            applies=None if is_open else applies,
            evidence=f"{text}{_beside(row, lever) if is_free and not applies else ''}",
            missing=NO_RESERVE if is_open else None,
        )


def joins(row: Mapping[str, Any]) -> bool:
    """Whether calls start while others decode, which neither a static batch nor a loop does."""
    return (row["joined_ratio"] or 0) >= JOINED_RATIO


def is_at_most(row: Mapping[str, Any]) -> bool:
    """Whether, while calls wait beside free memory, as many run as the engine ever takes."""
    running, usual = row["queued_free_concurrency"], row["concurrency_p95"]
    if running is None or usual is None:
        return False
    return bool(running >= min(usual - NEAR_CALLS, usual * NEAR_RATIO))


def _beside(row: Mapping[str, Any], lever: int) -> str:
    """Why a queue beside free memory is not for levers 15 and 16."""
    if lever not in LEVERS[:2]:
        return ""
    if not is_at_most(row):
        return (
            f"; at p95 of the busy time {row['concurrency_p95'] or 0:.1f} run, beside free memory "
            f"{row['queued_free_concurrency'] or 0:.1f} while calls wait: what they wait for is "
            "overhead, not a place in the batch"
        )
    if lever == LEVERS[0] and joins(row):
        return f"; {row['joined_ratio']:.1%} of calls start while others decode: batches are open"
    return ""


def _missing(row: Mapping[str, Any]) -> str | None:
    """What it takes to say whether more calls could run at once; None where all is told."""
    if row["queued_s"] is None:
        return NO_QUEUE
    if row["queued_s"] < SELDOM_RATIO * row["busy_s"]:
        return None
    if row["call_kv_tokens"] is None:
        return NO_TOKENS
    return NO_SIZE if row["allowed_concurrency"] is None else None
