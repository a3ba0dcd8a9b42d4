"""Preemptions: calls that lost their place in an engine, and what has to be computed again.

Owns the sums of what engines count of it. Refuses to guess from calls: a call that was preempted is
only slow.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order, numbered_times
from analysis.capacity.asked import lane_columns
from analysis.capacity.verdicts import Verdict, verdict_frame
from analysis.columns import TIME_COLUMNS
from analysis.engine import LONGEST_STEP_NS, NO_METRICS
from analysis.engine_units import Units, read_units
from analysis.facts import Facts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

PREEMPTION_FILTERS = ("pool", "replica")

COUNTERS = ("preemptions", "preempted_input_tokens", "preempted_output_tokens", "finished_calls")
GAUGE = "kv_use_ratio"
OTHERS = ("running_calls", "output_tokens")
"""An engine that tells these is there, whether it counts preemptions or not."""
FIGURES = (
    "counted_s",
    "preemptions",
    "finished_calls",
    "preemption_ratio",
    "preempted_input_tokens",
    "preempted_output_tokens",
    "kv_use_ratio",
    "kv_use_peak_ratio",
)
SELDOM_RATIO = 0.001
"""Fewer preemptions than this a finished call are none to act on."""
NONE_HERE = "no metrics of the engines that were asked for in this window"
NO_COUNT = "how often calls were preempted: metrics of the engine (vLLM's num_preemptions)"
NO_TOKENS = "vLLM and llama.cpp do not tell the tokens that are computed again; SGLang does"

FACTS = Facts(
    name="preemptions",
    question="How often did calls lose their place in an engine, and what is computed again?",
    grain="a pool, a replica and a time, where asked for",
    unit="counted_s in s of engines; calls; tokens; preemption_ratio per finished call",
    params="--by replica, hour, day or month; --where pool=NAME, replica=NAME; --since, --until",
    nulls="a figure is null where the engine does not tell it; pool where nobody knows whose "
    "engine it is",
    identity="the preemptions of all rows add up to what the counters grew by, restarts included",
)


def preemptions(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a pool, and a replica and a time where `by` names them. Columns: docs/capacity.md.

    Without metrics in `window` the answer has no row, and a note says why.
    """
    columns = lane_columns(by)
    asked = window or Window(timezone=configuration.timezone)
    units = read_units(ledger.connection)
    labels = _labels(units)
    for column, value in (where or {}).items():
        labels = labels.filter(pl.col(column).eq_missing(pl.lit(value, dtype=pl.String)))
    frame = _figures(_sums(ledger.connection, units, asked), columns, labels, asked)
    return Answer(frame=frame, notes=tuple(_notes(frame, units, asked)), window=asked)


def preemptions_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether levers 17 and 32 (more or smaller KV memory) apply to each pool; see `Verdict`.

    A pool without metrics has no row.
    """
    frame = preemptions(ledger, configuration, window=window).frame
    rows = frame.filter(pl.col("pool").is_not_null())
    return verdict_frame(
        _verdict(row, lever) for row in rows.iter_rows(named=True) for lever in (17, 32)
    )


def _sums(connection: Connection, units: Units, window: Window) -> pl.DataFrame:
    """Sums of the question of engines, by place and quarter-hour and metric."""
    series = units.series_of(*COUNTERS, GAUGE, *OTHERS)
    return run_question(
        connection,
        question_named("engine"),
        series_ids=list(series),
        place_numbers=list(series.values()),
        longest_step_ns=LONGEST_STEP_NS,
        since=window.since,
        until=window.until,
        **units.silent(),
    )


def _labels(units: Units) -> pl.DataFrame:
    """The pool and the replica of each place of `units`."""
    return pl.DataFrame(
        [
            {"place_number": place, "pool": unit.pool, "replica": unit.replica}
            for unit in units.units
            for place in unit.places
        ],
        schema={"place_number": pl.Int64, "pool": pl.String, "replica": pl.String},
    )


def _figures(
    sums: pl.DataFrame, columns: Sequence[str], labels: pl.DataFrame, window: Window
) -> pl.DataFrame:
    """The rows of an answer, of the places in `labels`; what no engine of a row tells is null."""
    rows = sums.with_columns(pl.col("place_number").cast(pl.Int64)).join(labels, on="place_number")
    for column in columns:
        if column in TIME_COLUMNS:
            quarters = rows["quarter"].unique().to_list()
            times = numbered_times(quarters, window.timezone, column)
            rows = rows.join(times.select("quarter", column), on="quarter")

    def of(metric: str, figure: str) -> pl.Expr:
        return pl.col(figure).filter(pl.col("metric") == metric)

    def told(metric: str, figure: str) -> pl.Expr:
        return pl.when(of(metric, figure).len() > 0).then(of(metric, figure).sum())

    known_s = of(GAUGE, "known_s").sum()
    frame = rows.group_by(columns).agg(
        counted_s=told("preemptions", "grown_s"),
        kv_use_ratio=pl.when(known_s > 0).then(of(GAUGE, "level_s").sum() / known_s),
        kv_use_peak_ratio=of(GAUGE, "peak").max(),
        **{name: told(name, "growth") for name in COUNTERS},
    )
    ratio = pl.when(pl.col("finished_calls") > 0).then(
        pl.col("preemptions") / pl.col("finished_calls")
    )
    return (
        frame.with_columns(preemption_ratio=ratio)
        .select(*columns, *FIGURES)
        .sort(in_order(columns), nulls_last=True)
    )


def _notes(frame: pl.DataFrame, units: Units, window: Window) -> Iterator[str]:
    yield f"window: {window.text()}"
    if frame.is_empty():
        yield NONE_HERE if units.places else NO_METRICS
        return
    silent = frame.filter(pl.col("preemptions").is_null())["pool"].drop_nulls().unique().sort()
    if len(silent):
        yield f"{', '.join(silent)}: not told {NO_COUNT}"
    if frame.select(
        ((pl.col("preemptions") > 0) & pl.col("preempted_input_tokens").is_null()).any()
    ).item():
        yield NO_TOKENS


def _verdict(row: Mapping[str, Any], lever: int) -> Verdict:
    pool, count = row["pool"], row["preemptions"]
    if count is None:
        return Verdict(lever=lever, pool=pool, applies=None, evidence=None, missing=NO_COUNT)
    finished, ratio = row["finished_calls"], row["preemption_ratio"]
    among = "" if finished is None else f" among {finished:,.0f} finished calls"
    is_often = count > 0 if ratio is None else ratio >= SELDOM_RATIO
    text = f"{count:,.0f} preemptions{among}"
    if row["kv_use_peak_ratio"] is not None:
        text += f"; KV memory in use is {row['kv_use_peak_ratio']:.0%} at most"
    return Verdict(lever=lever, pool=pool, applies=is_often, evidence=text)
