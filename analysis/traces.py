"""Traces to look into: the dearest, the slowest, the newest, or those whose id begins like this.

Owns the columns of the list. Refuses to show spans: that is `trace`.
"""

from dataclasses import dataclass

from analysis.answer import Answer
from analysis.columns import nearest
from analysis.errors import WrongQuestionError
from analysis.extent import no_calls
from analysis.instants import with_instant_texts
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

ORDERS = ("cost", "duration_s", "gpu_seconds", "call_count", "started_at")
"""What traces may be sorted by, always the largest or latest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSearch:
    """Which traces to list: how the id begins, lower bounds in money and in s, order, limit."""

    prefix: str | None = None
    least_cost: float | None = None
    least_duration_s: float | None = None
    order: str = "cost"
    limit: int = 500


def traces(
    ledger: Ledger,
    configuration: Configuration,
    *,
    search: TraceSearch | None = None,
    window: Window | None = None,
    where: Filters | None = None,
) -> Answer:
    """The traces that `search` finds among the calls that begin service in `window`.

    `fitting_count` is the same in every row: how many fit, also beyond the limit. Columns:
    docs/metrics/traces.md. Raises `NoDataError` where none fits.
    """
    wanted = search or TraceSearch()
    if wanted.order not in ORDERS:
        raise WrongQuestionError(
            f"cannot order by {wanted.order!r}; {nearest(wanted.order, ORDERS)}"
        )
    asked = window or Window(timezone=configuration.timezone)
    filters = selected(where)
    frame = run_question(
        ledger.connection,
        question_named("traces"),
        cohort_ids=read_cohorts(ledger.connection, filters)["cohort_id"].to_list(),
        since=asked.since,
        until=asked.until,
        **caller_values(filters),
        trace_prefix=wanted.prefix,
        least_cost=wanted.least_cost,
        least_duration_s=wanted.least_duration_s,
        ranked_by=wanted.order,
        most_rows=wanted.limit,
    )
    if frame.is_empty():
        raise no_calls(ledger.connection, asked, filters)
    return Answer(
        frame=with_instant_texts(frame, ("started_at",), asked.timezone),
        notes=(f"window: {asked.text()}",),
        window=asked,
    )
