"""The spans of the traces asked for, a part of the traces at a time, with what runs at each.

Owns how many are in memory at once, and which group a trace has. Refuses to place them: that is
`span_tree`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from analysis.errors import NoDataError
from analysis.extent import no_calls
from analysis.groups import NUMBERS, Groups
from analysis.span_tree import UNSAID, Tree, span_keys
from analysis.sql import question_named, run_question
from ingest.ledger import Connection

SPANS_AT_ONCE = 1_000_000
"""So many spans are in memory at a time, more or less; traces are not divided."""

MODEL, TOOL, RETRIEVAL = range(3)
"""What runs at a span, as `part` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePart:
    """All traces of which the key leaves the rest `part_no`: their spans, calls and runs.

    Columns: docs/metrics/critical_path.md for `spans`, with `part` and what is told of a call;
    critical_path_calls.md and critical_path_runs.md for the others.
    """

    spans: pl.DataFrame
    calls: pl.DataFrame
    runs: pl.DataFrame


def trace_parts(connection: Connection, groups: Groups, spans_at_once: int) -> Iterator[TracePart]:
    """The traces in which calls are asked for, part by part."""
    span_count = run_question(connection, question_named("span_count")).item()
    part_count = 1 + span_count // spans_at_once
    for part_no in range(part_count):
        part = {"part_no": part_no, "part_count": part_count}
        calls = run_question(
            connection, question_named("critical_path_calls"), **groups.values(), **part
        )
        traces = calls.filter(pl.col("group_number").is_not_null()).select("trace_key").unique()
        spans = run_question(connection, question_named("critical_path"), **part)
        runs = run_question(connection, question_named("critical_path_runs"), **part)
        told = spans.join(traces, on="trace_key", how="semi")
        yield TracePart(spans=_with_parts(told, calls, runs), calls=calls, runs=runs)


def no_traces(connection: Connection, groups: Groups, who: str) -> NoDataError:
    """The error where no call asked for is in a trace, or none is in the window.

    `who` begins its second half, as in "siblings need".
    """
    counts = run_question(connection, question_named("chains_extent"), **groups.values())
    if counts.is_empty():
        return no_calls(connection, groups.asked, groups.filters)
    return NoDataError(
        f"no call of the window has a span in a trace that is stored: {who} spans, as OTLP sends "
        "them, with their parents"
    )


def labels_of(tree: Tree) -> pl.DataFrame:
    """`span_no` of each root with a call asked for, and the numbers of the group of the first."""
    asked = tree.spans.select("begun_at", *NUMBERS).with_columns(
        span_no=pl.Series(tree.roots), is_rooted=pl.Series(tree.is_rooted)
    )
    return (
        asked.filter(pl.col("group_number").is_not_null() & pl.col("is_rooted"))
        .sort("begun_at", nulls_last=True, maintain_order=True)
        .unique("span_no", keep="first", maintain_order=True)
        .select("span_no", *NUMBERS)
    )


def _with_parts(spans: pl.DataFrame, calls: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """`spans` with what is at them: their part, the phases of a call, the group of one asked for.

    Of several calls at a span the first one counts.
    """
    told = ("begun_at", "service_at", "first_token_at", *NUMBERS)
    models = (
        calls.select(span_keys(calls), *told, call=pl.lit(MODEL, dtype=pl.Int64))
        .unique("key", keep="first", maintain_order=True)
    )  # fmt: skip
    names: Mapping[str, int] = {"tool": TOOL, "retrieval": RETRIEVAL}
    outside = runs.select(
        span_keys(runs), pl.col("part").replace_strict(names, return_dtype=pl.Int64)
    ).unique("key", keep="first", maintain_order=True)
    return (
        spans.with_columns(span_keys(spans))
        .join(models, on="key", how="left", maintain_order="left")
        .join(outside, on="key", how="left", maintain_order="left")
        .with_columns(part=pl.coalesce("call", "part").fill_null(UNSAID))
        .drop("call", "key")
    )
