"""Steps of a trace that ran one after the other and need not have: they could run side by side.

Steps are calls, tools and retrievals; siblings branch from one span. Looked at are steps of one
kind with no other step between them, each begun when the one before it had ended, none failed. That
nothing of one went into the next is told by one of

- `one answer`: tools after a call. Their arguments were in that answer.
- `one prompt`: calls with equal prompts. The answer to the first is not in the second.
- `no text`: embeddings. What they give is no text that a prompt could hold.
- `no room`: calls each of whose prompts is shorter than any answer before it.
- `hashes`: tools or retrievals of which no arguments are the result of the one before. A part of a
  result may be in them all the same: it is a sign, no proof.

Owns these signs. Refuses to promise: a tool that changes something may have to come first.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.facts import Facts
from analysis.groups import NUMBERS, groups_of
from analysis.repetition import known_hashes, not_compared
from analysis.span_tree import UNSAID, tree_of
from analysis.trace_spans import (
    MODEL,
    RETRIEVAL,
    SPANS_AT_ONCE,
    TOOL,
    TracePart,
    labels_of,
    no_traces,
    trace_parts,
)
from analysis.trace_steps import steps_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="siblings",
    question="Which steps of traces ran one after the other and could run side by side?",
    grain="a group, a kind of step (model, tool, retrieval) and the evidence that nothing of one "
    "step went into the next",
    unit="traces, groups of siblings, steps; s on the critical path of traces",
    params="--by, --since, --until, --tz and --where, on the calls of a trace",
    nulls="none",
    identity="path_s = parallel_s + gained_s; gained_s is at most the time of these steps on the "
    "critical path; no step is in two groups",
)

KINDS = {MODEL: "model", TOOL: "tool", RETRIEVAL: "retrieval"}
STEPS = ("calls", "tool runs", "retrievals")
"""Rows of which hashes may tell that they are siblings."""
ROOM, SIGN = "no room", "hashes"
"""Evidence that is of all of a group, and that is a sign and no proof."""

GAIN_NOTE = (
    "gained_s is time on the critical path: the sum of the siblings' parts of it less the longest; "
    "no GPU time is saved, and more is asked at once"
)
SIGN_NOTE = (
    "hashes is a sign, no proof: a part of a result may be in the next arguments; and a tool that "
    "changes something may have to come first"
)


def siblings(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    spans_at_once: int = SPANS_AT_ONCE,
) -> Answer:
    """One row a group, kind of step and evidence: what traces would gain, in s.

    A trace has the group of the first call asked for in it. Most gained first. An empty answer is
    an answer. Raises `NoDataError` where no call is in the window, or none in a trace.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    found, trace_count = [], 0
    for part_no, part in enumerate(trace_parts(ledger.connection, groups, spans_at_once)):
        trace_count += part.spans["trace_key"].n_unique()
        found.append(_of_part(part).with_columns(part_no=pl.lit(part_no)))
    if not trace_count:
        raise no_traces(ledger.connection, groups, "siblings need")
    rows = groups.labelled(_summed(pl.concat(found)))
    frame = rows.sort(
        "gained_s", *groups.columns, "kind", "evidence",
        descending=[True, *[False] * (len(groups.columns) + 2)], nulls_last=True,
    )  # fmt: skip
    known = known_hashes(ledger.connection, groups.asked, groups.filters)
    notes = (*_notes(groups.window, frame, trace_count), *not_compared(known, *STEPS))
    return Answer(frame=frame, notes=notes, window=groups.window)


def _of_part(part: TracePart) -> pl.DataFrame:
    """The groups of siblings of one part of the traces: a row each, with its trace's group."""
    several = (
        part.spans.filter(pl.col("part") >= 0)
        .group_by("trace_key", "part")
        .len()
        .filter(pl.col("len") > 1)
        .select("trace_key")
        .unique()
    )
    tree = tree_of(part.spans.join(several, on="trace_key", how="semi", maintain_order="left"))
    labels = labels_of(tree).rename({"span_no": "root_no"})
    return _grouped(_judged(steps_of(tree, part))).join(
        labels.with_columns(pl.col("root_no").cast(pl.Int64)), on="root_no"
    )


