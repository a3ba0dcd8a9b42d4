"""The scans behind the law: sums per cohort, rate, time and caller, straight from the ledger.

Owns which of the two statements is run, and the edges of a window that whole quarter-hours leave.
Refuses labels and money.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import polars as pl

from analysis.calendar import numbered_times
from analysis.columns import CALLER_COLUMNS, TIME_COLUMNS
from analysis.selection import Filters, caller_values
from analysis.sql import question_named, run_question
from analysis.window import QUARTER_NS, Window
from ingest.charging.window import edge_pieces
from ingest.ledger import Connection

EDGE_CHARGES = "edge_charges"
NO_TIMES = pl.DataFrame(schema={"quarter": pl.Int32, "time_number": pl.Int32})


class Scan(Protocol):
    """Where the sums come from: `scanned`, or what keeps its rows.

    Rows that are finer than was asked for do as well: sums are exact and add up.
    """

    def __call__(
        self,
        connection: Connection,
        times: pl.DataFrame,
        *,
        by: Sequence[str],
        window: Window,
        filters: Filters,
    ) -> pl.DataFrame: ...


def times_of(by: Sequence[str], window: Window) -> pl.DataFrame:
    """The quarter-hours of the window, with the time column of `by` and its `time_number`.

    Empty where `by` has no column of time, or the window lacks a bound.
    """
    column = next((column for column in by if column in TIME_COLUMNS), None)
    if column is None:
        return NO_TIMES
    if window.since is None or window.until is None:
        return numbered_times([], window.timezone, column)
    quarters = range(window.since // QUARTER_NS, window.until // QUARTER_NS + 1)
    return numbered_times(quarters, window.timezone, column)


def scanned(
    connection: Connection,
    times: pl.DataFrame,
    *,
    by: Sequence[str],
    window: Window,
    filters: Filters,
) -> pl.DataFrame:
    """Sums per cohort, rate and basis, per time of `times` and per caller where `by` has one.

    Callers are filtered here, cohorts are not.
    """
    bounds = {
        "since": window.since,
        "until": window.until,
        "first_quarter": window.first_quarter,
        "until_quarter": window.until_quarter,
    }
    details = {
        "quarters": times["quarter"].to_list(),
        "time_numbers": times["time_number"].to_list(),
        "is_by_time": times.height > 0,
        "caller": next((column for column in by if column in CALLER_COLUMNS), None),
        **caller_values(filters),
    }
    with _edge_charges(connection, window):
        if {*by, *filters}.isdisjoint((*CALLER_COLUMNS, *TIME_COLUMNS)):
            return run_question(connection, question_named("law"), **bounds)
        return run_question(connection, question_named("law_detailed"), **bounds, **details)


@contextmanager
def _edge_charges(connection: Connection, window: Window) -> Iterator[None]:
    """The table `edge_charges`: what of `window` lies in no whole quarter-hour."""
    connection.register(EDGE_CHARGES, edge_pieces(connection, window.since, window.until))
    try:
        yield
    finally:
        connection.unregister(EDGE_CHARGES)
