"""Answers, asked once for each version of the ledger and the configuration.

Owns the cache and the moments in which the ledger is open: it is opened for one question and
closed again, so that an ingest can run meanwhile. Refuses to keep an answer of an older version.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

import polars as pl
import streamlit as st

from analysis.answer import Answer
from analysis.calls import calls
from analysis.errors import NoDataError
from analysis.explain import explain
from analysis.extent import extent_of, no_calls
from analysis.law import law
from analysis.row_checks import unpriced_calls
from analysis.selection import read_cohorts, selected
from analysis.trace import trace
from analysis.traces import TraceSearch, traces
from analysis.window import Window
from dashboard.drilldown import Behind
from dashboard.source import Source
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import Ledger

KEPT_ANSWERS = 256
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
        lambda ledger, configuration: law(ledger, configuration, by=by, window=window, where=where),
    )


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Comparing …")
def moved(source: Source, before: Window, after: Window, where: Where) -> Answer:
    """What each letter did to the bill from `before` to `after`, by endpoint, as `explain` says."""
    return _asked(
        source,
        lambda ledger, configuration: explain(
            ledger, configuration, before=before, after=after, where=where
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
def trace_of(source: Source, identity: str) -> Answer:
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


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Opening the ledger …")
def names(source: Source, column: str) -> list[str]:
    """The values of `column` that calls have, in their order."""
    cohorts = _asked(source, lambda ledger, _: read_cohorts(ledger.connection, selected(None)))
    return sorted(cohorts[column].drop_nulls().unique())


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
    count = int(law_by(source, (), window, behind.where).frame["N"].sum())
    return calls_in(source, window, behind.where, order, most), count


def _reach(ledger: Ledger, configuration: Configuration) -> tuple[int, int] | None:
    extent = extent_of(ledger.connection, selected(None))
    if extent.call_count == 0:
        everything = Window(timezone=configuration.timezone)
        raise no_calls(ledger.connection, everything, selected(None))
    if extent.first_at is None or extent.last_at is None:
        return None
    return extent.first_at, extent.last_at


def _asked(source: Source, question: Callable[[Ledger, Configuration], _T]) -> _T:
    configuration = source.configuration()
    with _turn, open_current(source.ledger_path, configuration) as ledger:
        return question(ledger, configuration)
