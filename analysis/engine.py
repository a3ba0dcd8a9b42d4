"""What engines count of themselves, beside what the calls of the ledger say of the same time.

Owns B by an engine's own count against B by calls, and the share of an engine's tokens that calls
tell. Refuses to mend either: where they differ, both are shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order, numbered_times
from analysis.columns import TIME_COLUMNS, nearest
from analysis.engine_notes import engine_notes
from analysis.engine_units import Units, read_units
from analysis.errors import WrongQuestionError
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.ledger import Connection, Ledger

ENGINE_FILTERS = ("pool", "replica", "engine", "model")
"""What an answer about engines may be filtered by; each row has these columns."""

LONGEST_STEP_NS = 600_000_000_000
"""A gauge is taken for what it was until its next sample, where that comes within ten minutes."""

PROMPT = ("prompt_tokens", "computed_prompt_tokens")
TOKEN_COUNTERS = (*PROMPT, "output_tokens")
OF_CALLS = ("input_tokens", "output_tokens", "told_count", "cached_tokens", "all_but_one_count")
"""What the question of tokens tells of calls; an engine's own sums have such names too."""
NO_METRICS = (
    "the ledger has no metrics of engines; take them with `gpuledger receive --scrape URL`, or "
    "`gpuledger ingest` a file of Prometheus text"
)


