"""What the questions about answers share: which were measured, and what their output costs.

Owns which endpoints answer in JSON, and the sentences about answers that were not measured. Refuses
an answer where none was.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from analysis.bill import parts_of_costs
from analysis.errors import NoDataError
from analysis.extent import no_calls
from analysis.selection import Filters, caller_values, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Connection

OUTPUT_COSTS = "output_costs"
"""The table that questions read: `call_no`, `output_billionths` and `currency` of each call that is
priced by the token."""

LEAST_JSON_RATIO = 0.5
"""An endpoint answers in JSON where so many of its answers that are text have some, and so many of
their tokens are JSON: elsewhere it is an example in an explanation."""

HOW_TO_MEASURE = (
    'send answers (gen_ai.output.messages), set content to "hash" or "full", leave measure_answers '
    "on, and ingest into a new ledger what was there before"
)
NO_MEASURES = f"no answer here was measured: {HOW_TO_MEASURE}; see docs/counting.md"


def shapes_of(connection: Connection, window: Window, filters: Filters) -> pl.DataFrame:
    """Counts of calls by shape of their answers: a row a cohort, with its columns.

    Raises `NoDataError` where no call is in `window`, or no answer of one was measured.
    """
    cohorts = read_cohorts(connection, filters)
    rows = run_question(
        connection,
        question_named("answer_shapes"),
        cohort_ids=cohorts["cohort_id"].to_list(),
        since=window.since,
        until=window.until,
        **caller_values(filters),
    )
    if rows.is_empty():
        raise no_calls(connection, window, filters)
    if not rows["measured_count"].sum():
        raise NoDataError(NO_MEASURES)
    return rows.join(cohorts, on="cohort_id", how="left")


def json_cohorts(shapes: pl.DataFrame) -> list[int]:
    """The cohorts of endpoints that answer in JSON."""
    answers = pl.col("json_count").sum() / pl.col("text_count").sum()
    tokens = pl.col("json_tokens").sum() / pl.col("text_tokens").sum()
    is_json = (pl.min_horizontal(answers, tokens) >= LEAST_JSON_RATIO).over("endpoint")
    is_json = is_json.fill_null(value=False)
    found: list[int] = shapes.filter(is_json)["cohort_id"].to_list()
    return found


def unmeasured_notes(call_count: int, measured_count: int) -> Iterator[str]:
    """That some answers were not measured, and what to do; nothing where all were."""
    if measured_count < call_count:
        missing = call_count - measured_count
        yield f"not measured: the answers of {missing:,} of {call_count:,} calls; {HOW_TO_MEASURE}"


@contextmanager
def output_costs(
    connection: Connection, configuration: Configuration, cohort_ids: Sequence[int]
) -> Iterator[None]:
    """Within, the table `output_costs` is there for questions to read."""
    costs = parts_of_costs(connection, configuration, cohort_ids)
    told = costs.filter(pl.col("output_billionths").is_not_null())
    connection.register(OUTPUT_COSTS, told.select("call_no", "output_billionths", "currency"))
    try:
        yield
    finally:
        connection.unregister(OUTPUT_COSTS)
