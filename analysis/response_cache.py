"""What share of calls a cache of answers would have answered, beside what share of their cost.

Owns the columns of `ask response_cache`, and what a cache claims of each call. Refuses a hit rate
without the saving beside it, and to count a hit where an answer may come out otherwise each time.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.duplicates import APART_REASON, TOLD_NOTE, duplicate_calls, saved_calls
from analysis.groups import Groups, groups_of
from analysis.repetition import known_hashes, repeated_costs, spent_text
from analysis.ttl import DEFAULT_TTL_NS, ttl_text
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

CACHED_CALLS = "cached_calls"
"""The table that the question reads: `call_no` of each duplicate, and whether it `is_saved`."""

_IS_SAVED = pl.col("is_deterministic").fill_null(value=False)


def response_cache(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    ttl_ns: int = DEFAULT_TTL_NS,
) -> Answer:
    """Hits of an exact cache by the columns `by`, and their share of GPU-seconds and cost.

    Hits are the saved calls of `ask duplicates` under the same `ttl_ns` in nanoseconds. Columns:
    docs/metrics/response_cache.md. Raises `NoDataError` where no call is in the window.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    found = duplicate_calls(ledger.connection, groups.asked, groups.filters, ttl_ns)
    frame = _rows(ledger.connection, groups, found)
    saved = found.filter(pl.col("is_duplicate") & _IS_SAVED)
    notes = tuple(_notes(ledger.connection, groups, frame, saved, ttl_ns))
    return Answer(frame=frame, notes=notes, window=groups.window)


def response_cache_claims(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    ttl_ns: int = DEFAULT_TTL_NS,
) -> pl.DataFrame:
    """The calls that a cache would have answered, whole."""
    return saved_calls(duplicate_calls(ledger.connection, window, where, ttl_ns))


def _rows(connection: Connection, groups: Groups, found: pl.DataFrame) -> pl.DataFrame:
    cached = found.filter("is_duplicate").select("call_no", is_saved=_IS_SAVED)
    connection.register(CACHED_CALLS, cached)
    try:
        return groups.rows_of(connection, "response_cache")
    finally:
        connection.unregister(CACHED_CALLS)


def _notes(
    connection: Connection, groups: Groups, frame: pl.DataFrame, saved: pl.DataFrame, ttl_ns: int
) -> Iterator[str]:
    yield f"window: {groups.window.text()}; the cache is empty at its begin"
    hit_count, apart_count = (int(frame[name].sum()) for name in ("hit_count", "apart_count"))
    call_count = int(frame["call_count"].sum())
    costs = repeated_costs(connection, saved.with_columns(group_no=pl.col("call_no")))
    spent = spent_text(costs, "duplicate_gpu_seconds", "duplicate_cost")
    yield (
        f"{hit_count:,} of {counted(call_count, 'call')} answered within {ttl_text(ttl_ns)} of an "
        f"answer to the same: {spent}"
    )
    if apart_count:
        yield f"counted apart: {counted(apart_count, 'call')}: {APART_REASON}"
    if unpriced := int(frame["unpriced_hit_count"].sum()):
        yield f"without a price: {counted(unpriced, 'hit')}"
    is_without = (pl.col("hit_count") > pl.col("unpriced_hit_count")) & pl.col("cost").is_null()
    if several := frame.filter(is_without).height:
        yield (
            f"no cost in {counted(several, 'group')} whose calls are in several currencies: ask by "
            "model or pool"
        )
    if hit_count + apart_count:
        yield TOLD_NOTE
    yield from known_hashes(connection, groups.asked, groups.filters)["calls"].notes()
