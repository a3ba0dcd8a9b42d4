"""The views that were joined into one call, for review: who told them, when, and by which rule.

Owns the columns of `ask pairs` and what is said of a pair that only resembles. Refuses to judge:
whether two views are of one call is decided where they are stored.
"""

from collections.abc import Mapping

import polars as pl

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.instants import with_instant_texts
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

PAIR_FILTERS = ("pairing",)
"""What a list of pairs may be filtered by."""

RULES = ("probable", "response_id")
ALL_ROWS = 2**62
PROBABLE_NOTE = (
    "a probable pair has the same tokens and model, one interval inside of the other, and two "
    "observers; to make it sure, let both send gen_ai.response.id or one trace context"
)


def pairs(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """The views of calls that no trace joins, at most `limit`; `where` may name the `pairing`.

    Instants are RFC 3339 text in the window's zone; columns in docs/metrics/pairs.md. An empty
    answer is an answer: every call was told once, or by views of one trace.
    """
    asked = dict(where or {})
    rule = asked.get("pairing")
    if asked and rule not in RULES:
        raise WrongQuestionError(f"pairing {rule!r} is unknown; allowed: {', '.join(RULES)}")
    frame = run_question(
        ledger.connection,
        question_named("pairs"),
        since=window.since,
        until=window.until,
        pairing=rule,
        most_rows=ALL_ROWS if limit is None else limit,
    )
    fitting_count = 0 if frame.is_empty() else int(frame["fitting_count"][0])
    shown = with_instant_texts(
        frame.drop("fitting_count"), ("begun_at", "ended_at"), window.timezone
    )
    return Answer(frame=shown, notes=_notes(shown, fitting_count), window=window)


def _notes(shown: pl.DataFrame, fitting_count: int) -> tuple[str, ...]:
    if fitting_count == 0:
        return ("no call was joined from views without a trace in common",)
    call_count = shown["call_id"].n_unique()
    told = f"{counted(shown.height, 'view')} of {counted(call_count, 'call')}"
    if shown.height < fitting_count:
        more = fitting_count - shown.height
        told = f"the first {told}, {more:,} more views; raise --limit"
    is_probable = bool((shown["pairing"] == RULES[0]).any())
    return (told, PROBABLE_NOTE) if is_probable else (told,)
