"""Answers, asked once for each version of the ledger and the configuration.

Owns the cache (of answers, and of the sums by day that several of them are made of) and the moments
in which the ledger is open: it is opened for one question and closed again, so that an ingest can
run meanwhile. Refuses to keep an answer of an older version.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import polars as pl
import streamlit as st

from analysis.answer import Answer
from analysis.calls import calls
from analysis.columns import COHORT_COLUMNS
from analysis.errors import NoDataError
from analysis.explain import explain
from analysis.extent import extent_of, no_calls
from analysis.law import law
from analysis.row_checks import unpriced_calls
from analysis.scan import Scan, scanned, times_of
from analysis.selection import Filters, read_cohorts, selected
from analysis.trace import TraceAnswer, trace
from analysis.traces import TraceSearch, traces
from analysis.window import Window
from dashboard.drilldown import Behind
from dashboard.source import Source
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import Connection, Ledger

KEPT_ANSWERS = 256
KEPT_SCANS = 32
DAY = ("day",)
ROW_ORDER = ("cohort_id", "rate_id", "basis", "currency")
"""As the law reads its rows: the order of groups decides who takes the last unit of a rounding."""
UNPRICED_FIRST = "unpriced"
Where = Mapping[str, str | None]
_T = TypeVar("_T")

# Two sessions may ask at once. DuckDB refuses to open a file for writing (which bringing the
# charges up to date needs) while the same process reads it, so questions take turns.
_turn = threading.Lock()


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Adding up …")
def law_by(source: Source, by: tuple[str, ...], window: Window, where: Where) -> Answer:
    """The lines of the law, grouped by the columns `by`."""
    return _asked(
        source,
        lambda ledger, configuration: law(
            ledger, configuration, by=by, window=window, where=where, scan=_scan_of(source)
        ),
    )


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Comparing …")
def moved(source: Source, before: Window, after: Window, where: Where) -> Answer:
    """What each letter did to the bill from `before` to `after`, by endpoint, as `explain` says."""
    return _asked(
        source,
        lambda ledger, configuration: explain(
            ledger, configuration, before=before, after=after, where=where, scan=_scan_of(source)
        ),
    )


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Reading calls …")
def calls_in(source: Source, window: Window, where: Where, order: str, limit: int) -> Answer:
    """The first `limit` calls in `order`."""
    return _asked(
        source,
        lambda ledger, configuration: calls(
            ledger, configuration, window=window, where=where, order=order, limit=limit
        ),
    )


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Searching traces …")
def traces_in(source: Source, window: Window, where: Where, search: TraceSearch) -> Answer:
    """The traces that `search` finds."""
    return _asked(
        source,
        lambda ledger, configuration: traces(
            ledger, configuration, search=search, window=window, where=where
        ),
    )


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Reading the trace …")
def trace_of(source: Source, identity: str) -> TraceAnswer:
    """The spans of the trace, or the call, whose id begins with `identity`."""
    return _asked(source, lambda ledger, configuration: trace(ledger, configuration, identity))


def law_before(
    source: Source, by: tuple[str, ...], window: Window | None, where: Where
) -> pl.DataFrame | None:
    """The lines of an earlier window; None where there is none or it has no calls."""
    if window is None:
        return None
    try:
        return law_by(source, by, window, where).frame
    except NoDataError:
        return None


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Opening the ledger …")
def reach(source: Source) -> tuple[int, int] | None:
    """The first service start and the last end of the ledger's calls, ns since 1970.

    None where there are calls and none tells its time.
    """
    return _asked(source, _reach)


def names(source: Source, column: str) -> list[str]:
    """The values of `column` that calls have, in their order."""
    return _names(source)[column]


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Opening the ledger …")
def _names(source: Source) -> dict[str, list[str]]:
    cohorts = _asked(source, lambda ledger, _: read_cohorts(ledger.connection, selected(None)))
    return {column: sorted(cohorts[column].drop_nulls().unique()) for column in COHORT_COLUMNS}


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Looking for prices …")
def without_price(source: Source) -> pl.DataFrame:
    """How many calls of the whole ledger have no price, by model and reason."""
    return _asked(source, lambda ledger, _: unpriced_calls(ledger.connection))


def calls_behind(
    source: Source, window: Window, behind: Behind, order: str, most: int
) -> tuple[Answer, int]:
    """At most `most` calls behind a line in `order`, and how many there are."""
    if behind.unpriced_count is not None:
        limit = min(most, behind.unpriced_count)
        return calls_in(source, window, behind.where, UNPRICED_FIRST, limit), behind.unpriced_count
    count = calls_count(source, window, behind.where)
    return calls_in(source, window, behind.where, order, most), count


def calls_count(source: Source, window: Window, where: Where) -> int:
    """How many calls there are; raises `NoDataError` where the law has no line."""
    return int(law_by(source, (), window, where).frame["N"].sum())


def _reach(ledger: Ledger, configuration: Configuration) -> tuple[int, int] | None:
    extent = extent_of(ledger.connection, selected(None))
    if extent.call_count == 0:
        everything = Window(timezone=configuration.timezone)
        raise no_calls(ledger.connection, everything, selected(None))
    if extent.first_at is None or extent.last_at is None:
        return None
    return extent.first_at, extent.last_at


def _scan_of(source: Source) -> Scan:
    """A scan that reads each window of the ledger once: its sums by day make all the others."""

    def scan(
        connection: Connection,
        times: pl.DataFrame,
        *,
        by: Sequence[str],
        window: Window,
        filters: Filters,
    ) -> pl.DataFrame:
        is_bounded = window.since is not None and window.until is not None
        if is_bounded and {*by, *filters} <= {*COHORT_COLUMNS, *DAY}:
            rows = _sums_by_day(source, window, connection)
            return rows if DAY[0] in by else rows.sort(ROW_ORDER, nulls_last=True)
        return scanned(connection, times, by=by, window=window, filters=filters)

    return scan


@st.cache_data(max_entries=KEPT_SCANS, show_spinner=False)
def _sums_by_day(
    source: Source,  # noqa: ARG001 - tells the sums of one version of a ledger from another's
    window: Window,
    _connection: Connection,
) -> pl.DataFrame:
    """The sums of all calls in `window`, by cohort, rate and day."""
    return scanned(_connection, times_of(DAY, window), by=DAY, window=window, filters={})


def _asked(source: Source, question: Callable[[Ledger, Configuration], _T]) -> _T:
    configuration = source.configuration()
    with _turn, open_current(source.ledger_path, configuration) as ledger:
        return question(ledger, configuration)
