"""The calls themselves, one row each, with their phases, GPU-seconds and money.

Owns the columns of `ask calls`. Refuses to cut a call: its charges are shown whole, also where it
ends after the window that it began in.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.columns import nearest
from analysis.errors import WrongQuestionError
from analysis.extent import no_calls
from analysis.instants import with_instant_texts
from analysis.listing import ALL_ROWS
from analysis.selection import caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

ORDERS = (
    "started_at", "cost", "gpu_seconds", "e2e_s", "input_tokens", "output_tokens", "unpriced",
)  # fmt: skip
"""What calls may be sorted by: `started_at` from the earliest, `unpriced` those without a price
first, then those with one in part, the others from the largest."""

INSTANTS = ("arrived_at", "started_at", "first_token_at", "ended_at")


def calls(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    order: str = "started_at",
    limit: int | None = None,
) -> Answer:
    """The calls that begin service in `window`, at most `limit`, sorted by `order`.

    Instants are RFC 3339 text in the window's zone; durations in s; columns in
    docs/metrics/calls.md. Raises `NoDataError` where there is none.
    """
    if order not in ORDERS:
        raise WrongQuestionError(f"cannot order by {order!r}; {nearest(order, ORDERS)}")
    asked = window or Window(timezone=configuration.timezone)
    filters = selected(where)
    frame = run_question(
        ledger.connection,
        question_named("calls"),
        cohort_ids=read_cohorts(ledger.connection, filters)["cohort_id"].to_list(),
        since=asked.since,
        until=asked.until,
        **caller_values(filters),
        trace_id=None,
        any_call=True,
        call_ids=[],
        ranked_by=order,
        most_rows=ALL_ROWS if limit is None else limit,
    )
    if frame.is_empty():
        raise no_calls(ledger.connection, asked, filters)
    return Answer(
        frame=with_instant_texts(frame, INSTANTS, asked.timezone),
        notes=_notes(frame, asked, limit),
        window=asked,
    )


def calls_of(
    connection: Connection, *, trace_id: str | None = None, call_ids: Sequence[str] | None = None
) -> pl.DataFrame:
    """The calls of one trace, or of these ids, of any origin; instants are ns since 1970."""
    return run_question(
        connection,
        question_named("calls"),
        cohort_ids=read_cohorts(connection, {})["cohort_id"].to_list(),
        since=None,
        until=None,
        **caller_values({}),
        trace_id=trace_id,
        any_call=call_ids is None,
        call_ids=list(call_ids or ()),
        ranked_by="started_at",
        most_rows=ALL_ROWS,
    )


def _notes(frame: pl.DataFrame, window: Window, limit: int | None) -> tuple[str, ...]:
    notes = [f"window: {window.text()}"]
    if limit is not None and frame.height == limit:
        notes.append(f"the first {counted(limit, 'call')}; raise --limit for more")
    partly = frame.filter(pl.col("cost_status") == "partly priced").height
    if partly:
        notes.append(
            f"priced in part: {counted(partly, 'call')}; cost is of that part, unpriced_reason "
            "tells the other"
        )
    unpriced = frame.filter(pl.col("cost").is_null()).height
    if unpriced:
        notes.append(f"without a price: {counted(unpriced, 'call')}; unpriced_reason says why")
    return tuple(notes)
