"""Attempts that had to be made again: why, and what they cost.

Owns the columns of `ask retries`. Refuses to list operations one by one: `ask operations` does.
"""

from collections.abc import Mapping

import polars as pl

from analysis.answer import Answer
from analysis.claims import whole_calls
from analysis.operations import OPERATION_FILTERS
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

TRUNCATION_NOTE = "an answer that is cut off is a matter of max_tokens, not of retrying"


def retries(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """One row an endpoint, team, model and reason, the dearest first, at most `limit`.

    GPU-seconds and cost are of the attempts that were made again, whoever read them. Columns:
    docs/metrics/retries.md. An empty answer is an answer: nothing was tried again.
    """
    attempts = retried_attempts(ledger, window, where)
    found = attempts.drop("call_nos", "first_count", "first_gpu_seconds")
    if found.is_empty():
        notes = ["no attempt was made again"]
    else:
        in_vain = counted(int(found["attempt_count"].sum()), "attempt")
        spent = spent_text(found, "gpu_seconds", "cost")
        notes = [f"{in_vain} in vain: {spent}", *cut_notes(found, limit)]
    unpriced = int(found["unpriced_count"].sum())
    if unpriced:
        notes.append(f"without a price: {counted(unpriced, 'attempt')}")
    if "truncation" in found["reason"].to_list():
        notes.append(TRUNCATION_NOTE)
    notes += first_attempts_notes(attempts)
    known = known_hashes(ledger.connection, window, where)
    notes += not_compared(known, "failed calls", "truncated answers")
    return Answer(frame=shown(found, limit, window, ()), notes=tuple(notes), window=window)


def retries_claims(
    ledger: Ledger, *, window: Window, where: Mapping[str, str | None] | None = None
) -> pl.DataFrame:
    """The attempts that had to be made again, whole: what a perfect discipline would have saved.

    An upper bound: some first attempt has to fail before it is known that it does.
    """
    return whole_calls(retried_attempts(ledger, window, where)["call_nos"].explode())


def first_attempts_notes(attempts: pl.DataFrame) -> tuple[str, ...]:
    """How much no cap avoids of `retried_attempts`; nothing where that is none."""
    count = int(attempts["first_count"].sum())
    if not count:
        return ()
    were = (
        "is the first attempt of an operation" if count == 1 else "are first attempts of operations"
    )
    spent = attempts["first_gpu_seconds"].sum()
    note = (
        f"at most: {count:,} of these, {spent:,.3f} GPU-seconds, {were} that "
        "recovered, which no cap avoids"
    )
    return (note,)


def retried_attempts(
    ledger: Ledger, window: Window, where: Mapping[str, str | None] | None
) -> pl.DataFrame:
    """The rows of question `retries`, with the `call_nos` of each."""
    return run_question(
        ledger.connection,
        question_named("retries"),
        since=window.since,
        until=window.until,
        **known_values(where, OPERATION_FILTERS, "retries"),
    )
