"""What a span is: a model call, an embedding, an agent, a tool, a retrieval, a server, or neither.

Owns the recognition, by declared kind first and by what only model calls carry second. Refuses to
take a start-up span or a plain HTTP span for a call.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ingest.calls.aliases import AliasTable, Role
from ingest.calls.reading import Reading
from ingest.calls.shapes import Shape, shape_of
from ingest.calls.tree import Tree
from ingest.calls.values import as_text
from ingest.records import Json, Span

MODEL_ROLES: frozenset[Role] = frozenset({"model", "embedding"})
TRANSPARENT_ROLES: frozenset[Role] = frozenset({"server", "other"})
"""Spans between two views of one call: HTTP clients, gateways, middleware."""

_HTTP_METHODS = ("http.request.method", "http.method")
_HTTP = ("http.route", *_HTTP_METHODS, "url.path", "http.target")
_ENGINE_REQUEST_NAME = "llm_request"
_OPERATION_BY_REQUEST_ID = {
    "chatcmpl": "chat",
    "cmpl": "text_completion",
    "embd": "embeddings",
}


class Part(NamedTuple):
    """What a span is in its trace; `operation` is None where the span does not tell it.

    `is_replayed` says that a gateway gave an answer that it had kept, so that no model ran.
    """

    role: Role
    operation: str | None = None
    is_engine: bool = False
    is_replayed: bool = False


_SERVER = Part("server")
_OTHER = Part("other")


def part_of(span: Span, table: AliasTable) -> Part:
    """The part that `span` plays in its trace."""
    shape = shape_of(span.attributes, table)
    part = _part(span, shape)
    if part.role not in MODEL_ROLES or not _is_out_of_cache(span, shape, table):
        return part
    return part._replace(is_replayed=True)


def parts_of(tree: Tree, table: AliasTable) -> list[Part]:
    """The part of each span; the answer to the HTTP request of a model span may say it was kept."""
    parts = [part_of(span, table) for span in tree.spans]
    for index, parent in enumerate(tree.parents):
        if parent is None or parts[parent].role not in MODEL_ROLES:
            continue
        span = tree.spans[index]
        is_request = parts[index].role in TRANSPARENT_ROLES
        if is_request and _is_out_of_cache(span, shape_of(span.attributes, table), table):
            parts[parent] = parts[parent]._replace(is_replayed=True)
    return parts


def _is_out_of_cache(span: Span, shape: Shape, table: AliasTable) -> bool:
    if "cache_hit" not in shape.places:
        return False
    return Reading(span.attributes, table).first("cache_hit") is True


def _part(span: Span, shape: Shape) -> Part:
    attributes = span.attributes
    is_engine = shape.has_latency or (shape.has_usage and is_vllm(span))
    for attribute, values in shape.declared:
        declared = as_text(attributes[attribute])
        known = values.get(declared) if declared is not None else None
        if known is not None:
            operation = known.operation or _operation(span)
            return Part(known.role, operation, is_engine and known.role in MODEL_ROLES)
    if is_engine or _looks_like_a_model_call(attributes, shape):
        operation = _operation(span)
        return Part("embedding" if operation == "embeddings" else "model", operation, is_engine)
    if span.kind == "server" and any(name in attributes for name in _HTTP):
        return _SERVER
    return _OTHER


def is_http_request(span: Span) -> bool:
    """Whether `span` is an HTTP request as its sender saw it."""
    return span.kind == "client" and any(name in span.attributes for name in _HTTP_METHODS)


def is_vllm(span: Span) -> bool:
    """Whether vLLM wrote `span`: it states no parameter that is 0."""
    return span.name == _ENGINE_REQUEST_NAME or (span.scope or "").startswith("vllm")


def _looks_like_a_model_call(attributes: Mapping[str, Json], shape: Shape) -> bool:
    """Whether a span without a declared kind carries what only model calls carry."""
    if any(attributes[name] is not None for name in shape.counts):
        return True
    has_model = "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes
    return has_model and ("gen_ai.system" in attributes or "gen_ai.provider.name" in attributes)


def _operation(span: Span) -> str | None:
    """The operation by signs of the request itself, None where there are none."""
    if "llm.prompts.0.prompt.text" in span.attributes:
        return "text_completion"
    request_id = as_text(span.attributes.get("gen_ai.request.id")) or ""
    return _OPERATION_BY_REQUEST_ID.get(request_id.partition("-")[0])
