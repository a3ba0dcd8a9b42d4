"""Goodput: the throughput of the calls that met what was promised for their endpoint.

Owns the rule by which a promise of a 95th percentile is kept. Refuses to count a call as met that
does not tell the latency it was promised, and to judge endpoints without a promise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from analysis.answer import Answer
from analysis.errors import NoDataError
from analysis.extent import extent_of
from analysis.groups import Groups, groups_of
from analysis.latency import MOST_EXACT_CALLS
from analysis.selection import read_cohorts
from analysis.window import QUARTER_NS, Window
from analysis.wording import counted
from ingest.config import Configuration, Slo
from ingest.ledger import Connection, Ledger

MEASURES = ("ttft", "tpot", "e2e")
PROMISED_RATIO = 0.95
"""Of the calls of an endpoint so many are within a limit that is promised as its p95."""

OUTCOMES = ("met", "missed", "unknown", "error", "timeout", "cancelled", "refused")
FIGURES = (
    "sent_count",
    *(f"{outcome}_count" for outcome in OUTCOMES),
    "met_ratio", "sent_per_s", "goodput_per_s", "goodput_tokens_per_s",
    *(f"{measure}_{figure}" for measure in MEASURES
      for figure in ("limit_s", "p95_s", "within_ratio")),
    "verdict",
)  # fmt: skip
HOW_TO_PROMISE = (
    "write what is promised into gpuledger.toml, for example\n"
    '[[slos]]\nendpoint = "/chat"\nttft_p95_s = 1.0\ntpot_p95_s = 0.05\n'
    "`gpuledger ask latency` says what the endpoints do today"
)
VERDICT_NOTE = (
    "verdict is of the answered calls: kept where 95 in 100 are within each limit, be those that "
    "tell no latency beyond it; broken where that cannot be, be they within"
)
NOT_A_CALL = "not_itemised"
"""The operation of usage that no call tells: nothing was sent."""


def goodput(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    most_exact_calls: int = MOST_EXACT_CALLS,
) -> Answer:
    """The share of the calls sent that met each limit of `[[slos]]`, and their rate, by `by`.

    `goodput_per_s` and `goodput_tokens_per_s` are calls that met them, and their output tokens, a
    second of the window or of the row's part of it. Columns: docs/metrics/goodput.md has the
    counts. Raises `NoDataError` where nothing is promised for the calls of the window.
    """
    slos = {slo.endpoint: slo for slo in configuration.slos}
    if not slos:
        raise NoDataError(f"no SLO is configured: {HOW_TO_PROMISE}")
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    promised = _promised(groups, slos)
    if promised.cohorts.is_empty():
        raise NoDataError(f"no SLO is for the endpoints asked for: {HOW_TO_PROMISE}")
    limits = {
        f"{measure}_limits": promised.cohorts[f"{measure}_limit_s"].to_list()
        for measure in MEASURES
    }
    counts = promised.rows_of(ledger.connection, "goodput", **limits)
    is_exact = extent_of(ledger.connection, groups.filters).call_count <= most_exact_calls
    frame = _with_percentiles(ledger.connection, promised, counts, is_exact=is_exact)
    frame = _judged(_rates(frame, groups)).select(*groups.columns, *FIGURES)
    return Answer(
        frame=frame.sort("sent_count", *groups.columns, descending=[True, *[False] * len(by)]),
        notes=_notes(ledger.connection, groups, frame, slos, is_exact=is_exact),
        window=groups.window,
    )


def _promised(groups: Groups, slos: Mapping[str, Slo]) -> Groups:
    """`groups` with those cohorts alone for which something is promised, and their limits."""
    known = pl.DataFrame(
        [(slo.endpoint, slo.ttft_p95_s, slo.tpot_p95_s, slo.e2e_p95_s) for slo in slos.values()],
        schema={"endpoint": pl.String} | {f"{name}_limit_s": pl.Float64 for name in MEASURES},
        orient="row",
    )
    cohorts = groups.cohorts.filter(pl.col("operation") != NOT_A_CALL)
    return replace(groups, cohorts=cohorts.join(known, on="endpoint", maintain_order="left"))


def _with_percentiles(
    connection: Connection, promised: Groups, counts: pl.DataFrame, *, is_exact: bool
) -> pl.DataFrame:
    """`counts` with the p95 in s of each measure over the answered calls, as `latency` has it.

    Null where no call tells it.
    """
    of_measures = {measure: f"{measure}_p95_s" for measure in MEASURES}
    answered = replace(promised, cohorts=promised.cohorts.filter(pl.col("status") == "ok"))
    if answered.cohorts.is_empty():
        return counts.with_columns(
            pl.lit(None, dtype=pl.Float64).alias(column) for column in of_measures.values()
        )
    rows = answered.found(connection, "latency" if is_exact else "latency_histogram")
    for measure, column in of_measures.items():
        found = rows.filter(pl.col("measure") == measure).select(
            *answered.columns, pl.col("p95_s").alias(column)
        )
        if answered.columns:
            counts = counts.join(found, on=answered.columns, how="left", nulls_equal=True)
        else:
            counts = pl.concat([counts, found], how="horizontal")
    return counts


def _rates(frame: pl.DataFrame, groups: Groups) -> pl.DataFrame:
    """`frame` with calls and tokens a second."""
    seconds = _seconds(groups)
    timed = (
        frame.join(seconds, on=seconds.columns[0], how="left")
        if seconds.width == 2
        else frame.with_columns(seconds=pl.lit(seconds.item()))
    )
    met_tokens = pl.when(pl.col("met_count") > 0).then("met_tokens").otherwise(0)
    return timed.with_columns(
        met_ratio=pl.col("met_count") / pl.col("sent_count"),
        sent_per_s=pl.col("sent_count") / pl.col("seconds"),
        goodput_per_s=pl.col("met_count") / pl.col("seconds"),
        goodput_tokens_per_s=met_tokens / pl.col("seconds"),
    )


def _seconds(groups: Groups) -> pl.DataFrame:
    """`seconds` of the window, or of each time's part of it beside the column of time."""
    since, until = groups.window.since, groups.window.until
    if since is None or until is None:
        return pl.DataFrame({"seconds": [None]}, schema={"seconds": pl.Float64})
    if groups.times.is_empty():
        return pl.DataFrame({"seconds": [(until - since) / 1e9]})
    column = next(name for name in groups.times.columns if name in groups.columns)
    begin = pl.col("quarter").cast(pl.Int64) * QUARTER_NS
    inside = pl.min_horizontal(begin + QUARTER_NS, pl.lit(until)) - pl.max_horizontal(
        begin, pl.lit(since)
    )
    return groups.times.group_by(column).agg(seconds=inside.clip(lower_bound=0).sum() / 1e9)


