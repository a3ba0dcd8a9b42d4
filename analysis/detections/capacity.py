"""Levers 15 to 20, 32, 36, 39 to 41 and 44: what a pool has room for, who waits, what is idle.

Owns their sentences. Verdicts are of whole pools: a filter of calls does not narrow them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from analysis.bursts import bursts_verdicts
from analysis.capacity.room import JOINED_RATIO, NO_QUEUE, NO_SIZE, SELDOM_RATIO, verdicts_of
from analysis.concurrency import concurrency
from analysis.context_limits import context_limits_verdicts
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.errors import NoDataError
from analysis.goodput import goodput
from analysis.gpu_fit import gpu_fit_verdicts
from analysis.idle import idle
from analysis.interference import interference_verdicts
from analysis.money import money_text
from analysis.preemptions import preemptions_verdicts
from analysis.wording import counted

VerdictsOf = Callable[[Asked], pl.DataFrame]

MOST_POOLS = 3
"""So many pools stand in a sentence; of more it says how many."""
ONE_AT_ONCE = 1.2
"""So few calls in service at once while others wait are one after the other."""
NONE_AT_ONCE = 0.5
"""With fewer, calls mostly wait while nothing runs: for no other call."""
NEARLY_FULL_RATIO = 0.9
IDLE_RATIO = 0.1
"""Less idle time than this share of what is provisioned is the reserve that a peak needs."""
NO_SLO = (
    "needs SLOs in the configuration, and the times of calls: [[slos]] with endpoint and "
    "ttft_p95_s, tpot_p95_s or e2e_p95_s"
)
WHOLE_POOLS = "of whole pools, whatever calls were asked for"
REPLICAS = "needs the model to say how few replicas keep the SLOs, hour by hour"


def _verdict(name: str, verdicts: VerdictsOf, lever: int, asked: Asked) -> Detected:
    """The verdicts of all pools on `lever`, as one answer."""
    rows = asked.once(name, lambda: verdicts(asked)).filter(pl.col("lever") == lever)
    found = rows.filter("applies")
    open_ones = rows.filter(pl.col("applies").is_null())
    missing = _by_pool(open_ones, "missing")
    if not found.is_empty():
        return yes(str(_by_pool(found, "evidence")), missing=_needs(missing))
    if rows.is_empty() or not open_ones.is_empty():
        return unknown(
            _needs(missing) or "needs calls of a pool, with their times",
            _by_pool(rows.filter(pl.col("evidence").is_not_null()), "evidence"),
        )
    return no(str(_by_pool(rows, "evidence")))


def _room(asked: Asked) -> pl.DataFrame:
    return verdicts_of(_lanes(asked))


def _memory(asked: Asked) -> pl.DataFrame:
    """By who waits beside full KV memory, and by what engines count of lost places."""
    return pl.concat([_room(asked), _preempted(asked)])


def _preempted(asked: Asked) -> pl.DataFrame:
    return asked.once(
        "preemptions",
        lambda: preemptions_verdicts(asked.ledger, asked.configuration, window=asked.window),
    )


def _gpu_types(asked: Asked) -> pl.DataFrame:
    return gpu_fit_verdicts(asked.ledger, asked.configuration, window=asked.window)


def _longest(asked: Asked) -> pl.DataFrame:
    return context_limits_verdicts(asked.ledger, asked.configuration, window=asked.window)


def _beside_prefill(asked: Asked) -> pl.DataFrame:
    return interference_verdicts(asked.ledger, asked.configuration, window=asked.window)


def _arrivals(asked: Asked) -> pl.DataFrame:
    return bursts_verdicts(asked.ledger, asked.configuration, window=asked.window)


def _needs(missing: str | None) -> str | None:
    return None if missing is None else f"needs {missing}"


def _by_pool(rows: pl.DataFrame, column: str) -> str | None:
    """The sentences of the pools; equal ones once, behind all of their pools."""
    texts: dict[str, list[str]] = {}
    for pool, text in rows.drop_nulls(column).select("pool", column).iter_rows():
        texts.setdefault(text, []).append(pool or "no pool")
    told = [f"{text} ({', '.join(pools)})" for text, pools in texts.items()]
    rest = len(told) - MOST_POOLS
    return joined(*told[:MOST_POOLS], f"and {rest:,} more" if rest > 0 else None)


def _lanes(asked: Asked) -> pl.DataFrame:
    """The rows of `ask concurrency`, a pool each."""
    return asked.once(
        "concurrency",
        lambda: concurrency(asked.ledger, asked.configuration, window=asked.window).frame,
    )


def _plain_loop(asked: Asked) -> Detected:
    """Lever 39: one call at a time is in service, while others have arrived."""
    rows = _lanes(asked)
    told = rows.filter(pl.col("queued_s").is_not_null())
    if told.is_empty():
        return unknown(f"needs {NO_QUEUE}")
    waiting = told.filter(pl.col("queued_s") >= SELDOM_RATIO * pl.col("busy_s"))
    joined_ratio = pl.col("joined_ratio").fill_null(0)
    single = waiting.filter(
        pl.col("queued_concurrency").is_between(NONE_AT_ONCE, ONE_AT_ONCE, closed="left"),
        joined_ratio < JOINED_RATIO,
    )
    missing = _by_pool(
        rows.filter(pl.col("queued_s").is_null()).with_columns(missing=pl.lit(NO_QUEUE)), "missing"
    )
    text = pl.format(
        "{} calls run at once while others wait", pl.col("queued_concurrency").round(1)
    )
    joins = pl.format("; {}% of calls start while others decode", (joined_ratio * 100).round(1))
    text = pl.concat_str(text, pl.when(joined_ratio > 0).then(joins).otherwise(pl.lit("")))
    if not single.is_empty():
        return yes(str(_by_pool(single.with_columns(text=text), "text")), missing=_needs(missing))
    if waiting.is_empty():
        return no("no queue stands while calls run", _needs(missing))
    return no(str(_by_pool(waiting.with_columns(text=text), "text")), _needs(missing))


def _kv_quantisation(asked: Asked) -> Detected:
    """Lever 32: KV memory is the limit, as calls lose their place in it or fill it."""
    lost = _preempted(asked).filter(pl.col("lever") == 32, pl.col("applies"))
    if not lost.is_empty():
        return yes(str(_by_pool(lost, "evidence")))
    rows = _lanes(asked)
    sized = rows.filter(pl.col("kv_p95_ratio").is_not_null())
    missing = _by_pool(
        rows.filter(pl.col("kv_p95_ratio").is_null()).with_columns(missing=pl.lit(NO_SIZE)),
        "missing",
    )
    if sized.is_empty():
        return unknown(f"needs {NO_SIZE}")
    text = pl.format(
        "{}% of KV memory is in use at p95", (pl.col("kv_p95_ratio") * 100).round(0).cast(pl.Int64)
    )
    told = sized.with_columns(text=text)
    full = told.filter(pl.col("kv_p95_ratio") >= NEARLY_FULL_RATIO)
    if full.is_empty():
        return no(str(_by_pool(told, "text")), _needs(missing))
    return yes(str(_by_pool(full, "text")), missing=_needs(missing))


def _goodput_rows(asked: Asked) -> pl.DataFrame:
    return asked.once(
        "goodput",
        lambda: (
            goodput(asked.ledger, asked.configuration, window=asked.window, where=asked.where).frame
        ),
    )


def _to_the_slo(asked: Asked) -> Detected:
    """Lever 20: goodput is below throughput."""
    if not asked.configuration.slos:
        return unknown(NO_SLO)
    rows = _goodput_rows(asked)
    texts = [
        f"{row['endpoint'] or 'no known endpoint'} meets its limits in {row['met_ratio']:.1%} of "
        f"{counted(row['sent_count'], 'call')}"
        for row in rows.to_dicts()
    ]
    told = rows.with_columns(text=pl.Series(texts, dtype=pl.String))
    broken = told.filter(pl.col("verdict") == "broken")
    if not broken.is_empty():
        return yes(str(joined(*broken["text"].to_list()[:MOST_POOLS])))
    kept = joined(*told["text"].to_list()[:MOST_POOLS])
    if (rows["verdict"] == "unknown").any():
        return unknown("needs the latencies that are promised, of more calls", kept)
    return no(str(kept))


def _degradation(asked: Asked) -> Detected:
    """Lever 41: there are periods of overload, in which calls wait."""
    crowded = _verdict("bursts", _arrivals, 40, asked)
    try:
        slo = _to_the_slo(asked)
    except NoDataError:
        slo = unknown("needs SLOs in the configuration")
    if crowded.applies == "yes":
        beside = slo.evidence if slo.applies == "yes" else None
        return yes(str(crowded.evidence), beside=beside, missing=crowded.missing)
    if crowded.applies == "no":
        return no(str(crowded.evidence))
    return unknown(crowded.missing or "needs queue time", crowded.evidence)


def _right_sizing(asked: Asked) -> Detected:
    """Lever 44: provisioned GPU-seconds stand idle, or another type of GPU is cheaper."""
    try:
        types = _verdict("gpu_fit", _gpu_types, 44, asked)
    except NoDataError:
        types = unknown("needs calls of a pool")
    rows = idle(asked.ledger, asked.configuration, window=asked.window).frame
    idle_rows = rows.filter(pl.col("idle_ratio") >= IDLE_RATIO).sort(
        "idle_gpu_seconds", descending=True
    )
    texts = [_idle_text(row) for row in (idle_rows if idle_rows.height else rows).to_dicts()]
    rest = len(texts) - MOST_POOLS
    evidence = str(
        joined(*texts[:MOST_POOLS], f"and {counted(rest, 'more pool')}" if rest > 0 else None)
    )
    evidence = str(joined(evidence, types.evidence))
    if idle_rows.is_empty() and types.applies != "yes":
        return no(evidence, types.missing)
    return yes(
        evidence,
        beside="of another line of the bill than the savings here",
        missing=joined(REPLICAS, types.missing),
    )


def _idle_text(row: Mapping[str, Any]) -> str:
    """How long a pool is idle, and what that costs, where it has a price."""
    cost = row["idle_cost"]
    text = (
        f"{row['pool']} is idle for {row['idle_ratio']:.0%} of "
        f"{row['provisioned_gpu_seconds']:,.0f} provisioned GPU-seconds"
    )
    return text if cost is None else f"{text}, {money_text(cost, row['currency'] or '')}"


def _whole(detection: Detection) -> Detection:
    """`detection`, which says that it is of whole pools where calls were chosen."""

    def detected(asked: Asked) -> Detected:
        found = detection(asked)
        if not asked.where:
            return found
        return replace(found, beside=joined(found.beside, WHOLE_POOLS))

    return detected


OF_POOLS: Mapping[int, Detection] = {
    **{lever: partial(_verdict, "room", _room, lever) for lever in (15, 16)},
    17: partial(_verdict, "memory", _memory, 17),
    18: partial(_verdict, "context_limits", _longest, 18),
    **{lever: partial(_verdict, "interference", _beside_prefill, lever) for lever in (19, 36)},
    32: _kv_quantisation,
    39: _plain_loop,
    40: partial(_verdict, "bursts", _arrivals, 40),
    41: _degradation,
    44: _right_sizing,
}

DETECTIONS: Mapping[int, Detection] = {
    20: _to_the_slo,
    **{lever: _whole(detection) for lever, detection in OF_POOLS.items()},
}
"""By number of the lever."""
