"""What a semantic cache with guards would have answered, and what its guards stopped.

Owns the columns of `ask semantic_cache`. Refuses a hit rate without the rate of false hits beside
it, and to count what an exact cache answers already.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analysis.answer import Answer
from analysis.columns import nearest
from analysis.errors import WrongQuestionError
from analysis.lines import MONEY
from analysis.near_repetition.asked import Asked, asked_of
from analysis.near_repetition.embedding import embed
from analysis.near_repetition.labelled import CONFIDENCE, false_hits
from analysis.near_repetition.lookup import (
    MOST_ALIKE,
    MOST_OTHERS,
    THRESHOLD,
    Choice,
    Found,
    NearPair,
    chosen,
    looked_up,
)
from analysis.repetition import cut_notes, spent_text
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Connection, Ledger

GRAINS = ("endpoint", "guard", "pair")
"""An answer has a row for each of these: endpoints, guards of an endpoint, or answered calls."""

MOST_QUESTIONS = 20_000
"""Questions that one answer reads; of more, so many are drawn by lot."""

NO_TEXT = 'send prompts (gen_ai.input.messages), set content to "full", and ingest again'
BOUND_NOTE = (
    "an upper bound: no kept answer expires, all GPU-seconds of an answered call are counted, and "
    "what else ran in its batch is not made faster"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """The rows of the question, what of them is compared, and why the others are not."""

    rows: pl.DataFrame
    totals: pl.DataFrame
    choice: Choice
    unfit: Mapping[str, int]


def semantic_cache(
    ledger: Ledger,
    *,
    window: Window,
    by: str = "endpoint",
    where: Filters | None = None,
    limit: int | None = None,
) -> Answer:
    """One row an endpoint, or a guard of it, or an answered call, at most `limit`.

    GPU-seconds and cost are of the answered calls, never of the first of a kind. Columns:
    docs/semantic-cache.md. Without stored texts the answer has no figures, and a note says what is
    missing. Raises `MissingModelError` where there is something to compare and no model.
    """
    if by not in GRAINS:
        raise WrongQuestionError(f"semantic_cache is by endpoint, guard or pair, not by {by!r}; "
                                 f"{nearest(by, GRAINS)}")  # fmt: skip
    read = _read(ledger.connection, window, selected(where))
    found = looked_up(questions, embed) if len(questions := read.choice.questions) > 1 else {}
    spent = read.rows.select("call_id", "gpu_seconds", "cost", "currency")
    hits = _hits(found).join(spent, on="call_id", how="left", maintain_order="left")
    frame = {"endpoint": _by_endpoint, "guard": _by_guard, "pair": _by_pair}[by](read, found, hits)
    return Answer(
        frame=frame if limit is None else frame.head(limit),
        notes=_notes(read, hits, frame, limit),
        window=window,
    )


def _read(connection: Connection, window: Window, filters: Filters) -> _Reading:
    wanted = {
        "cohort_ids": read_cohorts(connection, filters)["cohort_id"].to_list(),
        "since": window.since,
        "until": window.until,
        **caller_values(filters),
    }
    totals = run_question(connection, question_named("semantic_cache_calls"), **wanted)
    rows = run_question(
        connection, question_named("semantic_cache"), **wanted, most_rows=MOST_QUESTIONS
    )
    read = [asked_of(row) for row in rows.iter_rows(named=True)]
    return _Reading(
        rows=rows,
        totals=totals,
        choice=chosen([one for one in read if isinstance(one, Asked)]),
        unfit=Counter(one for one in read if isinstance(one, str)),
    )


def _hits(found: Mapping[str | None, Found]) -> pl.DataFrame:
    """The answered calls, each with the call whose answer serves it."""
    pairs = [pair for one in found.values() for pair in one.hits]
    return pl.DataFrame(
        [(p.later.endpoint, p.earlier.call_id, p.later.call_id, p.similarity) for p in pairs],
        schema={
            "endpoint": pl.String,
            "kept_call_id": pl.String,
            "call_id": pl.String,
            "similarity": pl.Float64,
        },
        orient="row",
    )


def _by_endpoint(
    read: _Reading, found: Mapping[str | None, Found], hits: pl.DataFrame
) -> pl.DataFrame:
    rate = false_hits(THRESHOLD)
    asked = read.rows.group_by("endpoint").agg(pl.col("question_count").first())
    counts = pl.DataFrame(
        [
            (endpoint, one.compared_count, one.near_count, one.rejected_count, _told(one))
            for endpoint, one in found.items()
        ],
        schema={
            "endpoint": pl.String,
            "compared_count": pl.Int64,
            "near_pair_count": pl.Int64,
            "rejected_pair_count": pl.Int64,
            "rejected_by": pl.String,
        },
        orient="row",
    )
    joined = read.totals
    for part in (asked, counts, _answered(hits)):
        joined = joined.join(part, on="endpoint", how="left", nulls_equal=True)
    whole_numbers = ("question_count", "compared_count", "near_pair_count", "rejected_pair_count",
             "group_count", "hit_count", "unpriced_hit_count")  # fmt: skip
    has_texts = pl.col("text_count") > 0
    return joined.select(
        "endpoint",
        "call_count",
        "text_count",
        *[
            pl.when(has_texts).then(pl.col(name).cast(pl.Int64).fill_null(0)).alias(name)
            for name in whole_numbers
        ],
        "gpu_seconds",
        pl.col("cost").cast(MONEY),
        "currency",
        "rejected_by",
        threshold=pl.when(has_texts).then(THRESHOLD),
        false_hit_ratio=pl.when(has_texts).then(rate.ratio),
        false_hit_upper_ratio=pl.when(has_texts).then(rate.upper_ratio),
        recall_ratio=pl.when(has_texts).then(rate.recall_ratio),
    ).sort("gpu_seconds", "hit_count", "call_count", descending=True, nulls_last=True)


def _answered(hits: pl.DataFrame) -> pl.DataFrame:
    """By endpoint the answered calls; what is not known of any of them is null."""
    is_one_currency = pl.col("currency").drop_nulls().n_unique() == 1
    return hits.group_by("endpoint").agg(
        group_count=pl.col("kept_call_id").n_unique(),
        hit_count=pl.len(),
        gpu_seconds=pl.when(pl.col("gpu_seconds").count() > 0).then(pl.col("gpu_seconds").sum()),
        cost=pl.when(is_one_currency).then(pl.col("cost").sum()),
        currency=pl.when(is_one_currency).then(pl.col("currency").drop_nulls().first()),
        unpriced_hit_count=pl.col("cost").is_null().sum(),
    )


def _told(found: Found) -> str | None:
    """How many near pairs each guard stopped, the most first."""
    return ", ".join(f"{guard} {count}" for guard, count in _ranked(found)) or None


def _ranked(found: Found) -> list[tuple[str, int]]:
    return sorted(found.stopped.items(), key=lambda item: (-item[1], item[0]))


def _by_guard(
    _read: _Reading, found: Mapping[str | None, Found], _hits: pl.DataFrame
) -> pl.DataFrame:
    rows = []
    for endpoint, one in found.items():
        for guard, count in _ranked(one):
            pair: NearPair = one.examples[guard]
            told = (pair.earlier.call_id, pair.later.call_id, pair.similarity)
            rows.append((endpoint, guard, count, *told))
    return pl.DataFrame(
        rows,
        schema={
            "endpoint": pl.String,
            "guard": pl.String,
            "rejected_pair_count": pl.Int64,
            "earlier_call_id": pl.String,
            "call_id": pl.String,
            "similarity": pl.Float64,
        },
        orient="row",
    ).sort("rejected_pair_count", "endpoint", "guard", descending=[True, False, False])


def _by_pair(
    _read: _Reading, _found: Mapping[str | None, Found], hits: pl.DataFrame
) -> pl.DataFrame:
    return hits.sort(
        "gpu_seconds", "similarity", "call_id", descending=[True, True, False], nulls_last=True
    )


def _notes(
    read: _Reading, hits: pl.DataFrame, frame: pl.DataFrame, limit: int | None
) -> tuple[str, ...]:
    call_count, text_count = (int(read.totals[name].sum()) for name in ("call_count", "text_count"))
    if not text_count:
        missing = f"no text of {counted(call_count, 'answered call')} is stored: {NO_TEXT}"
        return (missing if call_count else "there is no answered call",)
    notes = [_hits_note(hits), *cut_notes(frame, limit), BOUND_NOTE, _rate_note()]
    if text_count < call_count:
        notes.append(
            f"not compared: {call_count - text_count:,} of {call_count:,} calls without a stored "
            f"text; {NO_TEXT}"
        )
    notes += [
        f"not compared: {counted(count, 'question')}, {reason}"
        for reason, count in sorted(read.unfit.items())
    ]
    return (*notes, *_sample_notes(read))


def _hits_note(hits: pl.DataFrame) -> str:
    if hits.is_empty():
        return "no question would have been answered by another one's answer"
    spent = spent_text(hits, "gpu_seconds", "cost")
    return f"{counted(hits.height, 'call')} answered beyond exact repetition: {spent}"


def _rate_note() -> str:
    rate = false_hits(THRESHOLD)
    return (
        f"of {rate.different_count} labelled pairs of different questions the guards were not "
        f"developed on, {rate.false_count} would be answered wrongly: {rate.ratio:.1%}, at most "
        f"{rate.upper_ratio:.1%} ({CONFIDENCE:.0%}, one-sided, Clopper and Pearson); "
        f"{rate.nearness_count} without guards. Of {rate.paraphrase_count} paraphrases "
        f"{rate.found_count} are found"
    )


def _sample_notes(read: _Reading) -> list[str]:
    notes = []
    counts = read.rows.group_by("endpoint").agg(pl.col("question_count").first())
    all_count = int(counts["question_count"].sum())
    if all_count > read.rows.height:
        notes.append(
            f"a sample: {read.rows.height:,} of {all_count:,} different questions, drawn by lot; "
            "hits among the others are not counted: ask for an endpoint or a shorter window"
        )
    if read.choice.alike_count > MOST_ALIKE:
        notes.append(
            f"a sample: of {read.choice.alike_count:,} texts that have one with the same tokens "
            f"the first {MOST_ALIKE:,} are compared; hits among the others are not counted"
        )
    if read.choice.other_count > MOST_OTHERS:
        notes.append(
            f"a sample: of {read.choice.other_count:,} texts that can be no hit the first "
            f"{MOST_OTHERS:,} are compared, to count what the guards stop"
        )
    return notes
