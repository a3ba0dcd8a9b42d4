"""Questions that list rows: at most so many of them, with how many there are.

Owns the bound of a list and the text of its instants. Refuses to say what is not shown: the words
are those of each list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analysis.instants import with_instant_texts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.ledger import Ledger

ALL_ROWS = 2**62
"""A bound that no list reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rows that are shown, and how many fit what was asked."""

    frame: pl.DataFrame
    fitting_count: int

    @property
    def more_count(self) -> int:
        """How many rows fit and are not shown."""
        return self.fitting_count - self.frame.height


def listed(
    ledger: Ledger,
    name: str,
    *,
    window: Window,
    limit: int | None,
    instants: Sequence[str],
    **wanted: str | int | None,
) -> Listing:
    """The rows of question `name` in `window`, at most `limit`; `wanted` are its own parameters.

    Each row of the question has `fitting_count`. The columns `instants` become RFC 3339 text in
    the window's zone.
    """
    found = run_question(
        ledger.connection,
        question_named(name),
        since=window.since,
        until=window.until,
        most_rows=ALL_ROWS if limit is None else limit,
        **wanted,
    )
    return Listing(
        frame=with_instant_texts(found.drop("fitting_count"), instants, window.timezone),
        fitting_count=0 if found.is_empty() else int(found["fitting_count"][0]),
    )
