"""How far the ledger's calls reach, and what a window without bounds therefore is.

Owns the default window: from the first service start to the last end, of the calls whose times do
not contradict each other. Refuses an answer about calls where there is none.
"""

from dataclasses import dataclass, replace

import polars as pl

from analysis.errors import NoDataError
from analysis.selection import Filters, filter_text, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window, instant_text
from analysis.wording import counted
from ingest.charging.estimates import stored_paces, time_calls
from ingest.ledger import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """First service start and last end of the calls of an origin, in nanoseconds since 1970.

    Calls whose times contradict each other are in `call_count` alone.
    """

    first_at: int | None
    last_at: int | None
    call_count: int


def extent_of(connection: Connection, filters: Filters) -> Extent:
    """How far the calls of the filtered origin reach; an end that was not observed is estimated."""
    observed = _observed(connection, filters)
    ends = [at for at in (observed.last_at, _estimated_end(connection, filters)) if at is not None]
    return replace(observed, last_at=max(ends, default=None))


def _observed(connection: Connection, filters: Filters) -> Extent:
    cohorts = read_cohorts(connection, {})
    is_own = (pl.col("origin") == filters["origin"]) & (pl.col("timing_quality") != "invalid")
    if cohorts.select(is_own.all()).item():
        return Extent(**run_question(connection, question_named("extent")).row(0, named=True))
    rows = run_question(connection, question_named("extent_by_origin"))
    own = rows.filter(pl.col("origin") == filters["origin"]).drop("origin").to_dicts()
    return Extent(**own[0]) if own else Extent(first_at=None, last_at=None, call_count=0)


def _estimated_end(connection: Connection, filters: Filters) -> int | None:
    """The end of the last charged call that does not tell it, by the paces of its charges."""
    time_calls(connection, stored_paces(connection))
    found = run_question(connection, question_named("estimated_end"), origin=filters["origin"])
    end: int | None = found.item()
    return end


def bounded(connection: Connection, window: Window, filters: Filters) -> Window:
    """`window` with the bounds that it lacks taken from the calls of the filtered origin."""
    if window.since is not None and window.until is not None:
        return window
    extent = extent_of(connection, filters)
    since = extent.first_at if window.since is None else window.since
    if since is None or extent.last_at is None:
        return window
    until = max(extent.last_at, since + 1) if window.until is None else window.until
    return window if since >= until else replace(window, since=since, until=until)


def no_calls(connection: Connection, window: Window, filters: Filters) -> NoDataError:
    """The error for a selection without a call; it says what the ledger holds instead."""
    return NoDataError(no_calls_text(connection, window, filters))


def no_calls_text(connection: Connection, window: Window, filters: Filters) -> str:
    """That no call is in `window`, and how far the ledger's calls reach, in words."""
    extent = extent_of(connection, filters)
    asked = f"no calls with {filter_text(filters)} from {window.text()}"
    if extent.call_count == 0:
        return f"{asked}: the ledger has none of that origin; ingest some first"
    if extent.first_at is None or extent.last_at is None:
        return f"{asked}: no call of the ledger tells its time"
    first = instant_text(extent.first_at, window.timezone)
    last = instant_text(extent.last_at, window.timezone)
    reach = "reaches" if extent.call_count == 1 else "reach"
    return (
        f"{asked}: the ledger's {counted(extent.call_count, 'call')} {reach} from {first} to {last}"
    )
