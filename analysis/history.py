"""How much of each turn's input is the conversation before it.

Owns the columns of `ask history`. Refuses to guess a turn: one that was not counted is unknown.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.groups import groups_of
from analysis.prompt_measures import refuse_unmeasured, unmeasured_notes
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

LAST_TURN = 20
"""This turn and all later ones are one row."""

BOUND_NOTE = (
    "history_gpu_seconds: the prefill of history that no cache held, and at most what a shorter "
    "history saves: answers may need it"
)
STEPS_NOTE = (
    "history has earlier turns and the steps of an agent in this one; calls that ask for tools "
    "again and again have one turn"
)


def history(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Tokens and prefill of history by the columns `by` and by turn of the conversation.

    Columns: docs/metrics/history.md. Raises `NoDataError` where no call is in the window, or the
    turns of none are known.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    frame = groups.rows_of(ledger.connection, "history", last_turn=LAST_TURN)
    is_known = pl.col("turn").is_not_null()
    refuse_unmeasured(int(frame.filter(is_known)["call_count"].sum()))
    unknown_count = int(frame.filter(~is_known)["call_count"].sum())
    notes = tuple(_notes(groups.window, unknown_count, frame["turn"].max() == LAST_TURN))
    return Answer(frame=frame, notes=notes, window=groups.window)


def _notes(window: Window, unknown_count: int, is_long: bool) -> Iterator[str]:
    yield f"window: {window.text()}"
    yield from unmeasured_notes(unknown_count)
    if is_long:
        yield f"turn {LAST_TURN} stands for itself and all later ones"
    yield BOUND_NOTE
    yield STEPS_NOTE
