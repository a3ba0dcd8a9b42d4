"""The client's span of a model call, in the dialect of each service.

Owns attribute names: `assistant` on the GenAI conventions 1.41, `knowledge` by hand on 1.36,
`backoffice` on OpenInference. Refuses what a client cannot know, such as the engine's queue.
"""

import json
from collections.abc import Iterator

from sample_data import company
from sample_data.exchanges import CHUNK_LAG_NS, Exchange, Tried
from sample_data.planned import Step
from sample_data.traffic import Attempt
from sample_data.wire import CLIENT, INTERNAL, Scope, Value, WireSpan, event, seconds

SCHEMA_141 = "https://opentelemetry.io/schemas/1.41.0"
SCHEMA_136 = "https://opentelemetry.io/schemas/1.36.0"
OPENAI_V2 = Scope(
    name="opentelemetry.instrumentation.openai_v2", version="2.4b0", schema_url=SCHEMA_141
)
BY_HAND = Scope(name="knowledge.llm", version="1.8.1", schema_url=SCHEMA_136)
OPENINFERENCE = Scope(name="openinference.instrumentation.openai", version="0.1.41")

RESOURCES: dict[str, tuple[tuple[str, Value], ...]] = {
    "assistant": (
        ("service.name", "assistant"),
        ("service.version", "3.2.0"),
        ("service.instance.id", "assistant-7c9f6d5b4-x2x8q"),
        ("deployment.environment.name", "production"),
        ("telemetry.sdk.language", "python"),
    ),
    "knowledge": (
        ("service.name", "knowledge"),
        ("service.version", "1.8.1"),
        ("service.instance.id", "knowledge-6b8d4-m4k2z"),
        ("deployment.environment.name", "production"),
        ("telemetry.sdk.language", "python"),
    ),
    "backoffice": (
        ("service.name", "backoffice"),
        ("service.version", "0.19.4"),
        ("team.name", "data"),
        ("deployment.environment.name", "production"),
        ("telemetry.sdk.language", "python"),
    ),
}

MOST_CHARACTERS = 4_000
"""The exporter of `knowledge` cuts longer attributes (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)."""

FAILURES = {
    "error": ("APIConnectionError", "Connection reset by peer"),
    "timeout": ("APITimeoutError", "Request timed out."),
    "refused": ("RateLimitError", "Error code: 429 - Rate limit reached"),
}


def team(exchange: Exchange) -> dict[str, Value]:
    """The attribute that says who pays; the back office has it on its resource instead."""
    endpoint = exchange.request.endpoint
    return {} if endpoint.service == "backoffice" else {"app.team": endpoint.team}


def client_span(exchange: Exchange, tried: Tried) -> WireSpan:
    """The client's span of one attempt, in the dialect of its service."""
    attempt, endpoint = tried.attempt, exchange.request.endpoint
    scope, name, kind, describe = {
        "assistant": (OPENAI_V2, f"chat {endpoint.model}", CLIENT, _genai_141),
        "knowledge": (BY_HAND, f"chat {endpoint.model}", CLIENT, _genai_136),
        "backoffice": (OPENINFERENCE, "ChatCompletion", INTERNAL, _openinference),
    }[endpoint.service]
    is_agent = endpoint == company.AGENT
    is_flawed = tried.flaw == "ends before it starts"
    events: tuple[dict[str, object], ...] = ()
    failure = None
    if attempt.outcome != "ok":
        error_type, failure = FAILURES[attempt.outcome]
        raised = {"exception.type": f"openai.{error_type}", "exception.message": failure}
        events = (event("exception", attempt.received_at, raised),)
    return WireSpan(
        resource=RESOURCES[endpoint.service],
        scope=scope,
        trace_id=exchange.trace_id,
        span_id=tried.span_id,
        parent_span_id=exchange.agent_span_id if is_agent else exchange.root_span_id,
        name=name,
        kind=kind,
        started_at=attempt.sent_at,
        ended_at=attempt.sent_at - 40_000_000 if is_flawed else attempt.received_at,
        attributes={**describe(exchange, tried), **team(exchange)},
        failure=failure,
        events=events,
    )


def _finish_reason(tried: Tried) -> str:
    attempt = tried.attempt
    if attempt.generated_tokens >= attempt.request.endpoint.max_output_tokens:
        return "length"
    steps = attempt.request.steps
    is_last = attempt.step_no + 1 == len(steps)
    return "stop" if is_last else "tool_calls"


