"""All the spans of one trace become calls, tool runs and retrievals.

Owns the order of the steps. Refuses state: the same spans in any order give the same records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.calls.aliases import AliasTable, Reading, alias_table
from ingest.calls.call import Derivation, call, ending
from ingest.calls.context import Context, contexts
from ingest.calls.mapping import column_map
from ingest.calls.outcome import Outcome
from ingest.calls.roles import MODEL_ROLES, TRANSPARENT_ROLES, Part, part_of
from ingest.calls.runs import Retrieval, ToolRun, retrieval, tool_run
from ingest.calls.tree import Tree, grow
from ingest.calls.unify import Attempt, Chain, chains, retries
from ingest.calls.views import View, Views
from ingest.config import Configuration
from ingest.records import Call, Span


@dataclass(frozen=True, slots=True)
class Derived:
    """What one trace holds, each in the order of the tree."""

    calls: tuple[Call, ...]
    tool_runs: tuple[ToolRun, ...]
    retrievals: tuple[Retrieval, ...]


@dataclass(frozen=True, slots=True)
class _Trace:
    """One trace with everything known about each of its spans, by index."""

    tree: Tree
    parts: Sequence[Part]
    contexts: Sequence[Context]
    child_http_statuses: Sequence[int | None]
    table: AliasTable

    def views(self, chain: Chain) -> Views:
        """The views that `chain` points at."""
        return Views(
            own=tuple(self._view(index) for index in chain.own),
            wrapper=None if chain.wrapper is None else self._view(chain.wrapper),
            operation=None if chain.operation is None else self._view(chain.operation),
        )

    def _view(self, index: int) -> View:
        span = self.tree.spans[index]
        return View(
            span=span,
            part=self.parts[index],
            context=self.contexts[index],
            reading=Reading(span.attributes, self.table),
            child_http_status=self.child_http_statuses[index],
        )


def derive_trace(spans: Sequence[Span], configuration: Configuration) -> Derived:
    """The calls, tool runs and retrievals of one trace, from all its spans in any order."""
    table = alias_table()
    derivation = Derivation(configuration, column_map(configuration), table)
    tree = grow(spans)
    parts = [part_of(span, table) for span in tree.spans]
    return Derived(
        calls=_calls(tree, parts, derivation),
        tool_runs=tuple(
            tool_run(span, configuration, table)
            for span, part in zip(tree.spans, parts, strict=True)
            if part.role == "tool"
        ),
        retrievals=tuple(
            retrieval(span, configuration, table)
            for span, part in zip(tree.spans, parts, strict=True)
            if part.role == "retrieval"
        ),
    )


def _calls(tree: Tree, parts: Sequence[Part], derivation: Derivation) -> tuple[Call, ...]:
    table = derivation.table
    trace = _Trace(
        tree=tree,
        parts=parts,
        contexts=contexts(tree, parts, derivation.columns, table),
        child_http_statuses=_child_http_statuses(tree, parts, table),
        table=table,
    )
    views = [trace.views(chain) for chain in chains(tree, parts)]
    endings = [ending(each, table) for each in views]
    links = retries(list(map(_attempt, views, endings)))
    return tuple(
        call(each, ended, links.get(each.identity), derivation)
        for each, ended in zip(views, endings, strict=True)
    )


def _attempt(views: Views, ended: Outcome) -> Attempt:
    """The call as its outermost own view saw it: that view decided to try again."""
    span = views.own[-1].span
    operation = views.operation
    return Attempt(
        identity=views.identity,
        operation=None if operation is None else operation.span.span_id,
        begun_at=span.started_at,
        ended_at=span.ended_at,
        status=ended.status,
        request_id=views.text("request_id"),
    )


def _child_http_statuses(tree: Tree, parts: Sequence[Part], table: AliasTable) -> list[int | None]:
    """For each model span the status of the last HTTP request directly below it."""
    statuses: list[int | None] = [None] * len(parts)
    for index, parent in enumerate(tree.parents):
        if parent is None or parts[parent].role not in MODEL_ROLES:
            continue
        if parts[index].role in TRANSPARENT_ROLES:
            status = Reading(tree.spans[index].attributes, table).first("http_status")
            statuses[parent] = status if status is not None else statuses[parent]
    return statuses
