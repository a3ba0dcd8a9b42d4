"""Which endpoint of the product a call belongs to, and by which rule.

Owns the order of the rules: what the user maps, the route, the workflow, the prompt's name, the
root span, the service. Refuses to name an endpoint after a model or a model server's own route
while anything better encloses the call.
"""

from typing import Literal, NamedTuple

from ingest.calls.context import Context

EndpointSource = Literal["map", "route", "workflow", "prompt", "root", "service"]

UNKNOWN_SERVICE = "unknown_service"
"""How SDKs begin the name of a service that nobody named."""


class Endpoint(NamedTuple):
    """The endpoint's name and the rule that gave it."""

    name: str
    source: EndpointSource


def endpoint(
    context: Context,
    *,
    mapped: str | None,
    prompt_name: str | None,
    service: str | None,
    operation: str,
) -> Endpoint:
    """The endpoint of the call whose outermost view has `context`.

    A root that is itself a view of the call says nothing about who asked, so the service and the
    operation stand before its name.
    """
    if mapped is not None:
        return Endpoint(mapped, "map")
    if context.route is not None:
        return Endpoint(context.route, "route")
    if context.workflow is not None:
        return Endpoint(context.workflow, "workflow")
    if prompt_name is not None:
        return Endpoint(prompt_name, "prompt")
    if context.model_server_route is not None:
        return Endpoint(context.model_server_route, "route")
    if context.has_root:
        return Endpoint(context.top_name, "root")
    if service is not None and not service.startswith(UNKNOWN_SERVICE):
        return Endpoint(f"{service} {operation}", "service")
    return Endpoint(context.top_name, "root")
