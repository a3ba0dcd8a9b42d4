"""Calls in service at once and the KV memory they hold, beside what the engine has room for.

Owns the columns of `ask concurrency`, and whether levers that let more calls run at once apply.
Refuses to guess the size of an engine: without it the answer says what is missing.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.capacity.asked import lane_columns
from analysis.capacity.lanes import Lanes, lanes_of
from analysis.capacity.over_time import (
    MAXIMA,
    SUMS,
    OverTime,
    level_at,
    over_time,
    tokens_at,
)
from analysis.capacity.pieces import Pieces, pieces_of_pools
from analysis.capacity.room import NO_QUEUE, NO_SIZE, NO_TOKENS, verdicts_of
from analysis.columns import TIME_COLUMNS
from analysis.extent import no_calls
from analysis.selection import selected
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

FIGURES = (
    "busy_s",
    "residence_s",
    "concurrency_mean",
    "concurrency_p50",
    "concurrency_p95",
    "concurrency_max",
    "kv_mean_tokens",
    "kv_p50_tokens",
    "kv_p95_tokens",
    "kv_max_tokens",
    "kv_told_ratio",
    "kv_cache_tokens",
    "kv_p95_ratio",
    "call_kv_tokens",
    "allowed_concurrency",
    "concurrency_ratio",
    "queue_told_ratio",
    "queued_s",
    "queued_calls",
    "queued_concurrency",
    "queued_free_s",
    "queued_growing_s",
    "queued_full_s",
    "queued_free_concurrency",
    "joined_ratio",
)

_TOLD_S = pl.col("residence_s") - pl.col("untold_s")
_IS_TOLD = 1e-9 * pl.col("residence_s") < _TOLD_S
"""Whether any call of a row tells its tokens; what rounding leaves of the seconds is none."""


def concurrency(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a pool, and a replica and a time where `by` names them; figures are of one replica.

    Columns: docs/capacity.md. Raises `NoDataError` where no call of a pool is in the window.
    """
    columns = lane_columns(by)
    asked = window or Window(timezone=configuration.timezone)
    lanes = lanes_of(ledger.connection, window=asked, where=where)
    pieces = pieces_of_pools(ledger.connection, configuration, lanes, columns)
    found = over_time(ledger.connection, lanes, pieces)
    if found.sums.is_empty():
        raise no_calls(ledger.connection, asked, selected({}))
    labels = _labels(lanes, pieces, columns)
    frame = _figures(found, labels, columns).select(*columns, *FIGURES)
    frame = frame.sort(in_order(columns), nulls_last=True)
    return Answer(frame=frame, notes=tuple(_notes(frame, lanes)), window=lanes.window)


