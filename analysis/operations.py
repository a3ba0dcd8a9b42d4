"""Operations that took several attempts: their latency as the user felt it, and what was wasted.

Owns the columns of `ask operations`. Refuses to call anything wasted but attempts that failed.
"""

from collections.abc import Mapping

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.instants import with_instant_texts
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

OPERATION_FILTERS = ("endpoint", "team", "model")
"""What a list of operations may be filtered by: the columns of the last attempt."""

ALL_ROWS = 2**62


def operations(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """One row an operation of several attempts, the slowest first, at most `limit`.

    `latency_s` spans all attempts and the pauses between them. Columns: docs/metrics/operations.md.
    An empty answer is an answer: no call was repeated.
    """
    filters = dict(where or {})
    for column, value in filters.items():
        if value is None:
            raise WrongQuestionError(f"operations are listed by a known {column}: {column}=value")
    frame = run_question(
        ledger.connection,
        question_named("operations"),
        since=window.since,
        until=window.until,
        endpoint=filters.get("endpoint"),
        team=filters.get("team"),
        model=filters.get("model"),
        most_rows=ALL_ROWS if limit is None else limit,
    )
    fitting_count = 0 if frame.is_empty() else int(frame["fitting_count"][0])
    shown = with_instant_texts(
        frame.drop("fitting_count"), ("begun_at", "ended_at"), window.timezone
    )
    return Answer(frame=shown, notes=(_note(shown.height, fitting_count),), window=window)


def _note(shown_count: int, fitting_count: int) -> str:
    if fitting_count == 0:
        return "no operation took more than one attempt"
    if shown_count < fitting_count:
        more = fitting_count - shown_count
        return f"the slowest {counted(shown_count, 'operation')}, {more:,} more; raise --limit"
    return f"{counted(fitting_count, 'operation')} of several attempts, the slowest first"
