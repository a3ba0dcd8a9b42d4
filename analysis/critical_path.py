"""The critical path of traces: what the wait for an answer consists of, in wall-clock time.

At each instant from a root's begin to its end the path is in one span: from the root on it goes
into the child that is running and, of several, ends last, and so on down to a span without a
running child. That is the walk back from the end through the child that finished last (C. Q. Yang
and B. P. Miller, Critical path analysis for the execution of parallel and distributed programs,
ICDCS 1988; Z. Zhang et al., CRISP: critical path analysis of large-scale microservice
architectures, USENIX ATC 2022), but that a sibling which overlaps the one chosen is on the path
before that begins, where CRISP leaves it out. Hence a span is on the path from its begin to the
first begin of a sibling that ends later, inside of what its parent has of the path: two running
extrema over siblings and ancestors, without a walk.

A child that ends after its parent was not waited for: it is off the path, with all below it. Where
another service tells it, the parent gave up on it or the clocks differ: it counts up to the
parent's end, unless it consumes a message. What begins before its parent counts from the parent's
begin. A span whose parent is not in the ledger is under the first root of its trace; a trace
without a root is taken from its first begin to its last end.

Owns the parts of the path. Refuses to say what a part costs: time on the path is no GPU-time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.span_tree import UNSAID, Tree, Whole, tree_of
from analysis.trace_spans import (
    MODEL,
    RETRIEVAL,
    SPANS_AT_ONCE,
    TOOL,
    labels_of,
    no_traces,
    trace_parts,
)
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

PARTS = ("queue", "prefill", "decode", "model", "tool", "retrieval", "own_code", "waiting")
_OWN, _WAITING = 3, 4
_UNSPLIT = {MODEL: "model", TOOL: "tool", RETRIEVAL: "retrieval", _OWN: "own_code",
            _WAITING: "waiting"}  # fmt: skip
TRACE = "trace"
"""The row of all parts together."""

PART_NOTE = (
    "model is the time of calls of which the phases are not told; waiting is that of requests to "
    "what tells no span: the network, a gateway, a service"
)


def critical_path(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    spans_at_once: int = SPANS_AT_ONCE,
) -> Answer:
    """One row a group and part of the critical path, in s: sum, mean and p95 over all its traces.

    A trace is a root with a call asked for below it, and has the group of the first of these. The
    parts add up to the row `trace`, to the nanosecond: total_s is a decimal. A trace that has
    nothing of a part has 0 s of it in mean and p95. Raises `NoDataError` where no call is in the
    window, or none in a trace.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    paths = _paths(ledger.connection, groups, spans_at_once)
    if paths.roots.is_empty():
        raise no_traces(ledger.connection, groups, "the critical path needs")
    rows = groups.labelled(_sums(paths.roots))
    order = pl.col("part").cast(pl.Enum((TRACE, *PARTS)))
    frame = rows.sort([*in_order(groups.columns), order], nulls_last=True)
    return Answer(frame=frame, notes=_notes(groups.window, paths), window=groups.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paths:
    """`roots` has the numbers of a root's group and the nanoseconds of each part.

    `late_count` spans ended after what they are under, `timeless_count` roots do not tell both of
    their ends.
    """

    roots: pl.DataFrame
    late_count: int
    timeless_count: int


def _paths(connection: Connection, groups: Groups, spans_at_once: int) -> _Paths:
    """The paths of all traces, some of them at once."""
    found = [_of_spans(part.spans) for part in trace_parts(connection, groups, spans_at_once)]
    return _Paths(
        roots=pl.concat([one.roots for one in found]),
        late_count=sum(one.late_count for one in found),
        timeless_count=sum(one.timeless_count for one in found),
    )


def _of_spans(spans: pl.DataFrame) -> _Paths:
    """The paths of whole traces."""
    tree = tree_of(spans)
    lengths = np.maximum(tree.until - tree.since, 0)
    own = lengths.copy()
    np.subtract.at(own, tree.parents[~tree.is_root], lengths[~tree.is_root])
    labels = labels_of(tree)
    positions = labels["span_no"].to_numpy()
    roots = labels.with_columns(
        pl.Series(part, _by_root(cells, tree)[positions])
        for part, cells in _phases(tree, lengths, own).items()
    )
    is_timed = tree.spans["ended_at"].is_not_null().gather(positions)
    return _Paths(
        roots=roots.filter(is_timed).drop("span_no"),
        late_count=tree.late_count,
        timeless_count=int((~is_timed).sum()),
    )


def _by_root(cells: Whole, tree: Tree) -> Whole:
    """The sum of `cells`, one a span, at the position of each root."""
    sums: Whole = np.zeros(len(cells), dtype=np.int64)
    spent = np.flatnonzero(cells)
    np.add.at(sums, tree.roots[spent], cells[spent])
    return sums


def _phases(tree: Tree, lengths: Whole, own: Whole) -> Mapping[str, Whole]:
    """Nanoseconds of each part that a span itself has on the path.

    A call at a span that is wholly its own is split where its phases are told.
    """
    spans, since, until = tree.spans, tree.since, tree.since + lengths
    is_call = (spans["part"] == MODEL).to_numpy() & (own == lengths)
    token_at, service_at = spans["first_token_at"], spans["service_at"]
    has_token = is_call & token_at.is_not_null().to_numpy()
    has_start = is_call & service_at.is_not_null().to_numpy()
    token = np.clip(token_at.fill_null(0).to_numpy(), since, until)
    start = np.clip(service_at.fill_null(0).to_numpy(), since, until)
    queue = np.where(has_start, start - since, 0)
    prefill = np.where(has_start & has_token, np.maximum(token - start, 0), 0)
    decode = np.where(has_token, until - np.maximum(token, start), 0)
    rest = own - queue - prefill - decode
    otherwise = np.where(spans["is_request"].to_numpy(), _WAITING, _OWN)
    parts = np.where(tree.parts == UNSAID, otherwise, tree.parts)
    return {"queue": queue, "prefill": prefill, "decode": decode} | {
        name: np.where(parts == number, rest, 0) for number, name in _UNSPLIT.items()
    }


def _sums(roots: pl.DataFrame) -> pl.DataFrame:
    """A row for each group and part, and one for the group's traces as a whole."""
    whole = roots.with_columns(pl.sum_horizontal(PARTS).alias(TRACE))
    grouped = whole.group_by(NUMBERS, maintain_order=True)
    rows = [
        grouped.agg(
            part=pl.lit(part),
            trace_count=pl.len().cast(pl.Int64),
            total_s=_decimal_s(pl.col(part).sum()),
            mean_s=pl.col(part).mean() / 1e9,
            p95_s=pl.col(part).quantile(0.95, "linear") / 1e9,
            share_ratio=pl.when(pl.col(TRACE).sum() > 0).then(
                pl.col(part).sum() / pl.col(TRACE).sum()
            ),
        )
        for part in (TRACE, *PARTS)
    ]
    return pl.concat(rows)


def _decimal_s(nanoseconds: pl.Expr) -> pl.Expr:
    """Whole nanoseconds as seconds with nine places."""
    return nanoseconds.cast(pl.Decimal(38, 9)) * pl.lit("0.000000001").cast(pl.Decimal(38, 9))


def _notes(window: Window, paths: _Paths) -> tuple[str, ...]:
    notes = [f"window: {window.text()}", PART_NOTE]
    if paths.late_count:
        spans = counted(paths.late_count, "span")
        notes.append(f"ended after what they are under, hence not waited for: {spans}")
    if paths.timeless_count:
        roots = counted(paths.timeless_count, "trace")
        notes.append(f"left out, for the root does not tell both of its ends: {roots}")
    return tuple(notes)