def concurrency_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether levers 15, 16, 17 and 32 apply to each pool; see `Verdict`."""
    return verdicts_of(concurrency(ledger, configuration, window=window).frame)


def _labels(lanes: Lanes, pieces: Mapping[str, Pieces], columns: Sequence[str]) -> pl.DataFrame:
    """By lane and piece: the columns that name a row of the answer, and the room for KV tokens."""
    rows = [
        {
            "lane_number": number,
            "piece": piece,
            "pool": lane.pool,
            "replica": lane.replica,
            "time": time,
            "room": room,
        }
        for number, lane in enumerate(lanes.lanes)
        for piece, (time, room) in enumerate(
            zip(pieces[lane.pool].times, pieces[lane.pool].room_of(lane), strict=True)
        )
    ]
    schema = {"lane_number": pl.Int64, "piece": pl.Int64, "pool": pl.String, "replica": pl.String}
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)
    time = next((column for column in columns if column in TIME_COLUMNS), None)
    named = frame if time is None else frame.rename({"time": time})
    return named.select("lane_number", "piece", "room", *columns)


def _figures(found: OverTime, labels: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    on = ["lane_number", "piece"]
    sums = found.sums.join(labels, on=on).with_columns(room_s=pl.col("room") * pl.col("busy_s"))
    total = sums.group_by(columns).agg(
        *(pl.col(name).sum() for name in (*SUMS, "room_s")),
        *(pl.col(name).max() for name in MAXIMA),
    )
    running, kv = found.running.join(labels, on=on), found.kv.join(labels, on=on)
    for name, ratio in (("p50", 0.5), ("p95", 0.95)):
        levels = level_at(running, columns, ratio).rename({"level": f"concurrency_{name}"})
        tokens = tokens_at(kv, columns, ratio).rename({"tokens": f"kv_{name}_tokens"})
        for part in (levels, tokens):
            total = total.join(part, on=columns, how="left", nulls_equal=True)
    return _ratios(total)


def _ratios(total: pl.DataFrame) -> pl.DataFrame:
    """The columns of an answer from its sums; null where a part is not known."""
    return _with_queues(_with_levels(total))


def _with_levels(total: pl.DataFrame) -> pl.DataFrame:
    """What runs at once and the KV memory of it, beside what there is room for."""
    residence, busy = pl.col("residence_s"), pl.col("busy_s")
    allowed = _quotient(pl.col("kv_cache_tokens"), pl.col("call_kv_tokens"))
    return total.with_columns(
        concurrency_mean=_quotient(residence, busy),
        concurrency_max=pl.col("most_running"),
        kv_mean_tokens=pl.when(_IS_TOLD).then(_quotient(pl.col("kv_token_s"), busy)),
        kv_p50_tokens=pl.when(_IS_TOLD).then(pl.col("kv_p50_tokens")),
        kv_p95_tokens=pl.when(_IS_TOLD).then(pl.min_horizontal("kv_p95_tokens", "most_kv_tokens")),
        kv_max_tokens=pl.when(_IS_TOLD).then(pl.col("most_kv_tokens")),
        kv_told_ratio=_quotient(_TOLD_S, residence),
        kv_cache_tokens=_quotient(pl.col("room_s").fill_nan(None), busy).round(3),
        call_kv_tokens=pl.when(_IS_TOLD).then(_quotient(pl.col("kv_token_s"), _TOLD_S)),
    ).with_columns(
        kv_p95_ratio=_quotient(pl.col("kv_p95_tokens"), pl.col("kv_cache_tokens")),
        allowed_concurrency=allowed,
        concurrency_ratio=_quotient(pl.col("concurrency_mean"), allowed),
    )


def _with_queues(total: pl.DataFrame) -> pl.DataFrame:
    """Who waits, beside what KV memory, and how many run meanwhile."""
    residence, queued = pl.col("residence_s"), pl.col("queued_s")
    nothing_runs = residence == 0
    is_seen = nothing_runs | (pl.col("unseen_s") < residence * (1 - 1e-9))
    full = pl.when(nothing_runs | _IS_TOLD).then(pl.col("queued_full_s").fill_nan(None))
    growing = pl.col("queued_growing_s").fill_nan(None)
    free = pl.col("queued_s") - pl.col("queued_full_s") - pl.col("queued_growing_s")
    free_running = pl.col("queued_free_running_s").fill_nan(None)
    return (
        total.with_columns(
            queue_told_ratio=_quotient(residence - pl.col("unseen_s"), residence),
            queued_calls=_quotient(pl.col("waiting_s"), queued),
            queued_concurrency=_quotient(pl.col("queued_running_s"), queued),
            queued_s=pl.when(is_seen).then(queued),
            queued_full_s=pl.when(is_seen).then(full),
            queued_growing_s=pl.when(is_seen & full.is_not_null()).then(growing),
            joined_ratio=_quotient(pl.col("joined_count"), pl.col("start_count")),
        )
        .with_columns(queued_free_s=free.clip(0))
        .with_columns(queued_free_concurrency=_quotient(free_running, pl.col("queued_free_s")))
    )


def _quotient(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)


def _notes(frame: pl.DataFrame, lanes: Lanes) -> Iterator[str]:
    yield f"window: {lanes.window.text()}"
    for pool in dict.fromkeys(lane.pool for lane in lanes.lanes if lane.replica is None):
        if days := lanes.silent_days(pool):
            yield (
                f"{pool}: not every call names its replica on {counted(days, 'day')}, on which "
                "calls are taken to be spread evenly over the replicas"
            )
    yield (
        "KV tokens are input and output of each call; what an engine shares between calls with "
        "one prefix is counted for each"
    )
    for missing, column in (
        (NO_SIZE, "kv_cache_tokens"),
        (NO_TOKENS, "kv_mean_tokens"),
        (NO_QUEUE, "queued_s"),
    ):
        pools = frame.filter(pl.col(column).is_null())["pool"].unique().sort().to_list()
        if pools:
            yield f"{', '.join(pools)}: not told {missing}"
    if frame.select((pl.col("kv_told_ratio").is_between(0, 1, closed="none")).any()).item():
        yield "calls that do not tell their tokens hold none here: kv_told_ratio is of residence"
