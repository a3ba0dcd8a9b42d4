"""What surrounds each span: mapped values, route, workflow and root, from the root down.

Owns the one pass that hands facts from parent to child, so that a deep trace costs no more than a
flat one. Refuses to look inside a call: only what encloses it is here.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ingest.calls.aliases import AliasTable, Role
from ingest.calls.mapping import ColumnMap, Found
from ingest.calls.reading import Reading
from ingest.calls.roles import MODEL_ROLES, Part
from ingest.calls.tree import Tree
from ingest.records import Span

PLACE_ROLES: frozenset[Role] = frozenset({"agent", "chain", "tool", "retrieval", "server"})
"""Spans whose calls have something in common: each is one step of the product's work."""


class Context(NamedTuple):
    """The nearest facts at or above one span.

    `around_engine` is `found` without what engine spans say. `model_server_route` is a route that
    only names a model server. `has_root` says that the trace's root is here and is no model call.
    `place` is the id of the workflow, agent, tool or HTTP request of the product, else of the top
    span, where that is no model call.
    """

    found: Found
    around_engine: Found
    service_around_engine: str | None
    route: str | None
    model_server_route: str | None
    workflow: str | None
    place: str | None
    top_name: str
    has_root: bool


def contexts(
    tree: Tree, parts: Sequence[Part], columns: ColumnMap, table: AliasTable
) -> list[Context]:
    """The context of every span of `tree`, by its index."""
    found: list[Context] = []
    for index, (span, parent) in enumerate(zip(tree.spans, tree.parents, strict=True)):
        above = None if parent is None else found[parent]
        if above is None:
            is_call = parts[index].role in MODEL_ROLES
            above = _empty(span, is_call=is_call, is_cut=tree.is_cut[index])
        found.append(_inside(above, span, parts[index], columns, table))
    return found


def _empty(top: Span, *, is_call: bool, is_cut: bool) -> Context:
    return Context(
        found={},
        around_engine={},
        service_around_engine=None,
        route=None,
        model_server_route=None,
        workflow=None,
        place=None if is_call else top.span_id,
        top_name=top.name,
        has_root=not is_cut and not is_call,
    )


def _inside(
    above: Context, span: Span, part: Part, columns: ColumnMap, table: AliasTable
) -> Context:
    """The context at `span`, whose parent's is `above`."""
    own = columns.found_on(span)
    found = {**above.found, **own} if own else above.found
    around, service = above.around_engine, above.service_around_engine
    if not part.is_engine:
        around = {**around, **own} if own else around
        service = span.service or service
    route, model_server_route = above.route, above.model_server_route
    own_route = span.attributes.get("http.route") if span.kind == "server" else None
    is_place = part.role in PLACE_ROLES
    if own_route in table.file.endpoint.model_server_routes:
        model_server_route, is_place = str(own_route), False
    elif own_route:
        route = str(own_route)
    return Context(
        found=found,
        around_engine=around,
        service_around_engine=service,
        route=route,
        model_server_route=model_server_route,
        workflow=_workflow(span, part, table) or above.workflow,
        place=span.span_id if is_place else above.place,
        top_name=above.top_name,
        has_root=above.has_root,
    )


def _workflow(span: Span, part: Part, table: AliasTable) -> str | None:
    """The workflow or agent that `span` is, or says that it belongs to."""
    named: str | None = Reading(span.attributes, table).first("workflow_name")
    return named or (span.name if part.role == "agent" else None)