def engine(
    ledger: Ledger,
    *,
    by: Sequence[str] = (),
    window: Window,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a replica, or a pool whose calls name no replica, and a time of `by`.

    `by` is empty or one of hour, day and month. Columns: docs/engine-metrics.md. Without metrics in
    `window` the answer has no row, and a note says how to get some.
    """
    if len(by) > 1 or any(column not in TIME_COLUMNS for column in by):
        wrong = next((column for column in by if column not in TIME_COLUMNS), by[-1])
        raise WrongQuestionError(
            f"engines are by pool and replica, and by one time; not by {wrong!r}: "
            f"{nearest(wrong, TIME_COLUMNS)}"
        )
    units = read_units(ledger.connection)
    rows = _rows(ledger.connection, units, window)
    if rows.is_empty():
        note = f"no metrics of engines from {window.text()}" if units.places else NO_METRICS
        return Answer(frame=_nothing(by), notes=(note,), window=window)
    times = list(by)
    if times:
        calendar = numbered_times(rows["quarter"].unique().to_list(), window.timezone, times[0])
        rows = rows.join(calendar.select("quarter", *times), on="quarter")
    frame = _figures(rows.drop("quarter").group_by("unit_number", *times).sum(), units)
    frame = frame.select(*ENGINE_FILTERS, *times, *FIGURES).sort(
        *ENGINE_FILTERS, *in_order(times), nulls_last=True
    )
    for column, value in (where or {}).items():
        frame = frame.filter(pl.col(column).eq_missing(pl.lit(value, dtype=pl.String)))
    return Answer(frame=frame, notes=engine_notes(frame, units), window=window)


def _nothing(by: Sequence[str]) -> pl.DataFrame:
    """An answer's columns without a row."""
    texts = dict.fromkeys((*ENGINE_FILTERS, *by), pl.String)
    return pl.DataFrame(schema={**texts, **dict.fromkeys(FIGURES, pl.Float64)})


def _rows(connection: Connection, units: Units, window: Window) -> pl.DataFrame:
    """Sums of both sides by `unit_number` and `quarter`; a metric that is not told is null."""
    bounds: dict[str, Any] = {"since": window.since, "until": window.until}
    silent = units.silent()
    own = _engine_sums(connection, units, bounds | silent)
    if own.is_empty():
        return own
    running = units.series_of("running_calls")
    in_units = units.units_of_places()
    counters = {
        series: in_units[place] for series, place in units.series_of(*TOKEN_COUNTERS).items()
    }
    keys = units.unit_keys()
    calls = {
        "cohort_ids": list(units.cohort_pools),
        "cohort_pools": list(units.cohort_pools.values()),
        "by_replica": list(units.by_replica),
        "unit_keys": list(keys),
        "unit_numbers": list(keys.values()),
        **bounds,
    }
    served = run_question(
        connection,
        question_named("engine_calls"),
        series_ids=list(running),
        place_numbers=list(running.values()),
        places=list(in_units),
        place_units=list(in_units.values()),
        longest_step_ns=LONGEST_STEP_NS,
        **silent,
        **calls,
    )
    told = run_question(
        connection,
        question_named("engine_tokens"),
        series_ids=list(counters),
        series_units=list(counters.values()),
        **calls,
    )
    on = ["unit_number", "quarter"]
    tokens = told.rename({name: f"call_{name}" for name in OF_CALLS})
    return own.join(_keyed(served), on=on, how="full", coalesce=True).join(
        _keyed(tokens), on=on, how="full", coalesce=True
    )


def _keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` with its keys as the sums of engines have them."""
    return frame.with_columns(pl.col("unit_number", "quarter").cast(pl.Int32))


def _engine_sums(connection: Connection, units: Units, bounds: Mapping[str, Any]) -> pl.DataFrame:
    """What the engines of each unit count of themselves, a column a metric and kind of sum."""
    series = units.series_of(*SUMS)
    in_units = units.units_of_places()
    rows = run_question(
        connection,
        question_named("engine"),
        series_ids=list(series),
        place_numbers=list(series.values()),
        longest_step_ns=LONGEST_STEP_NS,
        **bounds,
    )
    numbers = pl.DataFrame(
        {"place_number": list(in_units), "unit_number": list(in_units.values())},
        schema={"place_number": pl.Int32, "unit_number": pl.Int32},
    )
    placed = rows.with_columns(pl.col("place_number").cast(pl.Int32)).join(
        numbers, on="place_number"
    )
    sums = [
        pl.col(column).filter(pl.col("metric") == metric).sum().alias(f"{metric}.{column}")
        for metric, columns in SUMS.items()
        for column in columns
    ]
    told = [
        (pl.col("metric") == metric).any().cast(pl.Int32).alias(f"{metric}.told") for metric in SUMS
    ]
    resets = pl.col("reset_count").max().alias("resets")
    return _keyed(placed.group_by("unit_number", "quarter").agg(*sums, *told, resets))


GAUGE, COUNTER = ("level_s", "known_s"), ("growth", "grown_s")
SUMS: Mapping[str, tuple[str, ...]] = {
    "running_calls": (*GAUGE, "active_s", "active_count"),
    "waiting_calls": GAUGE,
    "kv_use_ratio": GAUGE,
    "prompt_tokens": COUNTER,
    "computed_prompt_tokens": COUNTER,
    "cached_prompt_tokens": COUNTER,
    "prefix_query_tokens": COUNTER,
    "prefix_hit_tokens": COUNTER,
    "output_tokens": COUNTER,
    "preemptions": COUNTER,
}

FIGURES = (
    "sampled_s",
    "running_calls",
    "waiting_calls",
    "kv_use_ratio",
    "prefix_hit_ratio",
    "query_hit_ratio",
    "cached_prompt_tokens",
    "prefix_query_tokens",
    "call_hit_ratio",
    "call_told_count",
    "call_all_but_one_count",
    "preemptions",
    "resets",
    "prompt_tokens_per_s",
    "output_tokens_per_s",
    "busy_samples",
    "B_engine",
    "B_calls",
    "B_ratio",
    "prompt_tokens",
    "call_input_tokens",
    "input_coverage_ratio",
    "output_tokens",
    "call_output_tokens",
    "output_coverage_ratio",
)


def _figures(sums: pl.DataFrame, units: Units) -> pl.DataFrame:
    """The columns of an answer from the sums of each row; null where a part is not told."""
    labels = pl.DataFrame(
        [
            {
                "unit_number": number,
                "pool": unit.pool,
                "replica": unit.replica,
                "engine": unit.engine,
                "model": unit.model,
                "has_calls": unit.pool_number is not None,
            }
            for number, unit in enumerate(units.units)
        ],
        schema_overrides=dict.fromkeys(ENGINE_FILTERS, pl.String) | {"unit_number": pl.Int32},
    )
    has_calls = pl.col("has_calls")
    known = sums.with_columns(pl.col("unit_number").cast(pl.Int32)).join(labels, on="unit_number")
    prompt = pl.when(pl.col("prompt_tokens.told") > 0).then(pl.col("prompt_tokens.growth"))
    parts = pl.col("computed_prompt_tokens.growth") + pl.col("cached_prompt_tokens.growth")
    computed = pl.when(pl.col("computed_prompt_tokens.told") > 0).then(parts)
    prompt_s = pl.col("prompt_tokens.grown_s") + pl.col("computed_prompt_tokens.grown_s")
    first = known.with_columns(
        prompt_tokens=pl.coalesce(prompt, computed),
        output_tokens=_told("output_tokens"),
        sampled_s=pl.col("running_calls.known_s"),
        running_calls=_ratio("running_calls.level_s", "running_calls.known_s"),
        waiting_calls=_ratio("waiting_calls.level_s", "waiting_calls.known_s"),
        kv_use_ratio=_ratio("kv_use_ratio.level_s", "kv_use_ratio.known_s"),
        preemptions=_told("preemptions"),
        busy_samples=pl.col("running_calls.active_count"),
        B_engine=_ratio("running_calls.level_s", "running_calls.active_s"),
        B_calls=pl.when(has_calls).then(_ratio("residence_s", "busy_s")),
        prompt_s=prompt_s,
    ).with_columns(
        call_input_tokens=pl.when(has_calls & pl.col("prompt_tokens").is_not_null()).then(
            pl.col("call_input_tokens")
        ),
        call_output_tokens=pl.when(has_calls & pl.col("output_tokens").is_not_null()).then(
            pl.col("call_output_tokens")
        ),
        call_told_count=pl.when(has_calls).then(pl.col("call_told_count")),
        call_all_but_one_count=pl.when(has_calls).then(pl.col("call_all_but_one_count")),
    )
    return first.with_columns(
        prefix_hit_ratio=_share(_told("cached_prompt_tokens"), pl.col("prompt_tokens")),
        query_hit_ratio=_share(_told("prefix_hit_tokens"), _told("prefix_query_tokens")),
        cached_prompt_tokens=_told("cached_prompt_tokens"),
        prefix_query_tokens=_told("prefix_query_tokens"),
        call_hit_ratio=pl.when(has_calls).then(_ratio("call_cached_tokens", "told_input_tokens")),
        prompt_tokens_per_s=_quotient(pl.col("prompt_tokens"), pl.col("prompt_s")),
        output_tokens_per_s=_ratio("output_tokens", "output_tokens.grown_s"),
        B_ratio=_quotient(pl.col("B_calls"), pl.col("B_engine")),
        input_coverage_ratio=_quotient(pl.col("call_input_tokens"), pl.col("prompt_tokens")),
        output_coverage_ratio=_quotient(pl.col("call_output_tokens"), pl.col("output_tokens")),
    )


def _told(metric: str) -> pl.Expr:
    """What a counter grew by; null where the engine does not tell it."""
    return pl.when(pl.col(f"{metric}.told") > 0).then(pl.col(f"{metric}.growth"))


def _ratio(part: str, whole: str) -> pl.Expr:
    return _quotient(pl.col(part), pl.col(whole))


def _quotient(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """`part / whole`, null where there is nothing to divide by."""
    return pl.when(whole > 0).then(part / whole)


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """`part / whole`; null where that is no share."""
    share = _quotient(part, whole)
    return pl.when(share.is_between(0, 1)).then(share)