def _judged(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` with the share within each limit, and the verdict over all of them."""
    kept, broken = [], []
    for measure in MEASURES:
        count, within, beyond = (
            pl.col(f"{measure}_{part}count") for part in ("", "within_", "beyond_")
        )
        frame = frame.with_columns(
            pl.when(within + beyond > 0)
            .then(within / (within + beyond))
            .alias(f"{measure}_within_ratio")
        )
        kept.append(within >= PROMISED_RATIO * count)
        broken.append(count - beyond < PROMISED_RATIO * count)
    is_told = pl.any_horizontal(pl.col(f"{measure}_count") > 0 for measure in MEASURES)
    verdict = (
        pl.when(pl.any_horizontal(broken)).then(pl.lit("broken"))
        .when(pl.all_horizontal(kept) & is_told).then(pl.lit("kept"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    return frame.with_columns(verdict=verdict)


def _notes(
    connection: Connection,
    groups: Groups,
    frame: pl.DataFrame,
    slos: Mapping[str, Slo],
    *,
    is_exact: bool,
) -> tuple[str, ...]:
    notes = [f"window: {groups.window.text()}", VERDICT_NOTE]
    if unknown := int(frame["unknown_count"].sum()):
        notes.append(f"a promised latency is not told, hence not met: {counted(unknown, 'call')}")
    called = read_cohorts(connection, groups.filters)["endpoint"].unique().sort()
    without = [str(name) for name in called.to_list() if name is not None and name not in slos]
    if without:
        notes.append(f"without an SLO, hence not here: {', '.join(without)}")
    if not is_exact:
        notes.append("p95_s are of buckets 1 % wide (many calls)")
    return tuple(notes)
