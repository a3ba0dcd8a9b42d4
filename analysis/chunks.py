"""What prompts carry twice, as markup, or for nothing that the answer shows.

Owns the columns of `ask chunks`, and what leaving out duplicates and markup claims of each call.
Refuses to call a chunk useless: that no word of it is in the answer is a sign and no proof.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.chunk_sets import BATCH_CALLS, ChunkSets
from analysis.extent import no_calls
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.prompt_measures import refuse_unmeasured, unmeasured_notes
from analysis.selection import caller_values, read_cohorts, selected
from analysis.shared_chunks import SharedChunks
from analysis.sql import question_named, run_in_batches, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

CONTEXT = "context"
REMOVABLE_CHUNKS = "removable_chunks"
"""The table that the question reads: `call_no`, `saved_tokens` and `prefill_ratio`."""

SAVED_NOTE = (
    "saved: duplicate and markup tokens of one prompt that no cache held, and their share of its "
    "prefill; at most that: markup may be what a call is about"
)
UNTOUCHED_NOTE = (
    "untouched: no word, number or name of the answer stands in the chunk, which is a sign and no "
    "proof: the answer may rest on it all the same"
)
SHARED_NOTE = (
    "repeated: context that other calls of the group hold too; a prefix cache reads it once only "
    "where all before it is equal"
)
NO_CHUNKS = (
    "no prompt here shows a chunk: mark documents, such as in <document>, or put them below a line "
    "`Context:`; see docs/counting.md"
)
SAMPLED = (
    "repeated is estimated by one different chunk in {}, and near ones are not looked for: narrow "
    "--where for that"
)


def chunks(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Duplicate, near-duplicate, markup and untouched tokens of chunks by the columns `by`.

    Columns: docs/metrics/chunks.md. Raises `NoDataError` where no call is in the window, or no
    prompt was measured.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    others = SharedChunks()
    sets = _taken(ledger.connection, groups.values(), ChunkSets(shared=others))
    rows = _rows(ledger.connection, groups, sets)
    refuse_unmeasured(int(rows["known_count"].sum()))
    shared = others.tokens().cast({name: rows.schema[name] for name in NUMBERS})
    joined = rows.join(shared, on=NUMBERS, how="left", nulls_equal=True, maintain_order="left")
    frame = groups.labelled(joined)
    notes = tuple(_notes(groups.window, frame, others.scale))
    return Answer(frame=frame, notes=notes, window=groups.window)


def chunks_claims(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    section: str | None = None,
) -> pl.DataFrame:
    """What calls would not have read without duplicates and markup in their prompts: `call_no`,
    `prefill_ratio`, no decode.

    An upper bound: markup may be what a call is about, and a text may be said twice on purpose.
    `section="context"` leaves out the results of tools, which stand in the history.
    """
    filters = selected(where)
    cohort_ids = read_cohorts(ledger.connection, filters)["cohort_id"].to_list()
    values = {
        "cohort_ids": cohort_ids,
        "group_numbers": [0] * len(cohort_ids),
        "quarters": [],
        "time_numbers": [],
        "caller": None,
        "since": window.since,
        "until": window.until,
        **caller_values(filters),
    }
    sets = ChunkSets(is_context_only=section == CONTEXT)
    _taken(ledger.connection, values, sets)
    return sets.removable_chunks().select("call_no", "prefill_ratio", decode_ratio=pl.lit(0.0))


def _taken(connection: Connection, values: Mapping[str, object], sets: ChunkSets) -> ChunkSets:
    """`sets` with the chunks of the calls that `values` select."""
    question = question_named("prompt_chunks")
    for batch in run_in_batches(connection, question, BATCH_CALLS, **values):
        sets.take(batch)
    return sets


def _rows(connection: Connection, groups: Groups, sets: ChunkSets) -> pl.DataFrame:
    connection.register(REMOVABLE_CHUNKS, sets.removable_chunks())
    try:
        rows = run_question(connection, question_named("chunks"), **groups.values())
    finally:
        connection.unregister(REMOVABLE_CHUNKS)
    if rows.is_empty():
        raise no_calls(connection, groups.asked, groups.filters)
    return rows


def _notes(window: Window, frame: pl.DataFrame, scale: int) -> Iterator[str]:
    yield f"window: {window.text()}"
    yield from unmeasured_notes(int(frame["unknown_count"].sum()))
    if not frame["chunked_count"].sum():
        yield NO_CHUNKS
        return
    saved, seconds = frame["saved_tokens"].sum(), frame["saved_gpu_seconds"].sum()
    yield f"saved: {counted(int(saved), 'token')}, {seconds:,.3f} GPU-seconds of prefill"
    yield SAVED_NOTE
    yield UNTOUCHED_NOTE
    yield SHARED_NOTE
    if scale > 1:
        yield SAMPLED.format(scale)
