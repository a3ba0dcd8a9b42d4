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
from analysis.law import law
from analysis.window import Window
from dashboard.source import Source
from ingest.config import Configuration
from ingest.current import open_current
from ingest.ledger import Ledger

KEPT_ANSWERS = 256
_T = TypeVar("_T")

# Two sessions may ask at once. DuckDB refuses to open a file for writing (which bringing the
# charges up to date needs) while the same process reads it, so questions take turns.
_turn = threading.Lock()


@st.cache_data(max_entries=KEPT_ANSWERS, show_spinner="Adding up …")
def law_by(
    source: Source, by: tuple[str, ...], window: Window, where: Mapping[str, str | None]
) -> Answer:
    """The lines of the law, grouped by the columns `by`."""
    return _asked(
        source,
        lambda ledger, configuration: law(ledger, configuration, by=by, window=window, where=where),
    )


def months(source: Source, zone: str) -> list[str]:
    """The months of `zone` in which the ledger has calls or idle time, in their order."""
    frame = law_by(source, ("month",), Window(timezone=zone), {}).frame
    return sorted(set(frame["month"].drop_nulls()))


def names(source: Source, column: str, zone: str) -> list[str]:
    """The values of `column` that calls have, in their order."""
    frame = law_by(source, (column,), Window(timezone=zone), {}).frame
    return sorted(set(frame.filter(pl.col("line") == "calls")[column].drop_nulls()))


def _asked(source: Source, question: Callable[[Ledger, Configuration], _T]) -> _T:
    configuration = source.configuration()
    with _turn, open_current(source.ledger_path, configuration) as ledger:
        return question(ledger, configuration)
