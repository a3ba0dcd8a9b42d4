"""The steps of a trace, which are calls, tools and retrievals, by the span that they branch from.

Owns what a step's siblings are: a span around one step alone, such as a client's around the
engine's, stands for it. Refuses to read.
"""

import numpy as np
import polars as pl

from analysis.span_tree import UNSAID, Flags, Tree, Whole, span_keys
from analysis.trace_spans import TracePart

SEVERAL = 3
"""`part` of a span around several steps, as a step between its siblings."""

TOLD = (
    "is_whole", "asked_key", "found_key", "is_embedding", "input_tokens", "output_tokens",
)  # fmt: skip
"""What calls and runs tell of a step; null what only the others tell."""


def steps_of(tree: Tree, part: TracePart) -> pl.DataFrame:
    """The steps of the trees in `tree`, by the branch they are on and their begin.

    `root_no` and `branch_no` are positions, `path_ns` is what the step has of the critical path,
    `since` and `until` are instants; `part` is MODEL, TOOL, RETRIEVAL or SEVERAL, and `TOLD` what
    the call or the run at it tells.
    """
    is_step = (tree.spans["part"] != UNSAID).to_numpy() & tree.is_rooted
    counts = _below(tree, is_step)
    tops = _tops(tree, counts)
    steps = np.flatnonzero(is_step)
    around = np.unique(tree.parents[tops[steps]])
    around = around[~is_step[around] & ~tree.is_root[around]]
    shown = np.concatenate([steps, around])
    top = tops[shown]
    lengths = np.maximum(tree.until - tree.since, 0)
    frame = tree.spans.select("trace_key", "span_key", "part", "started_at", "ended_at")
    at_steps = frame[shown]
    return (
        at_steps.select(
            span_keys(at_steps),
            part=pl.when(pl.col("part") == UNSAID).then(SEVERAL).otherwise(pl.col("part")),
            root_no=pl.Series(tree.roots[shown]),
            branch_no=pl.Series(tree.parents[top]),
            path_ns=pl.Series(lengths[top]),
            since=frame["started_at"].gather(top),
            until=frame["ended_at"].gather(top),
        )
        .join(_told(part), on="key", how="left", maintain_order="left")
        .sort("branch_no", "since", "until", nulls_last=True, maintain_order=True)
    )


def _told(part: TracePart) -> pl.DataFrame:
    """What calls and runs tell, by span; of several at a span the first one counts."""
    calls = part.calls.with_columns(found_key=pl.lit(None, dtype=pl.Int64))
    runs = part.runs.with_columns(
        pl.lit(value=False).alias("is_embedding"),
        *(pl.lit(None, dtype=pl.Int64).alias(name) for name in ("input_tokens", "output_tokens")),
    )
    told = pl.concat(
        [one.select(span_keys(one), *TOLD) for one in (calls, runs)], how="vertical_relaxed"
    )
    return told.unique("key", keep="first", maintain_order=True)


def _below(tree: Tree, is_step: Flags) -> Whole:
    """How many steps each span is or has below it, level by level from the deepest."""
    counts: Whole = is_step.astype(np.int64)
    depths = np.where(tree.is_root | ~tree.is_rooted, 0, 1)
    above = np.where(tree.is_rooted, tree.parents, np.arange(len(counts)))
    for _ in range(len(counts).bit_length()):
        depths = depths + depths[above]
        above = above[above]
    order = np.argsort(-depths, kind="stable")
    levels = np.flatnonzero(np.diff(depths[order])) + 1
    for level in np.split(order, levels):
        if len(level) and depths[level[0]]:
            np.add.at(counts, tree.parents[level], counts[level])
    return counts


def _tops(tree: Tree, counts: Whole) -> Whole:
    """The outermost span around each that has no further step in it; a root is its own."""
    same = (counts[tree.parents] == counts) & tree.is_rooted
    top: Whole = np.where(same, tree.parents, np.arange(len(counts)))
    for _ in range(len(counts).bit_length()):
        top = top[top]
    return top
