"""Work that nobody waits for: it may run later, in a lane of its own.

Owns the signs by which it is told. Refuses to say by when its answers are needed: no span tells a
deadline.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.calendar import calendar_of
from analysis.extent import no_calls
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.letters import PICOSECONDS_PER_S
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.calls.aliases import alias_table
from ingest.config import Configuration
from ingest.ledger import Ledger

WHO = ("waited", "background", "untold")
NIGHT_HOURS = (22, 23, 0, 1, 2, 3, 4, 5)
"""Hours of the day, on the clock of the window's zone, at which few people work."""
FEW_HOURS = 4
NEARLY_ALL_RATIO = 0.95
"""A lane is one kind of calls to this share; else it is mixed."""
GATHERED_RATIO = 0.9
"""Calls that tell nothing look like a job where so many are sent at night, or in four hours."""
LEAST_DAYS = 3
LEAST_CALLS = 50
"""The hours of fewer days or calls say nothing: every short ledger is of few hours."""

FIGURES = (
    "lane", "evidence", "call_count", *(f"{who}_count" for who in WHO),
    "night_ratio", "busiest_hour", "busiest_4_hours_ratio", "day_count",
    "gpu_seconds", "share_ratio", "background_gpu_seconds",
)  # fmt: skip

LOOK_NOTE = (
    "batch is what no request of the application is seen above; an application whose requests "
    "have no spans looks the same: look at it before you let it wait"
)
HOURS_NOTE = "where evidence is hours, only the hours speak for a job"
HOURS_NEED = (
    f"hours speak for a job from {LEAST_DAYS} days and {LEAST_CALLS} calls on, and never where a "
    "TTFT is promised"
)


