"""Sentences that come in many answers of an endpoint, and what it costs to write them each time.

Owns the columns of `ask boilerplate`, how often a sentence has to come, and what it claims of each
call. Refuses an answer that is one sentence, and equal answers: a value that is given often is no
boilerplate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import polars as pl

from analysis.answer import Answer
from analysis.answers_measured import output_costs, shapes_of
from analysis.claims import CLAIM_SCHEMA
from analysis.groups import Groups, groups_of
from analysis.repetition import spent_text
from analysis.selection import Filters, caller_values, of_all_callers, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.calls.content import messages_of
from ingest.config import Configuration
from ingest.counting.parts import parts_of
from ingest.counting.sentences import hash_of, sentences_of
from ingest.counting.token_ids import encoded
from ingest.ledger import Connection, Ledger

LEAST_TOKENS = 5
"""A shorter sentence is a word of courtesy, or a heading."""
LEAST_ANSWERS = 10
"""So many different answers of an endpoint have a sentence that is boilerplate,"""
LEAST_RATIO = 0.05
"""and such a share of its answers in prose."""
SAMPLED_ANSWERS = 5_000
"""Of more answers of an endpoint, sentences are looked for in so many; then they are counted in
all. One that is in LEAST_RATIO of all is in half that share of a sample as good as always."""

REPEATED = "repeated_sentences"
SAID = "boilerplate_said"

RULE_NOTE = (
    f"a sentence of at least {LEAST_TOKENS} tokens in at least {LEAST_ANSWERS} different answers "
    f"and {LEAST_RATIO:.0%} of those of its endpoint; whether it may be left out is not known: a "
    "disclaimer may have to be there"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoints:
    """The endpoints that have answers in prose, by number, with how many of these."""

    cohort_ids: list[int]
    numbers: list[int]
    counts: Mapping[int, int]

    def strides(self) -> list[int]:
        """Of each endpoint, one answer in so many is a sample."""
        return [ceil(count / SAMPLED_ANSWERS) for count in self.counts.values()]

    def least(self, number: int) -> int:
        """In how many different answers of the endpoint a sentence has to be."""
        return max(LEAST_ANSWERS, ceil(LEAST_RATIO * self.counts[number]))

    def least_sampled(self) -> list[int]:
        """The same in a sample, where there is one half of it."""
        return [
            self.least(number)
            if stride == 1
            else max(LEAST_ANSWERS, ceil(LEAST_RATIO * count / stride / 2))
            for (number, count), stride in zip(self.counts.items(), self.strides(), strict=True)
        ]


def boilerplate(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Repeated sentences by the columns `by`, those of most tokens first in each group.

    Where texts are stored a sentence is shown itself, else its hash and a call that has it.
    Columns: docs/metrics/boilerplate.md. Raises `NoDataError` where no answer was measured.
    """
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=by, window=window, where=where)
    said = said_sentences(connection, groups.asked, groups.filters)
    frame = _rows(connection, configuration, groups, said)
    notes = tuple(_notes(groups.window, frame))
    return Answer(frame=frame, notes=notes, window=groups.window)


def boilerplate_claims(
    ledger: Ledger, *, window: Window, where: Filters | None = None
) -> pl.DataFrame:
    """The share of each call's output that is sentences which many answers have.

    An upper bound: some of them have to be there.
    """
    said = said_sentences(ledger.connection, window, selected(where))
    return (
        said.group_by("call_no")
        .agg(decode_ratio=pl.col("decode_ratio").sum().clip(upper_bound=1.0))
        .select("call_no", pl.lit(0.0).alias("prefill_ratio"), "decode_ratio")
        .cast(CLAIM_SCHEMA)
        .sort("call_no")
    )


