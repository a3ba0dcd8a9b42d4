"""Identical calls that need not have been computed twice: one after the other, or at once.

Owns the columns of `ask duplicates` and `ask in_flight`, and which of such calls would have been
saved. Refuses to save a call that may be answered otherwise each time: it is counted apart.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from analysis.answer import Answer
from analysis.claims import whole_calls
from analysis.repetition import cut_notes, known_hashes, repeated_costs, shown, spent_text
from analysis.reuse import NO_SOURCE, Requests, Whole, sources
from analysis.selection import caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.ttl import DEFAULT_TTL_NS, ttl_text
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Connection, Ledger

INSTANTS = ("first_at", "last_at")
LABELS = ("call_id", "endpoint", "team", "tenant", "model", "temperature", "seed")
FIGURES = (
    "is_deterministic", "call_count", "computed_count", "duplicate_count", *INSTANTS,
    "gpu_seconds", "duplicate_gpu_seconds", "saved_gpu_seconds",
    "cost", "duplicate_cost", "saved_cost", "currency", "unpriced_count",
)  # fmt: skip
APART_REASON = "neither temperature 0 nor a seed is known, so that each may be answered otherwise"
TOLD_NOTE = (
    "a prompt is what the telemetry tells of it; where it leaves out a part, such as the documents "
    "of a retrieval, calls may be taken for identical that are not"
)


def duplicates(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
    ttl_ns: int = DEFAULT_TTL_NS,
) -> Answer:
    """The groups of identical calls of which some would have been answered out of a cache.

    An answer stays in the cache for `ttl_ns` nanoseconds from the end of the call that filled it.
    Columns: docs/metrics/duplicates.md. The dearest first, at most `limit`. An empty answer is an
    answer.
    """
    marked = duplicate_calls(ledger.connection, window, where, ttl_ns)
    known = known_hashes(ledger.connection, window, where)["calls"].notes()
    when = f"within {ttl_text(ttl_ns)} of an answer to the same"
    return _answer(ledger, marked, window, limit, when=when, told=known)


def in_flight(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """The groups of identical calls of which some were sent while another was not yet answered.

    Columns: docs/metrics/in_flight.md. The dearest first, at most `limit`. An empty answer is an
    answer.
    """
    marked = waiting_calls(ledger.connection, window, where)
    known = known_hashes(ledger.connection, window, where)["calls"].notes()
    when = "while the same was in flight"
    return _answer(ledger, marked, window, limit, when=when, told=known)


def duplicate_calls(
    connection: Connection,
    window: Window,
    where: Mapping[str, str | None] | None,
    ttl_ns: int,
) -> pl.DataFrame:
    """The calls of the groups of `duplicates`: `group_no`, `call_no`, `begun_at`, `answered_at`,
    `is_deterministic`, and `is_duplicate` where a cache would have had the answer.
    """
    calls = _calls(connection, "duplicates", window, where)
    answered_at = _instants(calls["answered_at"])
    return _marked(calls, opens_at=answered_at, closes_at=answered_at + ttl_ns)


def waiting_calls(
    connection: Connection, window: Window, where: Mapping[str, str | None] | None
) -> pl.DataFrame:
    """The calls of the groups of `in_flight`, as `duplicate_calls` tells those of its own.

    `is_duplicate` is where another one was waited for.
    """
    calls = _calls(connection, "in_flight", window, where)
    begun_at, answered_at = _instants(calls["begun_at"]), _instants(calls["answered_at"])
    return _marked(calls, opens_at=begun_at, closes_at=answered_at)


def in_flight_claims(
    ledger: Ledger, *, window: Window, where: Mapping[str, str | None] | None = None
) -> pl.DataFrame:
    """The calls that could have waited for an identical one, whole, of those that may be saved."""
    return saved_calls(waiting_calls(ledger.connection, window, where))


def saved_calls(marked: pl.DataFrame) -> pl.DataFrame:
    """Claims on the duplicates of `marked` that are answered the same each time, whole."""
    is_saved = pl.col("is_deterministic").first().over("group_no").fill_null(value=False)
    return whole_calls(marked.filter(pl.col("is_duplicate") & is_saved)["call_no"])


def _calls(
    connection: Connection, name: str, window: Window, where: Mapping[str, str | None] | None
) -> pl.DataFrame:
    """The calls that question `name` looks at, by group and time."""
    filters = selected(where)
    return run_question(
        connection,
        question_named(name),
        cohort_ids=read_cohorts(connection, filters)["cohort_id"].to_list(),
        since=window.since,
        until=window.until,
        **caller_values(filters),
    )


def _instants(column: pl.Series) -> Whole:
    """`column` with 0 where it is not known: `sources` does not look there."""
    found: Whole = column.fill_null(0).to_numpy()
    return found


def _marked(calls: pl.DataFrame, *, opens_at: Whole, closes_at: Whole) -> pl.DataFrame:
    """`calls` of the groups that have a duplicate, with `is_duplicate`."""
    found = sources(
        Requests(
            groups=calls["group_no"].to_numpy(),
            begun_at=calls["begun_at"].to_numpy(),
            opens_at=opens_at,
            closes_at=closes_at,
            is_answered=calls["answered_at"].is_not_null().to_numpy(),
        )
    )
    marked = calls.with_columns(is_duplicate=pl.Series(found != NO_SOURCE, dtype=pl.Boolean))
    groups = marked.filter("is_duplicate").select("group_no").unique()
    return marked.join(groups, on="group_no", how="semi", maintain_order="left")


def _answer(
    ledger: Ledger,
    marked: pl.DataFrame,
    window: Window,
    limit: int | None,
    *,
    when: str,
    told: tuple[str, ...],
) -> Answer:
    groups = _groups(ledger.connection, marked)
    cut = groups if limit is None else groups.head(limit)
    labelled = cut.join(_labels(ledger.connection, cut), on="first_call_no", how="left")
    frame = shown(labelled.select(*LABELS, *FIGURES), None, window, INSTANTS)
    notes = (*_found_notes(groups, limit, when), *told)
    return Answer(frame=frame, notes=notes, window=window)


def _groups(connection: Connection, marked: pl.DataFrame) -> pl.DataFrame:
    """One row a group with what it cost and what of that is saved, the dearest saving first."""
    costs = repeated_costs(connection, marked)
    facts = marked.group_by("group_no", maintain_order=True).agg(
        first_call_no=pl.col("call_no").first(),
        first_at=pl.col("begun_at").first(),
        last_at=pl.col("begun_at").last(),
        is_deterministic=pl.col("is_deterministic").first(),
    )
    is_saved = pl.col("is_deterministic").fill_null(value=False)
    return (
        costs.join(facts, on="group_no")
        .with_columns(
            computed_count=pl.col("call_count") - pl.col("duplicate_count"),
            saved_gpu_seconds=pl.when(is_saved).then("duplicate_gpu_seconds").otherwise(0.0),
            saved_cost=pl.when(is_saved).then("duplicate_cost").otherwise(0),
        )
        .sort(
            "saved_gpu_seconds", "saved_cost", "duplicate_count", "first_at", "first_call_no",
            descending=[True, True, True, False, False],
            nulls_last=True,
        )
    )  # fmt: skip


def _labels(connection: Connection, groups: pl.DataFrame) -> pl.DataFrame:
    """Whose the first call of each group is."""
    found = run_question(
        connection, question_named("call_labels"), call_nos=groups["first_call_no"].to_list()
    )
    return found.rename({"call_no": "first_call_no"})


def _found_notes(groups: pl.DataFrame, limit: int | None, when: str) -> Iterator[str]:
    if groups.is_empty():
        yield f"no call was sent {when}"
        return
    is_saved = pl.col("is_deterministic").fill_null(value=False)
    saved, apart = groups.filter(is_saved), groups.filter(~is_saved)
    found = counted(groups.height, "group")
    spent = spent_text(saved, "saved_gpu_seconds", "saved_cost")
    yield f"{found} with calls sent {when}; saved: {_count_text(saved)}, {spent}"
    yield from cut_notes(groups, limit)
    if not apart.is_empty():
        spent = spent_text(apart, "duplicate_gpu_seconds", "duplicate_cost")
        yield f"counted apart: {_count_text(apart)}, {spent}: {APART_REASON}"
    unpriced = int(groups["unpriced_count"].sum())
    if unpriced:
        yield f"without a price: {counted(unpriced, 'duplicate')}"
    yield TOLD_NOTE


def _count_text(groups: pl.DataFrame) -> str:
    return counted(int(groups["duplicate_count"].sum()), "call")
