"""Spans of whole traces as a tree: what each has of the critical path, and in what it is.

Owns what is done about parents that are missing and about children that outlive their parent.
Refuses to read and to sum: rows come in, a stretch of time for each goes out.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNSAID = -1
"""The part of a span that is neither a call nor a tool nor a retrieval."""


_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)
"""By which keys of traces are spread, for a trace and a span of it may have the same id."""


def span_keys(rows: pl.DataFrame, span: str = "span_key") -> pl.Series:
    """One number for the trace of each of `rows` and the span in column `span`; 0 for no span."""
    traces = rows["trace_key"].to_numpy().astype(np.uint64)
    spans = rows[span].fill_null(0).to_numpy().astype(np.uint64)
    return pl.Series("key", traces * _ODD ^ spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Of each span of `spans`, by position, its stretch of the critical path.

    The stretch from `since` to `until` is in nanoseconds since 1970, and empty where `until` is
    not larger. `parts` is the span's part, else that of the nearest above that has one. `parents`
    and `roots` are positions; a root is its own parent. What is under no root, as a circle of
    parents is, has no stretch and is not `is_rooted`. `late_count` spans ended after parents that
    had not waited for them.
    """

    spans: pl.DataFrame
    parents: Whole
    roots: Whole
    is_root: Flags
    is_rooted: Flags
    parts: Whole
    since: Whole
    until: Whole
    late_count: int


def tree_of(spans: pl.DataFrame) -> Tree:
    """The tree of `spans`, all of each trace: columns of docs/metrics/critical_path.md, `part`.

    Strides to the ancestor are doubled: as many steps as the depth has binary digits.
    """
    placed = _placed(spans)
    is_root: Flags = placed["parent_no"].is_null().to_numpy()
    parents: Whole = np.where(
        is_root, np.arange(placed.height), placed["parent_no"].fill_null(0).to_numpy()
    )
    is_waited = _is_waited(placed, parents, is_root)
    since: Whole = placed["started_at"].fill_null(0).to_numpy()
    end: Whole = placed["ended_at"].fill_null(0).to_numpy()
    cut_at = _cut_at(since, end, parents, is_waited & ~is_root)
    until: Whole = np.where(is_waited, np.minimum(end, cut_at), 0)
    parts: Whole = placed["part"].to_numpy()
    above = parents
    for _ in range(placed.height.bit_length()):
        since = np.maximum(since, since[above])
        until = np.minimum(until, until[above])
        parts = np.where(parts == UNSAID, parts[above], parts)
        further = above[above]
        if np.array_equal(further, above):
            break
        above = further
    is_rooted: Flags = is_root[above]
    return Tree(
        spans=placed,
        parents=parents,
        roots=above,
        is_root=is_root,
        is_rooted=is_rooted,
        parts=parts,
        since=since,
        until=np.where(is_rooted, until, since),
        late_count=int((~is_waited & placed["ended_at"].is_not_null().to_numpy()).sum()),
    )


def _placed(spans: pl.DataFrame) -> pl.DataFrame:
    """`spans` with `parent_no`, the position of the parent, and a row around each rootless trace.

    A span whose parent is not there is under the first root of its trace.
    """
    is_root = pl.col("parent_key").is_null()
    tops = spans.group_by("trace_key", maintain_order=True).agg(
        root_key=pl.col("span_key").filter(is_root).first(),
        started_at=pl.col("started_at").filter(pl.col("ended_at").is_not_null()).min(),
        ended_at=pl.col("ended_at").max(),
    )
    around = tops.filter(pl.col("root_key").is_null()).select(
        "trace_key",
        pl.lit(0, dtype=pl.Int64).alias("span_key"),
        "started_at",
        "ended_at",
        is_request=pl.lit(value=True),
        is_consumer=pl.lit(value=False),
        part=pl.lit(UNSAID, dtype=pl.Int64),
    )
    tree = pl.concat([spans, around], how="diagonal").with_row_index("span_no")
    found = pl.DataFrame([tree["span_no"], span_keys(tree)]).unique("key", keep="first")
    tops = tops.with_columns(span_keys(tops, "root_key"))
    first = tops.join(found.rename({"span_no": "first_no"}), on="key", how="left")
    return (
        tree.with_columns(span_keys(tree, "parent_key"))
        .join(found.rename({"span_no": "parent_no"}), on="key", how="left", maintain_order="left")
        .join(
            first.select("trace_key", "first_no"),
            on="trace_key", how="left", maintain_order="left",
        )
        .with_columns(
            parent_no=pl.when(pl.col("parent_key").is_not_null())
            .then(pl.coalesce("parent_no", "first_no"))
            .cast(pl.Int64)
        )
        .drop("first_no", "key")
    )  # fmt: skip


def _is_waited(spans: pl.DataFrame, parents: Whole, is_root: Flags) -> Flags:
    """Whether the parent waited for a span; of a root, whether it tells both of its ends.

    What ends after its parent is waited for if another service tells it, for the parent gave up
    or the clocks differ; not if it consumes a message or began when the parent had ended.
    """
    is_told: Flags = (
        spans["ended_at"].is_not_null() & spans["started_at"].is_not_null()
    ).to_numpy()
    since: Whole = spans["started_at"].fill_null(0).to_numpy()
    end: Whole = spans["ended_at"].fill_null(0).to_numpy()
    service: Whole = spans["service_key"].fill_null(UNSAID).to_numpy()
    is_other = (service != service[parents]) & ~spans["is_consumer"].to_numpy()
    is_inside = (end <= end[parents]) | (is_other & (since <= end[parents]))
    waited: Flags = is_told & (is_root | (is_told[parents] & is_inside))
    return waited


def _cut_at(since: Whole, end: Whole, parents: Whole, is_rival: Flags) -> Whole:
    """Where each span is cut short: the first begin of a sibling that ends later.

    Of two that end at once, the one that begins first counts as the later one. Without such a
    sibling the largest whole number.
    """
    never = np.iinfo(np.int64).max
    found: Whole = np.full(len(since), never, dtype=np.int64)
    rivals = np.flatnonzero(is_rival)
    ordered = rivals[np.lexsort((since[rivals], -end[rivals], parents[rivals]))]
    # Begins by their rank, each family lower than the one before: a running minimum then begins
    # anew with each of them.
    begins, ranks = np.unique(since[ordered], return_inverse=True)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = parents[ordered][1:] != parents[ordered][:-1]
    families = np.cumsum(is_first) * (len(begins) + 1)
    least = np.minimum.accumulate(ranks - families) + families
    later = ordered[~is_first]
    found[later] = begins[least[np.flatnonzero(~is_first) - 1]]
    return found