def said_sentences(connection: Connection, window: Window, filters: Filters) -> pl.DataFrame:
    """The calls with the boilerplate that they say: a row a call and a sentence.

    Whether a sentence is boilerplate is judged over all users and conversations. Raises
    `NoDataError` where no call is in `window`, or no answer was measured.
    """
    endpoints = _endpoints(shapes_of(connection, window, of_all_callers(filters)))
    asked = {"since": window.since, "until": window.until, "least_tokens": LEAST_TOKENS}
    numbered = {
        "endpoint_cohort_ids": endpoints.cohort_ids,
        "endpoint_numbers": endpoints.numbers,
    }
    repeated = run_question(
        connection,
        question_named("sentence_counts"),
        sampled_numbers=list(endpoints.counts),
        strides=endpoints.strides(),
        least_endpoints=list(endpoints.counts),
        least_numbers=endpoints.least_sampled(),
        **asked,
        **numbered,
    )
    connection.register(REPEATED, repeated.select("endpoint_number", "sentence_hash"))
    try:
        said = run_question(
            connection,
            question_named("said_sentences"),
            **asked,
            **numbered,
            **caller_values(filters),
        )
    finally:
        connection.unregister(REPEATED)
    least = pl.col("endpoint_number").replace_strict(
        {number: endpoints.least(number) for number in endpoints.counts},
        default=LEAST_ANSWERS,
        return_dtype=pl.Int64,
    )
    answers = pl.col("answer_key").n_unique().over("endpoint_number", "sentence_hash")
    return said.filter(answers >= least, "is_asked").drop("is_asked")


def _endpoints(shapes: pl.DataFrame) -> _Endpoints:
    told = shapes.filter(pl.col("sentence_count") > 0).with_columns(
        number=pl.struct("endpoint").rank("dense").cast(pl.Int64)
    )
    counts = told.group_by("number").agg(pl.col("sentence_count").sum()).sort("number")
    return _Endpoints(
        cohort_ids=told["cohort_id"].to_list(),
        numbers=told["number"].to_list(),
        counts=dict(counts.iter_rows()),
    )


def _rows(
    connection: Connection, configuration: Configuration, groups: Groups, said: pl.DataFrame
) -> pl.DataFrame:
    values = groups.values()
    connection.register(SAID, said)
    try:
        with output_costs(connection, configuration, values["cohort_ids"]):
            rows = run_question(connection, question_named("boilerplate"), **values)
    finally:
        connection.unregister(SAID)
    texts = _texts(connection, rows, configuration)
    hashes = rows["sentence_hash"].to_list()
    return groups.labelled(
        rows.with_columns(
            sentence_hash=pl.Series([f"{one % 2**64:016x}" for one in hashes], dtype=pl.String),
            text=pl.Series([texts.get(one) for one in hashes], dtype=pl.String),
        )
    )


def _texts(
    connection: Connection, rows: pl.DataFrame, configuration: Configuration
) -> dict[int, str]:
    """The sentences of `rows` by hash, as the example of each has them where it is stored."""
    examples = rows["example_call_id"].unique().sort().to_list()
    stored = run_question(connection, question_named("completions"), call_ids=examples)
    wanted = set(rows["sentence_hash"].to_list())
    found: dict[int, str] = {}
    for completion in stored["completion"]:
        for message in messages_of(completion, "assistant") or ():
            for part in parts_of(message):
                if part is None:
                    continue
                for sentence in sentences_of(encoded(part.text)):
                    key = hash_of(sentence.text, configuration.hash_key)
                    if key in wanted:
                        found.setdefault(key, sentence.text)
    return found


def _notes(window: Window, frame: pl.DataFrame) -> Iterator[str]:
    yield f"window: {window.text()}"
    if frame.is_empty():
        yield f"no sentence comes in many answers: {RULE_NOTE}"
        return
    spent = spent_text(frame, "decode_gpu_seconds", "cost")
    yield f"to write them: {spent}; an upper bound of what is saved"
    yield RULE_NOTE
    if frame["text"].is_null().any():
        yield 'sentences are told by their hash where texts are not stored: content = "full" does'
