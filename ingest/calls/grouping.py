"""Which views make up one call, from the pairs that agree.

Owns the rule for more than two: all of them agree with each other, and no observer tells two.
Refuses a group that resemblance alone makes ambiguous: of it only what an id says is kept.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar

Rule = Literal["response_id", "probable"]
T = TypeVar("T", bound=Hashable)


class Pair(NamedTuple):
    """Two views that may be of one call, and what says so."""

    first: str
    second: str
    rule: Rule


class Group(NamedTuple):
    """Views of one call; the rule is the weakest of those that join them."""

    members: frozenset[str]
    rule: Rule


class Told(NamedTuple):
    """What decides whether views fit together: who told this one, and the id of its answer."""

    observer: str
    response_id: str | None


def groups(pairs: Sequence[Pair], told: Mapping[str, Told]) -> list[Group]:
    """The groups of two views or more that `pairs` make; `told` has every view of a pair."""
    by_id = components([(pair.first, pair.second) for pair in pairs if pair.rule == "response_id"])
    node_of = {view: node for node in by_id for view in node}
    alike = {
        frozenset((_node(pair.first, node_of), _node(pair.second, node_of)))
        for pair in pairs
        if pair.rule == "probable"
    }
    edges = [tuple(edge) for edge in alike if len(edge) == 2]
    joined = [
        frozenset(nodes)
        for nodes in components((one, other) for one, other in edges)
        if _is_sound(nodes, alike, told)
    ]
    probable = [frozenset(view for node in nodes for view in node) for nodes in joined]
    taken = {node for nodes in joined for node in nodes}
    return [
        *(Group(members, "probable") for members in probable),
        *(Group(node, "response_id") for node in by_id if node not in taken),
    ]


Node = frozenset[str]
"""Views that share the id of their answer, or one view alone."""


def _node(view: str, node_of: Mapping[str, Node]) -> Node:
    return node_of.get(view, frozenset((view,)))


def _is_sound(nodes: Iterable[Node], alike: set[frozenset[Node]], told: Mapping[str, Told]) -> bool:
    """Whether all nodes resemble each other, tell one answer, and have an observer each."""
    distinct = list(nodes)
    if any(frozenset(pair) not in alike for pair in combinations(distinct, 2)):
        return False
    views = [told[view] for node in distinct for view in node]
    observers = [view.observer for view in views]
    answers = {view.response_id for view in views} - {None}
    return len(set(observers)) == len(observers) and len(answers) <= 1


def components(edges: Iterable[tuple[T, T]]) -> list[frozenset[T]]:
    """The connected parts of the graph with these edges."""
    neighbours: dict[T, list[T]] = defaultdict(list)
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    seen: set[T] = set()
    found = []
    for start in neighbours:
        if start in seen:
            continue
        part, waiting = {start}, [start]
        while waiting:
            for near in neighbours[waiting.pop()]:
                if near not in part:
                    part.add(near)
                    waiting.append(near)
        seen |= part
        found.append(frozenset(part))
    return found
