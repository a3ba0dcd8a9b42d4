"""Latencies by any column: queue, time to first token, time per output token, end to end.

Owns percentiles of what was observed. Refuses estimates: a phase that charging had to lay out is
counted as unknown.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.columns import CALLER_COLUMNS, TIME_COLUMNS, checked_groups
from analysis.extent import bounded, extent_of, no_calls
from analysis.scan import times_of
from analysis.selection import caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

MOST_EXACT_CALLS = 2_000_000
"""Beyond so many calls in the ledger percentiles come from a histogram of buckets 1 % wide."""

MEASURES = ("queue", "ttft", "tpot", "e2e")


def latency(  # noqa: PLR0913 - a question is asked by keywords
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    most_exact_calls: int = MOST_EXACT_CALLS,
) -> Answer:
    """p50, p95 and p99 in s of each measure by the columns `by`, with known and unknown counts.

    Columns: docs/metrics/latency.md. Raises `NoDataError` where no call is in the window.
    """
    columns = checked_groups(by)
    filters = selected(where)
    asked = window or Window(timezone=configuration.timezone)
    cohorts = read_cohorts(ledger.connection, filters)
    resolved = bounded(ledger.connection, asked, filters)
    groups = _numbered(cohorts, [c for c in columns if c not in (*CALLER_COLUMNS, *TIME_COLUMNS)])
    times = times_of(columns, resolved)
    is_exact = extent_of(ledger.connection, filters).call_count <= most_exact_calls
    rows = run_question(
        ledger.connection,
        question_named("latency" if is_exact else "latency_histogram"),
        cohort_ids=groups["cohort_id"].to_list(),
        group_numbers=groups["group_number"].to_list(),
        quarters=times["quarter"].to_list(),
        time_numbers=times["time_number"].to_list(),
        caller=next((column for column in columns if column in CALLER_COLUMNS), None),
        since=asked.since,
        until=asked.until,
        **caller_values(filters),
    )
    if rows.is_empty():
        raise no_calls(ledger.connection, asked, filters)
    frame = _labelled(rows, groups, times, columns)
    return Answer(frame=frame, notes=_notes(frame, resolved, is_exact), window=resolved)


def _numbered(cohorts: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """`cohorts` with `group_number`, one number for each combination of `columns`."""
    if not columns:
        return cohorts.with_columns(group_number=pl.lit(0))
    groups = cohorts.select(columns).unique(maintain_order=True).with_row_index("group_number")
    return cohorts.join(groups, on=columns, how="left", nulls_equal=True)


def _labelled(
    rows: pl.DataFrame, groups: pl.DataFrame, times: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """`rows` with the columns grouped by in place of their numbers, in their order."""
    by_cohort = [c for c in columns if c not in (*CALLER_COLUMNS, *TIME_COLUMNS)]
    labels = groups.select("group_number", *by_cohort).unique("group_number")
    labelled = rows.join(labels, on="group_number", how="left")
    for column in columns:
        if column in TIME_COLUMNS:
            names = times.select("time_number", column).unique("time_number")
            labelled = labelled.join(names, on="time_number", how="left")
        elif column in CALLER_COLUMNS:
            labelled = labelled.rename({"caller": column})
    percentiles = ["p50_s", "p95_s", "p99_s", "known_count", "unknown_count"]
    measure = pl.col("measure").cast(pl.Enum(MEASURES))
    return (
        labelled.with_columns(measure)
        .sort([*columns, "measure"], nulls_last=True)
        .with_columns(pl.col("measure").cast(pl.String))
        .select(*columns, "measure", *percentiles)
    )


def _notes(frame: pl.DataFrame, window: Window, is_exact: bool) -> tuple[str, ...]:
    notes = [f"window: {window.text()}"]
    unknown = int(frame["unknown_count"].sum())
    if unknown:
        notes.append(f"not observed, hence in no percentile: {counted(unknown, 'duration')}")
    if not is_exact:
        notes.append("percentiles are of buckets 1 % wide (many calls)")
    return tuple(notes)
