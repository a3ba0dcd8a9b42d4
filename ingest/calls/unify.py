"""One call, once: which spans are views of the same call, and which calls are attempts of one.

Owns the walk outward from the innermost model span. Refuses to cross an agent, a tool or a
retrieval, to count a wrapper, and to call parallel choices a retry.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.calls.outcome import Status
from ingest.calls.roles import MODEL_ROLES, TRANSPARENT_ROLES, Part
from ingest.calls.tree import Tree


@dataclass(frozen=True, slots=True)
class Chain:
    """The views of one call as indices into the tree.

    `own` goes from the innermost outward and belongs to this call alone. `wrapper` is the nearest
    view around several calls, `operation` the outermost one; None where there is none.
    """

    own: tuple[int, ...]
    wrapper: int | None = None
    operation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What decides whether one call repeats another: when, how it ended, for which request."""

    identity: str
    operation: str | None
    begun_at: int | None
    ended_at: int | None
    status: Status
    request_id: str | None


@dataclass(frozen=True, slots=True)
class RetryLink:
    """The place of a call among the attempts of one operation.

    `is_whole_operation` says that the wrapper holds these attempts and nothing else.
    """

    attempt: int
    retry_of: str | None
    is_last: bool
    is_whole_operation: bool


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
    return [_chain(index, above, inner_count, outermost) for index in reversed(innermost)]


def retries(attempts: Sequence[Attempt]) -> dict[str, RetryLink]:
    """Identity of a call to its place among the attempts of one operation.

    Attempts follow each other in time under one wrapper, and all but the last failed.
    """
    groups: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.operation is not None:
            groups[attempt.operation].append(attempt)
    links: dict[str, RetryLink] = {}
    for group in groups.values():
        group.sort(key=lambda each: (each.begun_at or 0, each.identity))
        for run in _runs(group):
            if len(run) > 1:
                _link(run, links, is_whole_operation=len(run) == len(group))
    return links


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
            visible.append(index)
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


def _runs(group: Sequence[Attempt]) -> list[list[Attempt]]:
    """The group cut wherever the next call does not repeat the one before it."""
    runs = [[group[0]]]
    for earlier, later in pairwise(group):
        if _repeats(earlier, later):
            runs[-1].append(later)
        else:
            runs.append([later])
    return runs


def _repeats(earlier: Attempt, later: Attempt) -> bool:
    if earlier.status == "ok" or earlier.ended_at is None or later.begun_at is None:
        return False
    is_same_request = earlier.request_id is not None and earlier.request_id == later.request_id
    return later.begun_at >= earlier.ended_at and not is_same_request


def _link(run: Sequence[Attempt], links: dict[str, RetryLink], *, is_whole_operation: bool) -> None:
    first = run[0].identity
    for position, attempt in enumerate(run):
        links[attempt.identity] = RetryLink(
            attempt=position + 1,
            retry_of=None if position == 0 else first,
            is_last=position == len(run) - 1,
            is_whole_operation=is_whole_operation,
        )