def _judged(steps: pl.DataFrame) -> pl.DataFrame:
    """`steps` with `evidence` that each needs nothing of the one before it in its stretch.

    A stretch is of one kind and branch; each of it begins when the one before has ended, whole.
    """
    is_first = (
        pl.col("branch_no").ne_missing(pl.col("branch_no").shift())
        | pl.col("part").ne_missing(pl.col("part").shift())
        | ~(pl.col("since") >= pl.col("until").shift()).fill_null(value=False)
        | ~pl.col("is_whole").shift().fill_null(value=False)
    )
    is_inside = pl.col("branch_no") == pl.col("branch_no").shift()
    before = pl.when(is_inside).then(pl.col("part").shift()).fill_null(UNSAID)
    return (
        steps.with_columns(is_first=is_first, before=before)
        .with_columns(before=pl.when("is_first").then("before").forward_fill())
        .with_columns(evidence=_evidence())
    )


def _evidence() -> pl.Expr:
    """By which sign a step needed nothing of the one before; null where there is none."""
    is_tool, is_call = pl.col("part") == TOOL, pl.col("part") == MODEL
    is_run = is_tool | (pl.col("part") == RETRIEVAL)
    asked, asked_before = pl.col("asked_key"), pl.col("asked_key").shift()
    return (
        pl.when(pl.col("is_first") | (asked == pl.col("found_key").shift()))
        .then(None)
        .when(pl.col("is_embedding") & pl.col("is_embedding").shift())
        .then(pl.lit("no text"))
        .when(is_call & (asked == asked_before))
        .then(pl.lit("one prompt"))
        .when(is_call & (pl.col("input_tokens") < pl.col("output_tokens").shift()))
        .then(pl.lit(ROOM))
        .when(is_tool & (pl.col("before") == MODEL))
        .then(pl.lit("one answer"))
        .when(is_run & asked.is_not_null() & asked_before.is_not_null())
        .then(pl.lit(SIGN))
    )


def _grouped(judged: pl.DataFrame) -> pl.DataFrame:
    """A row for each group of siblings that could run side by side, with what that gains.

    Of prompts without room the longest is shorter than the shortest answer before the last.
    """
    later = pl.col("evidence").is_not_null()
    answers = pl.when(~pl.col("is_embedding")).then(pl.col("output_tokens").fill_null(0))
    is_apart = pl.col("input_tokens").filter(later).max() < answers.head(pl.len() - 1).min()
    return (
        judged.with_columns(group=(~later).cum_sum())
        .filter(later | later.shift(-1, fill_value=False))
        .group_by("group", maintain_order=True)
        .agg(
            pl.col("root_no").first().cast(pl.Int64),
            pl.col("part").first(),
            evidence=pl.col("evidence").min(),
            is_apart=is_apart.fill_null(value=False),
            step_count=pl.len().cast(pl.Int64),
            path_ns=pl.col("path_ns").sum(),
            parallel_ns=pl.col("path_ns").max(),
        )
        .filter(
            (pl.col("path_ns") > pl.col("parallel_ns"))
            & (pl.col("is_apart") | (pl.col("evidence") != ROOM))
        )
    )


def _summed(found: pl.DataFrame) -> pl.DataFrame:
    """A row for each group of calls, kind and evidence."""
    return (
        found.group_by(*NUMBERS, "part", "evidence", maintain_order=True)
        .agg(
            trace_count=pl.struct("part_no", "root_no").n_unique().cast(pl.Int64),
            group_count=pl.len().cast(pl.Int64),
            step_count=pl.col("step_count").sum(),
            path_s=pl.col("path_ns").sum() / 1e9,
            parallel_s=pl.col("parallel_ns").sum() / 1e9,
            gained_s=(pl.col("path_ns") - pl.col("parallel_ns")).sum() / 1e9,
        )
        .with_columns(
            kind=pl.col("part").replace_strict(KINDS, return_dtype=pl.String),
            gained_per_trace_s=pl.col("gained_s") / pl.col("trace_count"),
        )
        .select(
            *NUMBERS, "kind", "evidence", "trace_count", "group_count", "step_count",
            "path_s", "parallel_s", "gained_s", "gained_per_trace_s",
        )
    )  # fmt: skip


def _notes(window: Window, frame: pl.DataFrame, trace_count: int) -> tuple[str, ...]:
    notes = [f"window: {window.text()}", f"looked at {counted(trace_count, 'trace')}"]
    if frame.is_empty():
        return (*notes, "no siblings ran one after the other that need not have")
    proven = frame.filter(pl.col("evidence") != SIGN)
    groups = counted(int(proven["group_count"].sum()), "group")
    notes += [f"{groups} that need nothing of each other: {proven['gained_s'].sum():,.3f} s"]
    if proven.height < frame.height:
        notes.append(SIGN_NOTE)
    return (*notes, GAIN_NOTE)
