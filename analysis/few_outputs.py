"""Calls that are answered with few distinct values: where a rule or a table might do.

Owns what few means, and the columns of `ask few_outputs`. Refuses to say that code would do: the
values that were given rarely are what a rule gets wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from analysis.answer import Answer
from analysis.claims import no_claims, whole_calls
from analysis.errors import NoDataError
from analysis.extent import no_calls
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.repetition import HOW_TO_KNOW, repeated_costs, spent_text
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

VALUE_COUNT = 10
"""So many of the most frequent values are looked at."""
COVERED_RATIO = 0.95
"""Values are few where these cover so much of the answers,"""
LEAST_ANSWERS = 50
"""of which there are so many at least,"""
PROMPTS_PER_VALUE = 2
"""and where a value answers so many different prompts: else the prompts repeat, not the answers."""

FIGURES = (
    "is_few", "answered_count", "told_count", "untold_count", "prompt_count", "distinct_count",
    "top_1_ratio", "top_10_ratio", "entropy_bits", "output_p95_tokens",
    "covered_count", "covered_gpu_seconds", "covered_cost", "currency",
)  # fmt: skip

NO_OUTPUTS = (
    "no answer here has a hash: send answers (gen_ai.output.messages) and set content to "
    '"hash" or "full"'
)
BOUND_NOTE = (
    "covered_gpu_seconds are of the calls answered with one of the ten values: the most that code "
    "in place of the model saves, if it names the rare answers and leaves them to the model"
)


def few_outputs(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Distinct answers by the columns `by`, and of groups with few of them what these cost.

    Those with few first, the dearest of them first. Columns: docs/metrics/few_outputs.md. Raises
    `NoDataError` where no call is in the window, or no answer has a hash.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    rows = _rows(ledger.connection, groups)
    if rows.is_empty():
        raise no_calls(ledger.connection, groups.asked, groups.filters)
    if not rows["told_count"].sum():
        raise NoDataError(NO_OUTPUTS)
    costs = _costs(ledger.connection, _covered(ledger.connection, groups, rows))
    frame = groups.labelled(rows.join(costs, on="group_no", how="left"))
    frame = frame.select(*groups.columns, *FIGURES).sort(
        "is_few", "covered_gpu_seconds", "told_count", *groups.columns,
        descending=[True, True, True, *[False] * len(groups.columns)], nulls_last=True,
    )  # fmt: skip
    return Answer(frame=frame, notes=_notes(groups.window, frame), window=groups.window)


def few_outputs_claims(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> pl.DataFrame:
    """Claims on the calls of endpoints with few outputs that were answered with one of these.

    An upper bound: a rule has to be found that gives them, and the rare answers left to the model.
    """
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=("endpoint",), window=window, where=where)
    calls = _covered(connection, groups, _rows(connection, groups))
    return no_claims() if calls.is_empty() else whole_calls(calls["call_no"])


def _rows(connection: Connection, groups: Groups) -> pl.DataFrame:
    """The rows of `few_outputs`, numbered, with `is_few`.

    Null where no answer is told, or prompts are not that matter.
    """
    rows = run_question(
        connection, question_named("few_outputs"), **groups.values(), value_count=VALUE_COUNT
    )
    is_covered = (pl.col("told_count") >= LEAST_ANSWERS) & (pl.col("top_10_ratio") >= COVERED_RATIO)
    is_varied = pl.col("prompt_count") >= PROMPTS_PER_VALUE * pl.col("distinct_count")
    is_few = pl.when(pl.col("told_count") > 0).then(is_covered & is_varied)
    return rows.with_columns(is_few=is_few).with_row_index("group_no")


def _covered(connection: Connection, groups: Groups, rows: pl.DataFrame) -> pl.DataFrame:
    """`call_no` and `group_no` of the calls of the groups with few outputs that gave one of these.

    Without the values that were given once.
    """
    few = rows.filter(pl.col("is_few"))
    if few.is_empty():
        return pl.DataFrame(schema={"call_no": pl.Int64, "group_no": rows.schema["group_no"]})
    cohorts = groups.cohorts.filter(pl.col("group_number").is_in(few["group_number"].implode()))
    calls = run_question(
        connection,
        question_named("few_outputs_calls"),
        **replace(groups, cohorts=cohorts).values(),
        value_count=VALUE_COUNT,
    )
    numbers = few.select(*NUMBERS, "group_no")
    return calls.join(numbers, on=NUMBERS, nulls_equal=True).select("call_no", "group_no")


def _costs(connection: Connection, covered: pl.DataFrame) -> pl.DataFrame:
    """What the calls of each group that are covered cost."""
    marked = covered.with_columns(is_duplicate=pl.lit(value=True))
    return repeated_costs(connection, marked).select(
        pl.col("group_no").cast(covered.schema["group_no"]),
        "currency",
        covered_count="duplicate_count",
        covered_gpu_seconds="duplicate_gpu_seconds",
        covered_cost="duplicate_cost",
    )


def _notes(window: Window, frame: pl.DataFrame) -> tuple[str, ...]:
    notes = [f"window: {window.text()}"]
    few = frame.filter(pl.col("is_few"))
    if few.is_empty():
        notes.append(
            f"no group of {LEAST_ANSWERS} answers or more is answered with {VALUE_COUNT} values "
            f"for {COVERED_RATIO:.0%} of them"
        )
    else:
        spent = spent_text(few, "covered_gpu_seconds", "covered_cost")
        notes += [f"{counted(few.height, 'group')} with few outputs: {spent}", BOUND_NOTE]
    if untold := int(frame["untold_count"].sum()):
        notes.append(
            f"not compared: {counted(untold, 'answer')} without a hash; {HOW_TO_KNOW['answers']}"
        )
    if frame["is_few"].null_count():
        notes.append(
            f"is_few is not known where prompts or answers are not told: {HOW_TO_KNOW['calls']}"
        )
    return tuple(notes)
