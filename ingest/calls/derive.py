"""All the spans of one trace become calls, tool runs and retrievals.

Owns the order of the steps. Refuses state: the same spans in any order give the same records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.calls.aliases import AliasTable, alias_table
from ingest.calls.call import call, ending, model, operation, requested_model
from ingest.calls.context import Context, contexts
from ingest.calls.derivation import Derivation
from ingest.calls.mapping import column_map
from ingest.calls.outcome import Outcome
from ingest.calls.reading import Reading
from ingest.calls.remainders import remainders
from ingest.calls.retries import Attempt, RetryLink, retries
from ingest.calls.roles import MODEL_ROLES, TRANSPARENT_ROLES, Part, parts_of
from ingest.calls.runs import Retrieval, ToolRun, retrieval, tool_run
from ingest.calls.texts import question
from ingest.calls.tree import Tree, grow
from ingest.calls.unify import Chain, chains
from ingest.calls.usage import usage
from ingest.calls.views import View, Views
from ingest.config import Configuration
from ingest.records import Call, Span

DERIVATION_VERSION = 7
"""Another number derives the calls of every ledger again, from the spans that it holds."""


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
            own=tuple(self.view(index) for index in chain.own),
            wrapper=self._around(chain.wrapper),
            operation=self._around(chain.operation),
            sender=self._around(chain.sender),
        )

    def _around(self, index: int | None) -> View | None:
        return None if index is None else self.view(index)

    def view(self, index: int) -> View:
        """The view that the span at `index` is."""
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
    derivation = _derivation(configuration)
    table = derivation.table
    tree = grow(spans)
    parts = parts_of(tree, table)
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


def views_of_call(
    spans: Sequence[Span], span_id: str, configuration: Configuration
) -> tuple[Views, Derivation]:
    """The views of the call that is at `span_id` in the trace of `spans`, which must have it."""
    derivation = _derivation(configuration)
    tree = grow(spans)
    parts = parts_of(tree, derivation.table)
    trace = _trace(tree, parts, derivation)
    index = next(at for at, span in enumerate(tree.spans) if span.span_id == span_id)
    for chain in chains(tree, parts):
        if chain.own[0] == index:
            return trace.views(chain), derivation
    return Views(own=(trace.view(index),)), derivation


def _derivation(configuration: Configuration) -> Derivation:
    return Derivation(configuration, column_map(configuration), alias_table())


def _trace(tree: Tree, parts: Sequence[Part], derivation: Derivation) -> _Trace:
    return _Trace(
        tree=tree,
        parts=parts,
        contexts=contexts(tree, parts, derivation.columns, derivation.table),
        child_http_statuses=_child_http_statuses(tree, parts, derivation.table),
        table=derivation.table,
    )


def _calls(tree: Tree, parts: Sequence[Part], derivation: Derivation) -> tuple[Call, ...]:
    table = derivation.table
    trace = _trace(tree, parts, derivation)
    found = chains(tree, parts)
    views = [trace.views(chain) for chain in found]
    endings = [ending(each, table) for each in views]
    links = _links(views, endings, derivation)
    calls = [
        call(each, ended, links.get(each.identity), derivation)
        for each, ended in zip(views, endings, strict=True)
    ]
    told = [(chain.own[0], chain.own, each) for chain, each in zip(found, calls, strict=True)]
    return (*calls, *remainders(tree, parts, trace.view, told, derivation))


def _links(
    views: Sequence[Views], endings: Sequence[Outcome], derivation: Derivation
) -> dict[str, RetryLink]:
    """The links between attempts; where no call failed there are none."""
    if all(ended.status == "ok" for ended in endings):
        return {}
    return retries(
        [_attempt(each, ended, derivation) for each, ended in zip(views, endings, strict=True)]
    )


def _attempt(views: Views, ended: Outcome, derivation: Derivation) -> Attempt:
    """The call as its client saw it: that view decided to try again."""
    span, outermost = views.client.span, views.outermost
    counts, _ = usage(views.readings())
    return Attempt(
        identity=views.identity,
        begun_at=span.started_at,
        ended_at=span.ended_at,
        status=ended.status,
        request_id=views.text("request_id"),
        operation=None if views.operation is None else views.operation.span.span_id,
        place=outermost.context.place or outermost.span.parent_span_id,
        asked=(operation(views), requested_model(views) or model(views, derivation.columns)),
        input_hash=question(views, derivation).input_hash,
        input_tokens=counts.input_tokens,
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
