"""Latencies by any column: queue, prefill, first token, time per output token, end to end.

Owns percentiles of what was observed. Refuses estimates: a phase that charging had to lay out is
counted as unknown.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.extent import extent_of
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

MOST_EXACT_CALLS = 2_000_000
"""Beyond so many calls in the ledger percentiles come from a histogram of buckets 1 % wide."""

MEASURES = ("queue", "prefill", "ttft", "tpot", "e2e")

ITL_NOTE = (
    "ITL, the gap before each single token, is not told: calls tell the first token and the end; "
    "tpot is the mean gap of an answer, and evens out its stalls"
)


def latency(
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
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    is_exact = extent_of(ledger.connection, groups.filters).call_count <= most_exact_calls
    rows = groups.rows_of(ledger.connection, "latency" if is_exact else "latency_histogram")
    measure = pl.col("measure").cast(pl.Enum(MEASURES))
    frame = (
        rows.with_columns(measure)
        .sort([*in_order(groups.columns), "measure"], nulls_last=True)
        .with_columns(pl.col("measure").cast(pl.String))
    )
    return Answer(frame=frame, notes=_notes(frame, groups.window, is_exact), window=groups.window)


def _notes(frame: pl.DataFrame, window: Window, is_exact: bool) -> tuple[str, ...]:
    notes = [f"window: {window.text()}", ITL_NOTE]
    unknown = int(frame["unknown_count"].sum())
    if unknown:
        notes.append(f"not observed, hence in no percentile: {counted(unknown, 'duration')}")
    if not is_exact:
        notes.append("percentiles are of buckets 1 % wide (many calls)")
    return tuple(notes)
