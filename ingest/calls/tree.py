"""The spans of one trace as a tree, from the roots down and in an order of its own.

Owns parents, children and the order of visiting. Refuses to depend on the order of arrival, to
lose an orphan (it becomes a root), and to follow a cycle of parents for ever (it is cut).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.calls.folded import folded
from ingest.records import Span


@dataclass(frozen=True, slots=True)
class Tree:
    """One trace: `spans` holds every span once, each after its parent; indices point into it.

    `parents[i]` is None for a root. `is_cut[i]` says that the span names a parent which is not
    above it here: it is missing, or following it would go in a circle.
    """

    spans: tuple[Span, ...]
    parents: tuple[int | None, ...]
    is_cut: tuple[bool, ...]


def grow(spans: Sequence[Span]) -> Tree:
    """The tree of `spans`, in linear time but for one sort; log records are told to their spans."""
    by_id: dict[str, Span] = {}
    for span in folded(spans):
        other = by_id.get(span.span_id)
        by_id[span.span_id] = span if other is None else max(span, other, key=_fullness)
    children: dict[str | None, list[Span]] = defaultdict(list)
    for span in sorted(by_id.values(), key=_place):
        children[_known_parent(span, by_id)].append(span)
    order: list[tuple[Span, int | None]] = []
    placed: set[str] = set()
    for root in children[None]:
        _place_below(root, children, order, placed)
    for span_id in sorted(by_id):
        if span_id not in placed:
            _place_below(_cut_of_cycle(by_id[span_id], by_id), children, order, placed)
    return Tree(
        spans=tuple(span for span, _ in order),
        parents=tuple(parent for _, parent in order),
        is_cut=tuple(span.parent_span_id is not None and at is None for span, at in order),
    )


def _place_below(
    root: Span,
    children: dict[str | None, list[Span]],
    order: list[tuple[Span, int | None]],
    placed: set[str],
) -> None:
    """Append `root` and all below it to `order`, each after its parent."""
    waiting: list[tuple[Span, int | None]] = [(root, None)]
    while waiting:
        span, parent = waiting.pop()
        if span.span_id in placed:
            continue
        placed.add(span.span_id)
        order.append((span, parent))
        here = len(order) - 1
        waiting.extend((child, here) for child in reversed(children.get(span.span_id, ())))


def _known_parent(span: Span, by_id: dict[str, Span]) -> str | None:
    parent = span.parent_span_id
    return parent if parent in by_id and parent != span.span_id else None


def _cut_of_cycle(span: Span, by_id: dict[str, Span]) -> Span:
    """The smallest span id on the cycle that `span` hangs on."""
    seen: dict[str, int] = {}
    at = span.span_id
    while at not in seen:
        seen[at] = len(seen)
        at = by_id[at].parent_span_id or at
    cycle = [span_id for span_id, position in seen.items() if position >= seen[at]]
    return by_id[min(cycle)]


def _place(span: Span) -> tuple[int, str]:
    return (span.started_at or 0, span.span_id)


def _fullness(span: Span) -> tuple[int, int, str]:
    """Of two versions of one span the later end wins, then the one that says more."""
    return (span.ended_at or 0, len(span.attributes), repr(span))