def _genai_141(exchange: Exchange, tried: Tried) -> dict[str, Value]:
    attempt, endpoint = tried.attempt, exchange.request.endpoint
    found: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": endpoint.model,
        "gen_ai.request.max_tokens": endpoint.max_output_tokens,
        "gen_ai.request.temperature": endpoint.temperature,
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": exchange.request.conversation or "",
        "server.address": "vllm-chat.internal",
        "server.port": 8000,
    }
    if attempt.step.message is not None:
        part = {"type": "text", "content": attempt.step.message}
        found["gen_ai.input.messages"] = json.dumps([{"role": "user", "parts": [part]}])
    if attempt.outcome != "ok":
        return found | {"error.type": FAILURES[attempt.outcome][0]}
    if attempt.step.answer is not None:
        part = {"type": "text", "content": attempt.step.answer}
        said = {"role": "assistant", "parts": [part], "finish_reason": "stop"}
        found["gen_ai.output.messages"] = json.dumps([said])
    return found | {
        "gen_ai.response.id": f"chatcmpl-{tried.call_id}",
        "gen_ai.response.model": endpoint.model,
        "gen_ai.response.finish_reasons": (_finish_reason(tried),),
        "gen_ai.response.time_to_first_chunk": _first_chunk_s(attempt),
        "gen_ai.usage.input_tokens": attempt.step.input_tokens,
        "gen_ai.usage.output_tokens": attempt.generated_tokens,
        "gen_ai.usage.cache_read.input_tokens": attempt.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": attempt.step.reasoning_tokens,
    }


def _genai_136(exchange: Exchange, tried: Tried) -> dict[str, Value]:
    attempt, endpoint = tried.attempt, exchange.request.endpoint
    found: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "vllm",
        "gen_ai.request.model": endpoint.model,
        "gen_ai.request.max_tokens": endpoint.max_output_tokens,
        "gen_ai.request.temperature": endpoint.temperature,
    }
    for number, (role, text) in enumerate(_said(attempt.step)):
        found[f"gen_ai.prompt.{number}.role"] = role
        found[f"gen_ai.prompt.{number}.content"] = text[:MOST_CHARACTERS]
    if attempt.outcome != "ok":
        return found | {"error.type": FAILURES[attempt.outcome][0]}
    return found | {
        "gen_ai.response.id": f"chatcmpl-{tried.call_id}",
        "gen_ai.response.model": endpoint.model,
        "gen_ai.response.finish_reasons": (_finish_reason(tried),),
        "gen_ai.server.ttft": _first_chunk_s(attempt),
        "gen_ai.usage.input_tokens": attempt.step.input_tokens,
        "gen_ai.usage.output_tokens": attempt.generated_tokens,
        "gen_ai.usage.cache_read_input_tokens": attempt.cached_tokens,
    }


def _said(step: Step) -> Iterator[tuple[str, str]]:
    """The messages of the prompt that are told, with their roles."""
    if step.system is not None:
        yield "system", step.system
    if step.message is not None:
        yield "user", step.message


def _openinference(exchange: Exchange, tried: Tried) -> dict[str, Value]:
    attempt, endpoint = tried.attempt, exchange.request.endpoint
    requested = exchange.request.model or endpoint.model
    provider = "openai" if exchange.request.model is None else "kestrel"
    parameters = {
        "model": requested,
        "temperature": endpoint.temperature,
        "max_tokens": endpoint.max_output_tokens,
    }
    found: dict[str, Value] = {
        "openinference.span.kind": "LLM",
        "llm.system": "openai",
        "llm.provider": provider,
        "llm.invocation_parameters": json.dumps(parameters),
    }
    for number, (role, text) in enumerate(_said(attempt.step)):
        found[f"llm.input_messages.{number}.message.role"] = role
        found[f"llm.input_messages.{number}.message.content"] = text
    if attempt.outcome != "ok":
        return found | {"llm.model_name": requested}
    if attempt.step.answer is not None:
        found["llm.output_messages.0.message.role"] = "assistant"
        found["llm.output_messages.0.message.content"] = attempt.step.answer
    return found | {
        "llm.model_name": exchange.request.model or company.API_MODEL_REPORTED,
        "llm.token_count.prompt": attempt.step.input_tokens,
        "llm.token_count.completion": attempt.generated_tokens,
        "llm.token_count.total": attempt.step.input_tokens + attempt.generated_tokens,
        "llm.token_count.prompt_details.cache_read": attempt.cached_tokens,
    }


def _first_chunk_s(attempt: Attempt) -> float:
    """Seconds from sending to the first chunk, as the client saw it."""
    if attempt.served is None:
        raise ValueError("a call to an API has no engine that could tell")
    return seconds(attempt.served.first_token_at + CHUNK_LAG_NS - attempt.sent_at)
