"""What the questions about repeated work share: what can be compared, what is shown, what it cost.

Owns the sentences about missing hashes, and the sums below a list that is cut. Refuses to find a
repetition, and to add amounts of different currencies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.errors import WrongQuestionError
from analysis.instants import with_instant_texts
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.ledger import Connection

REPEATED_CALLS = "repeated_calls"
"""The table that `repeated_costs` reads."""

SEND_PROMPTS = 'send prompts (gen_ai.input.messages) and set content to "hash" or "full"'
HOW_TO_KNOW: Mapping[str, str] = {
    "calls": SEND_PROMPTS,
    "answers": 'send answers (gen_ai.output.messages) and set content to "hash" or "full"',
    "truncated answers": SEND_PROMPTS,
    "failed calls": SEND_PROMPTS,
    "embeddings": SEND_PROMPTS,
    "tool runs": (
        "send gen_ai.tool.call.arguments and gen_ai.tool.call.result on the spans of tools and "
        'set content to "hash" or "full"'
    ),
    "retrievals": (
        "send gen_ai.retrieval.query.text and gen_ai.retrieval.documents on the spans of "
        'retrievals and set content to "hash" or "full"'
    ),
}
"""What there is to do about rows that nothing can be compared with, by their kind."""

COMPARED: Mapping[str, str] = {
    "calls": "prompt",
    "answers": "text",
    "truncated answers": "prompt",
    "failed calls": "prompt",
    "embeddings": "text",
    "tool runs": "arguments",
    "retrievals": "query",
}
"""What is compared of rows, by their kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Of the rows of a kind: how many there are, and how many tell what is compared of them."""

    kind: str
    row_count: int
    told_count: int

    def notes(self) -> tuple[str, ...]:
        """That some rows do not tell what is compared, and what to do; nothing where all do."""
        missing = self.row_count - self.told_count
        if not missing:
            return ()
        rows = f"{missing:,} of {self.row_count:,} {self.kind}"
        how = HOW_TO_KNOW[self.kind]
        return (f"not compared: {rows} tell no {COMPARED[self.kind]}; {how}",)


def known_hashes(
    connection: Connection, window: Window, where: Filters | None
) -> Mapping[str, Known]:
    """What of the calls selected can be compared, by the kinds of `COMPARED`.

    Where `where` filters, runs of tools and retrievals are those in the traces of these calls.
    """
    filters = selected(where)
    rows = run_question(
        connection,
        question_named("known_hashes"),
        cohort_ids=read_cohorts(connection, filters)["cohort_id"].to_list(),
        since=window.since,
        until=window.until,
        any_trace=filters == selected(None),
        **caller_values(filters),
    )
    return {row["kind"]: Known(**row) for row in rows.to_dicts()}


def not_compared(known: Mapping[str, Known], *kinds: str) -> tuple[str, ...]:
    """What of these kinds does not tell what is compared, and what to do; nothing where all do."""
    return tuple(note for kind in kinds for note in known[kind].notes())


def repeated_costs(connection: Connection, marked: pl.DataFrame) -> pl.DataFrame:
    """What the groups of `marked` cost: columns `group_no`, `call_no` and `is_duplicate`.

    Columns of the answer: docs/metrics/repeated_costs.md.
    """
    connection.register(REPEATED_CALLS, marked.select("group_no", "call_no", "is_duplicate"))
    try:
        return run_question(connection, question_named("repeated_costs"))
    finally:
        connection.unregister(REPEATED_CALLS)


def known_values(
    where: Mapping[str, str | None] | None, columns: Sequence[str], rows: str
) -> dict[str, str | None]:
    """Each of `columns` with the value that `where` asks for, None where it asks for any.

    Raises `WrongQuestionError` where it asks for `rows` of which the value is not known.
    """
    filters = dict(where or {})
    for column, value in filters.items():
        if value is None:
            raise WrongQuestionError(f"{rows} are listed by a known {column}: {column}=value")
    return {column: filters.get(column) for column in columns}


def shown(
    frame: pl.DataFrame, limit: int | None, window: Window, instants: Sequence[str]
) -> pl.DataFrame:
    """The first `limit` rows, their `instants` as RFC 3339 text in the window's zone."""
    cut = frame if limit is None else frame.head(limit)
    return with_instant_texts(cut, instants, window.timezone)


def cut_notes(frame: pl.DataFrame, limit: int | None) -> tuple[str, ...]:
    """That not all rows are shown, where that is so."""
    if limit is None or frame.height <= limit:
        return ()
    return (f"the first {limit:,} rows are shown, {frame.height - limit:,} more; raise --limit",)


def spent_text(frame: pl.DataFrame, gpu_seconds: str, cost: str) -> str:
    """The sums of these two columns over all rows: GPU-seconds, and money in each currency."""
    parts = [f"{frame[gpu_seconds].sum():,.3f} GPU-seconds"]
    by_currency = (
        frame.filter(pl.col(cost).is_not_null() & pl.col("currency").is_not_null())
        .group_by("currency")
        .agg(pl.col(cost).sum())
        .sort("currency")
    )
    parts += [f"{amount:,.2f} {currency}" for currency, amount in by_currency.iter_rows()]
    return ", ".join(parts)
