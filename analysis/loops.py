"""Agents that went round in a loop, and what they spent after that could be seen.

Owns the columns of `ask loops`. Refuses to call a wait a loop: a tool whose result changes is at
work.
"""

from collections.abc import Mapping

import polars as pl

from analysis.answer import Answer
from analysis.claims import whole_calls
from analysis.repetition import (
    cut_notes,
    known_hashes,
    known_values,
    not_compared,
    shown,
    spent_text,
)
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

LOOP_FILTERS = ("endpoint", "team")
"""What a list of loops may be filtered by: the columns of the first call of the trace."""

INSTANTS = ("began_at", "established_at", "ended_at")
GUARD_NOTE = (
    "a guard that stops at established_at saves at most this; a loop may have ended by itself "
    "with an answer"
)


def loops(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """One row a loop that began in `window`, the dearest first, at most `limit`.

    GPU-seconds and cost are of the calls after the loop was established. Columns:
    docs/metrics/loops.md. An empty answer is an answer; its notes say what could not be compared.
    """
    found = found_loops(ledger, window, where).drop("call_nos")
    known = known_hashes(ledger.connection, window, where)
    notes = ["no loop was found"]
    if not found.is_empty():
        spent = spent_text(found, "gpu_seconds", "cost")
        loop_count = counted(found.height, "loop")
        notes = [f"{loop_count}: {spent} once established", *cut_notes(found, limit), GUARD_NOTE]
    blind = int(found["unknown_result_count"].sum())
    if blind:
        notes.append(
            f"{counted(blind, 'repeat')} without a known result: taken for the same, for the "
            "arguments are"
        )
    if not known["tool runs"].row_count and known["answers"].told_count:
        notes.append("the window has no spans of tools: only repeated answers can be seen")
    notes += not_compared(known, "tool runs", "answers")
    return Answer(frame=shown(found, limit, window, INSTANTS), notes=tuple(notes), window=window)


def loops_claims(
    ledger: Ledger, *, window: Window, where: Mapping[str, str | None] | None = None
) -> pl.DataFrame:
    """The calls of loops after these were established, whole.

    An upper bound: a loop may have ended by itself with an answer.
    """
    return whole_calls(found_loops(ledger, window, where)["call_nos"].explode())


def found_loops(
    ledger: Ledger, window: Window, where: Mapping[str, str | None] | None
) -> pl.DataFrame:
    """The rows of question `loops`, with the `call_nos` that each spent."""
    return run_question(
        ledger.connection,
        question_named("loops"),
        since=window.since,
        until=window.until,
        **known_values(where, LOOP_FILTERS, "loops"),
    )
