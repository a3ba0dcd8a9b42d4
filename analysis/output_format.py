"""What answers are made of, and what of them need not be written.

Owns the columns of `ask output_format`, and what it claims of each call. Refuses to take long text
before JSON for waste, as the answer may rest on it, and to judge JSON where an endpoint does not
mostly answer in it.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.answers_measured import json_cohorts, output_costs, shapes_of, unmeasured_notes
from analysis.claims import CLAIM_SCHEMA
from analysis.groups import groups_of
from analysis.repetition import spent_text
from analysis.selection import Filters, caller_values, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

MOST_PREAMBLE_TOKENS = 64
"""A longer text before JSON may be the reasoning that the answer rests on: it is not saved."""

PARTS = ("trailing", "preamble", "blanks", "key_names", "restated")
"""What can be claimed: text after JSON, text before it, blanks in it; names of keys, as if each
were one token, which is an upper bound; the question said again."""

SAVED_NOTE = (
    "saved: trailing text, blanks and preambles of at most 64 tokens of endpoints where most "
    "of the output is JSON, and restated questions; an output token costs its share of the decode"
)
KEYS_NOTE = (
    "keys are not among what is saved: shorter names save at most key_tokens less one token a key"
)


def output_format(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Shapes and parts of answers by the columns `by`: docs/metrics/output_format.md.

    Raises `NoDataError` where no call is in the window, or no answer of it was measured.
    """
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=by, window=window, where=where)
    shapes = shapes_of(connection, groups.asked, groups.filters)
    with output_costs(connection, configuration, groups.cohorts["cohort_id"].to_list()):
        frame = groups.rows_of(
            connection,
            "output_format",
            json_cohort_ids=json_cohorts(shapes),
            most_preamble_tokens=MOST_PREAMBLE_TOKENS,
        )
    return Answer(frame=frame, notes=tuple(_notes(groups.window, frame)), window=groups.window)


def output_format_claims(
    ledger: Ledger,
    *,
    window: Window,
    where: Filters | None = None,
    parts: Sequence[str] = ("trailing", "preamble", "blanks", "restated"),
) -> pl.DataFrame:
    """The share of each call's output that `parts`, of `PARTS`, are.

    With "key_names" it is an upper bound: every key would be one token.
    """
    connection, filters = ledger.connection, selected(where)
    shapes = shapes_of(connection, window, filters)
    rows = run_question(
        connection,
        question_named("output_parts"),
        cohort_ids=read_cohorts(connection, filters)["cohort_id"].to_list(),
        json_cohort_ids=json_cohorts(shapes),
        most_preamble_tokens=MOST_PREAMBLE_TOKENS,
        since=window.since,
        until=window.until,
        **{f"with_{part}": part in parts for part in PARTS},
        **caller_values(filters),
    )
    return rows.select("call_no", pl.lit(0.0).alias("prefill_ratio"), "decode_ratio").cast(
        CLAIM_SCHEMA
    )


def _notes(window: Window, frame: pl.DataFrame) -> Iterator[str]:
    yield f"window: {window.text()}"
    saved = spent_text(frame, "saved_gpu_seconds", "saved_cost")
    yield f"output that need not be written: {saved}"
    yield SAVED_NOTE
    if int(frame["key_tokens"].sum()):
        yield KEYS_NOTE
    yield from unmeasured_notes(int(frame["call_count"].sum()), int(frame["measured_count"].sum()))
