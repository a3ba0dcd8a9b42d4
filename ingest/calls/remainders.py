"""What an agent, a workflow or a wrapper tells beyond the calls below it: a line, not itemised.

Owns the subtraction, of whole sums: an agent often leaves out what of its input was cached. Refuses
to share the rest out among the calls, and to take anything away from them where it is negative.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.calls.call import call, ending
from ingest.calls.derivation import Derivation
from ingest.calls.roles import MODEL_ROLES, Part
from ingest.calls.timing import quality_of_span
from ingest.calls.tokens import Buckets
from ingest.calls.tree import Tree
from ingest.calls.usage import COUNTS, usage
from ingest.calls.views import View, Views
from ingest.records import Call

NOT_ITEMISED = "not_itemised"
"""The operation of a line that holds tokens or a cost that no single call tells."""


@dataclass(slots=True)
class _Below:
    """What the calls below one span account for."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    call_count: int = 0
    silent_count: int = 0
    models: frozenset[str] = frozenset()

    def add(self, one: Call) -> None:
        """Account for `one`, a call or the rest of a span further down."""
        self.input_tokens += (
            (one.uncached_input_tokens or 0)
            + (one.cache_read_tokens or 0)
            + (one.cache_write_tokens or 0)
        )
        self.output_tokens += (one.visible_output_tokens or 0) + (one.reasoning_tokens or 0)
        self.cache_read_tokens += one.cache_read_tokens or 0
        self.cache_write_tokens += one.cache_write_tokens or 0
        self.reasoning_tokens += one.reasoning_tokens or 0
        self.models |= {one.model} if one.model is not None else set()
        if one.operation != NOT_ITEMISED:
            self.call_count += 1
            self.silent_count += one.uncached_input_tokens is None

    def include(self, other: "_Below") -> None:
        """Account for all that `other`, a span directly below, accounts for."""
        for name in self.__slots__:
            both = (getattr(self, name), getattr(other, name))
            setattr(self, name, both[0] | both[1] if name == "models" else both[0] + both[1])


def remainders(
    tree: Tree,
    parts: Sequence[Part],
    view_of: Callable[[int], View],
    calls: Sequence[tuple[int, Sequence[int], Call]],
    derivation: Derivation,
) -> list[Call]:
    """The lines of what spans tell beyond their calls, in the order of the tree.

    `view_of` gives the view of a span by its index. `calls` are the calls of the trace, each with
    the index of its span and those of all views that are its own.
    """
    below = [_Below() for _ in parts]
    own: set[int] = set()
    for index, views, found in calls:
        below[index].add(found)
        own.update(views)
    lines: list[Call] = []
    for index in range(len(parts) - 1, -1, -1):
        may_tell = parts[index].role in {"agent", "chain"} or (
            parts[index].role in MODEL_ROLES and index not in own
        )
        line = _line(view_of(index), below[index], derivation) if may_tell else None
        if line is not None:
            below[index].add(line)
            lines.append(line)
        parent = tree.parents[index]
        if parent is not None:
            below[parent].include(below[index])
    return lines[::-1]


def _line(view: View, below: _Below, derivation: Derivation) -> Call | None:
    """What `view` tells beyond `below`; None where that is nothing."""
    if not any(view.reading.has(field) for field in COUNTS):
        return None
    told, _ = usage([view.reading])
    rest = _rest(told, below)
    if not (rest["uncached_input_tokens"] or rest["visible_output_tokens"] or _parts_of(rest)):
        return None
    views = Views(own=(view,))
    found = call(views, ending(views, derivation.table), None, derivation)
    model = found.model
    if model is None and len(below.models) == 1:
        (model,) = below.models
    span = view.span
    return Call(
        identity=f"not-itemised:{span.trace_id}:{span.span_id}",
        operation=NOT_ITEMISED,
        status=found.status,
        timing_source="tokens",
        timing_quality=quality_of_span(span.started_at, None, None, None),
        arrived_at=span.started_at,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        model=model,
        **{name: getattr(found, name) for name in _SHARED},
        **rest,
        tokens_source=told.tokens_source,
        tokens_note=_note(below),
    )


_SHARED = (
    "origin",
    "endpoint",
    "endpoint_source",
    "feature",
    "team",
    "tenant",
    "user_id",
    "conversation_id",
    "service",
    "environment",
    "region",
    "provider",
    "model_requested",
    "pool_reported",
    "adapter",
    "replica",
    "scenario",
    "arm",
)
"""Columns that the line has as a call of its span would have them."""


def _rest(told: Buckets, below: _Below) -> dict[str, Any]:
    """The five buckets of what `told` says beyond `below`; None where it says nothing."""
    input_tokens = _beyond(told.input_tokens, below.input_tokens)
    output_tokens = _beyond(told.output_tokens, below.output_tokens)
    read = _part(told.cache_read_tokens, below.cache_read_tokens, input_tokens)
    left = _without(input_tokens, read)
    write = _part(told.cache_write_tokens, below.cache_write_tokens, left)
    reasoning = _part(told.reasoning_tokens, below.reasoning_tokens, output_tokens)
    return {
        "uncached_input_tokens": _without(left, write),
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "visible_output_tokens": _without(output_tokens, reasoning),
        "reasoning_tokens": reasoning,
    }


def _parts_of(rest: dict[str, Any]) -> bool:
    return bool(rest["cache_read_tokens"] or rest["cache_write_tokens"] or rest["reasoning_tokens"])


def _without(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else whole - (part or 0)


def _beyond(told: int | None, explained: int) -> int | None:
    return None if told is None else max(told - explained, 0)


def _part(told: int | None, explained: int, whole: int | None) -> int | None:
    """What is left of a part, which is not more than what is left of its whole."""
    rest = _beyond(told, explained)
    return None if rest is None or whole is None else min(rest, whole)


def _note(below: _Below) -> str:
    if below.call_count == 0:
        return "not itemised: no call below tells of it"
    silent = f", {below.silent_count} of which tell no usage" if below.silent_count else ""
    plural = "" if below.call_count == 1 else "s"
    return f"not itemised: beyond the {below.call_count} call{plural} below{silent}"
