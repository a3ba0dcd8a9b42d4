"""One call, once: which spans are views of the same call.

Owns the walk outward from the innermost model span. Refuses to cross an agent, a tool or a
retrieval, to count a wrapper, and to take what runs below an answer out of a cache, such as its
guard, for a view of that answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ingest.calls.roles import MODEL_ROLES, TRANSPARENT_ROLES, Part, is_http_request
from ingest.calls.tree import Tree


class Chain(NamedTuple):
    """The views of one call as indices into the tree.

    `own` goes from the innermost outward and belongs to this call alone. `wrapper` is the nearest
    view around several calls, `operation` the outermost one. `sender` is the HTTP request that
    carried the call to a server whose view is the outermost own one. None where there is none.
    """

    own: tuple[int, ...]
    wrapper: int | None = None
    operation: int | None = None
    sender: int | None = None


def chains(tree: Tree, parts: Sequence[Part]) -> list[Chain]:
    """One chain for each model call of the trace, in the order of the tree."""
    above = _views_above(tree, parts)
    inner_count = [0] * len(parts)
    innermost: list[int] = []
    for index in range(len(parts) - 1, -1, -1):
        if parts[index].role not in MODEL_ROLES:
            continue
        if inner_count[index] == 0:
            innermost.append(index)
            inner_count[index] = 1
        outer = above[index]
        if outer is not None:
            inner_count[outer] += inner_count[index]
    outermost = _outermost(above)
    found = [_chain(index, above, inner_count, outermost) for index in reversed(innermost)]
    return [each._replace(sender=_sender(each.own[-1], tree, parts)) for each in found]


def _views_above(tree: Tree, parts: Sequence[Part]) -> list[int | None]:
    """For each model span the next view outward, through spans that are no step of their own."""
    visible: list[int | None] = []
    above: list[int | None] = []
    for index, parent in enumerate(tree.parents):
        around = None if parent is None else visible[parent]
        role = parts[index].role
        if role in MODEL_ROLES:
            is_same = around is not None and parts[around].role == role
            above.append(around if is_same else None)
            visible.append(None if parts[index].is_replayed else index)
        else:
            above.append(None)
            visible.append(around if role in TRANSPARENT_ROLES else None)
    return above


def _outermost(above: Sequence[int | None]) -> list[int]:
    tops: list[int] = []
    for index, outer in enumerate(above):
        tops.append(index if outer is None else tops[outer])
    return tops


def _chain(
    innermost: int,
    above: Sequence[int | None],
    inner_count: Sequence[int],
    outermost: Sequence[int],
) -> Chain:
    own = [innermost]
    outer = above[innermost]
    while outer is not None and inner_count[outer] == 1:
        own.append(outer)
        outer = above[outer]
    return Chain(tuple(own), outer, None if outer is None else outermost[outer])


def _sender(outermost: int, tree: Tree, parts: Sequence[Part]) -> int | None:
    """The nearest HTTP request around a server's view, with only that server between them."""
    if tree.spans[outermost].kind != "server":
        return None
    at = tree.parents[outermost]
    while at is not None and parts[at].role == "other":
        if is_http_request(tree.spans[at]):
            return at
        at = tree.parents[at]
    return None