def batch_lane(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """For each group whether somebody waits for its calls, by which sign, and its GPU-seconds.

    `lane` is `batch`, `interactive`, `mixed` or `unknown`; `share_ratio` is of the GPU-seconds of
    all rows. Batch first, the dearest of it first. Columns: docs/metrics/batch_lane.md has the
    counts. Raises `NoDataError` where no call is in the window.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    rows = run_question(
        ledger.connection, question_named("batch_lane"), **groups.values(), **_named(groups)
    )
    if rows.is_empty():
        raise no_calls(ledger.connection, groups.asked, groups.filters)
    sums = _summed(rows, groups.window.timezone)
    sums = sums.join(_promised(groups, configuration), on="group_number", how="left")
    frame = groups.labelled(_judged(sums)).select(*groups.columns, *FIGURES)
    order = pl.col("lane").cast(pl.Enum(("batch", "mixed", "unknown", "interactive")))
    frame = frame.sort(
        order, "gpu_seconds", "call_count", *groups.columns,
        descending=[False, True, True, *[False] * len(groups.columns)], nulls_last=True,
    )  # fmt: skip
    return Answer(frame=frame, notes=_notes(groups.window, frame), window=groups.window)


def _named(groups: Groups) -> dict[str, list[int] | list[str]]:
    """Which cohorts have a route of the application, and how the spans of model servers are named.

    The route of an LLM API says nothing of who asks.
    """
    routes = alias_table().file.endpoint.model_server_routes
    route = pl.col("endpoint").str.split(" ").list.last()
    is_routed = (pl.col("endpoint_source") == "route") & ~route.is_in(list(routes))
    routed = groups.cohorts.select(is_routed.fill_null(value=False).cast(pl.Int64))
    return {
        "routed": routed.to_series().to_list(),
        "server_names": [*routes, *(f"POST {route}" for route in routes)],
    }


def _promised(groups: Groups, configuration: Configuration) -> pl.DataFrame:
    """By `group_number` whether a TTFT is promised for an endpoint of it: somebody waits there."""
    names = [slo.endpoint for slo in configuration.slos if slo.ttft_p95_s is not None]
    return groups.cohorts.group_by("group_number").agg(
        is_promised=pl.col("endpoint").is_in(names).fill_null(value=False).any()
    )


def _summed(rows: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """A row a group: calls by who waits, by hour of the day and by day, and GPU-seconds."""
    clock = calendar_of(rows["quarter"].drop_nulls().unique().to_list(), timezone).select(
        "quarter", "day", clock_hour=pl.col("hour").str.slice(11, 2).cast(pl.Int64)
    )
    timed = rows.join(clock, on="quarter", how="left")
    count = pl.col("call_count")
    by_hour = (
        timed.filter(pl.col("clock_hour").is_not_null())
        .group_by(*NUMBERS, "clock_hour")
        .agg(count.sum())
        .sort(count, "clock_hour", descending=[True, False])
        .group_by(NUMBERS, maintain_order=True)
        .agg(
            busiest_hour=pl.col("clock_hour").first(),
            busiest_4_hours_ratio=count.head(FEW_HOURS).sum() / count.sum(),
            night_ratio=count.filter(pl.col("clock_hour").is_in(NIGHT_HOURS)).sum() / count.sum(),
        )
    )
    gpu = pl.col("gpu_ps").cast(pl.Int128)
    whole = timed.group_by(NUMBERS, maintain_order=True).agg(
        *(count.filter(pl.col("who") == who).sum().alias(f"{who}_count") for who in WHO),
        count.sum(),
        day_count=pl.col("day").n_unique() - pl.col("day").is_null().any(),
        gpu_seconds=_seconds(gpu),
        background_gpu_seconds=_seconds(gpu.filter(pl.col("who") == "background")),
    )
    return whole.join(by_hour, on=NUMBERS, how="left", nulls_equal=True)


def _seconds(picoseconds: pl.Expr) -> pl.Expr:
    """The sum in s; null where nothing is known."""
    known = picoseconds.drop_nulls()
    return pl.when(known.len() > 0).then(known.sum().cast(pl.Float64) / PICOSECONDS_PER_S)


def _judged(sums: pl.DataFrame) -> pl.DataFrame:
    """`sums` with the lane of each group, and the sign that it is told by."""
    told = pl.col("waited_count") + pl.col("background_count")
    gathered = pl.max_horizontal("night_ratio", "busiest_4_hours_ratio")
    is_enough = (pl.col("day_count") >= LEAST_DAYS) & (pl.col("call_count") >= LEAST_CALLS)
    is_told, is_gathered = (
        told > 0,
        (gathered >= GATHERED_RATIO).fill_null(value=False) & is_enough & ~pl.col("is_promised"),
    )
    lane = (
        pl.when(is_told & (pl.col("background_count") >= NEARLY_ALL_RATIO * told))
        .then(pl.lit("batch"))
        .when(is_told & (pl.col("waited_count") >= NEARLY_ALL_RATIO * told))
        .then(pl.lit("interactive"))
        .when(is_told)
        .then(pl.lit("mixed"))
        .when(is_gathered)
        .then(pl.lit("batch"))
        .otherwise(pl.lit("unknown"))
    )
    evidence = pl.when(is_told).then(pl.lit("telemetry")).when(is_gathered).then(pl.lit("hours"))
    return sums.with_columns(
        lane=lane,
        evidence=evidence,
        share_ratio=pl.col("gpu_seconds") / pl.col("gpu_seconds").sum(),
    )


def _notes(window: Window, frame: pl.DataFrame) -> tuple[str, ...]:
    notes = [f"window: {window.text()}"]
    batch = frame.filter(pl.col("lane") == "batch")
    if not batch.is_empty():
        spent = batch["gpu_seconds"].sum()
        notes += [f"{counted(batch.height, 'group')} of batch: {spent:,.3f} GPU-seconds", LOOK_NOTE]
    if "hours" in batch["evidence"].to_list():
        notes.append(HOURS_NOTE)
    if "unknown" in frame["lane"].to_list():
        notes.append(HOURS_NEED)
    if untold := int(frame["untold_count"].sum()):
        notes.append(
            f"not told who waits for {counted(untold, 'call')}: send their traces, from the span "
            "of the request or of the job on"
        )
    return tuple(notes)
