"""What a log record says of a model call, as a span.

Owns the names of events. Instrumentations write the messages of a call as events that name their
span; command-line agents write each answered request as an event with its usage. The former become
spans of the kind "log" below the span that they name, the latter the span of the request. Refuses
nothing: a record that says nothing of a model call is none of ours, and is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ingest.calls.tokens import token_count
from ingest.readers.ids import derived_ids
from ingest.readers.instants import NS_PER_MS
from ingest.readers.span_fields import text_or_none
from ingest.records import LOG_KIND, Json, Span, SpanEvent

SPAN_EVENTS = "gen_ai."
"""Events whose names begin so tell of the span that they name."""
OF_CHOICE = ("index", "finish_reason")
"""What the body of an event says of an answer besides its text."""
MAX_DURATION_MS = 10**12

Attributes = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One log record of any encoding; `at` is nanoseconds since 1970."""

    name: str
    at: int | None
    trace_id: str | None
    span_id: str | None
    attributes: Attributes
    body: Json
    resource: Attributes
    scope: str | None


def told(log: LogRecord) -> Span | None:
    """What `log` says of a model call, None where it says nothing of one."""
    if log.name.startswith(SPAN_EVENTS) and log.trace_id and log.span_id:
        return _event_of_span(log)
    shape = AGENT_EVENTS.get(log.name)
    if shape is None or any(log.attributes.get(key) != value for key, value in shape.only):
        return None
    return _request_of_agent(log, shape)


def _event_of_span(log: LogRecord) -> Span:
    attributes = dict(log.attributes)
    if log.body is not None:
        attributes.setdefault("body", log.body)
    if isinstance(log.body, dict):
        attributes.update({name: log.body[name] for name in OF_CHOICE if name in log.body})
    return _span(
        log,
        kind=LOG_KIND,
        started_at=log.at,
        attributes={},
        events=[SpanEvent(name=log.name, at=log.at, attributes=attributes)],
    )


def _span(log: LogRecord, **given: Any) -> Span:
    """A span below the one that `log` names, or in a trace of its conversation."""
    said = [log.name, log.at, dict(log.attributes), log.body]
    own_trace_id, span_id = derived_ids(said)
    conversation = _conversation(log.attributes)
    if conversation is not None:
        own_trace_id, _ = derived_ids(["conversation", conversation])
    return Span(
        trace_id=log.trace_id or own_trace_id,
        span_id=span_id,
        parent_span_id=log.span_id if log.trace_id else None,
        name=log.name,
        ended_at=log.at,
        service=text_or_none(log.resource.get("service.name")),
        scope=log.scope,
        resource=log.resource,
        **given,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """How an agent writes an answered request: the provider, and the attribute of each count.

    Where `excludes_cache`, input leaves out what the cache read and wrote. `only` are values that
    the event must have to tell of an answer.
    """

    provider: str
    is_failure: bool = False
    only: tuple[tuple[str, Json], ...] = ()
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    cache_read: str = ""
    cache_write: str = ""
    reasoning: str = ""
    cost: str = ""
    excludes_cache: bool = False


AGENT_EVENTS: Mapping[str, AgentEvent] = {
    "claude_code.api_request": AgentEvent(
        provider="anthropic",
        input=("input_tokens",),
        output=("output_tokens",),
        cache_read="cache_read_tokens",
        cache_write="cache_creation_tokens",
        cost="cost_usd",
        excludes_cache=True,
    ),
    "claude_code.api_error": AgentEvent(provider="anthropic", is_failure=True),
    "codex.sse_event": AgentEvent(
        provider="openai",
        only=(("event.kind", "response.completed"),),
        input=("input_token_count",),
        output=("output_token_count",),
        cache_read="cached_token_count",
        reasoning="reasoning_token_count",
    ),
    "gemini_cli.api_response": AgentEvent(
        provider="gcp.gemini",
        input=("input_token_count", "tool_token_count"),
        output=("output_token_count", "thoughts_token_count"),
        cache_read="cached_content_token_count",
        reasoning="thoughts_token_count",
    ),
    "gemini_cli.api_error": AgentEvent(provider="gcp.gemini", is_failure=True),
}


def _request_of_agent(log: LogRecord, shape: AgentEvent) -> Span:
    """The request that ended when its event was written, after the duration that it tells."""
    duration_ms = _milliseconds(log.attributes.get("duration_ms"))
    started_at = None
    if log.at is not None and duration_ms is not None:
        started_at = log.at - int(duration_ms * NS_PER_MS)
    error = log.attributes.get("error_type") or log.attributes.get("error")
    counts = _counts(log.attributes, shape)
    told_of = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": shape.provider,
        "gen_ai.request.model": log.attributes.get("model"),
        "gen_ai.conversation.id": _conversation(log.attributes),
        "gen_ai.usage.cost": log.attributes.get(shape.cost),
        "user.id": log.attributes.get("user.id") or log.attributes.get("user.account_uuid"),
        "http.response.status_code": token_count(log.attributes.get("status_code")),
        "error.type": text_or_none(error) if shape.is_failure else None,
        **counts,
    }
    return _span(
        log,
        kind="client",
        started_at=started_at,
        status="error" if shape.is_failure else "ok",
        attributes={name: value for name, value in told_of.items() if value is not None},
    )


def _counts(attributes: Attributes, shape: AgentEvent) -> dict[str, Json]:
    """The counts by the names of the conventions, where cached input is a part of input."""
    cached = [attributes.get(name) for name in (shape.cache_read, shape.cache_write)]
    parts = [attributes.get(name) for name in shape.input]
    return {
        "gen_ai.usage.input_tokens": _sum([*parts, *(cached if shape.excludes_cache else [])]),
        "gen_ai.usage.output_tokens": _sum([attributes.get(name) for name in shape.output]),
        "gen_ai.usage.cache_read.input_tokens": cached[0],
        "gen_ai.usage.cache_creation.input_tokens": cached[1],
        "gen_ai.usage.reasoning.output_tokens": attributes.get(shape.reasoning),
    }


def _sum(values: list[Json]) -> Json:
    """The sum of counts of which the first is the main one; as given where that is no count."""
    first = token_count(values[0]) if values else None
    if first is None:
        return values[0] if values else None
    return first + sum(token_count(value) or 0 for value in values[1:])


def _conversation(attributes: Attributes) -> str | None:
    return text_or_none(attributes.get("session.id") or attributes.get("conversation.id"))


def _milliseconds(value: Json) -> Decimal | None:
    """A duration, also as text; None where there is none or it is no duration."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        duration = Decimal(str(value))
    except InvalidOperation:
        return None
    return duration if duration.is_finite() and 0 <= duration < MAX_DURATION_MS else None
