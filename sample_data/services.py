"""What each service's own instrumentation writes around its model calls.

Owns server, agent, tool and retrieval spans. Refuses the model calls themselves, which are
`client_spans`, and the engine's view, which is `engine_spans`.
"""

import json
from collections.abc import Iterator

from sample_data import company
from sample_data.client_spans import RESOURCES, SCHEMA_141, client_span, team
from sample_data.exchanges import Exchange, Tried
from sample_data.planned import Retrieval, ToolUse
from sample_data.wire import CLIENT, INTERNAL, SERVER, Scope, WireSpan

HTTP = Scope(name="opentelemetry.instrumentation.fastapi", version="0.62b0")
AGENTS = Scope(name="assistant.agent", version="3.2.0", schema_url=SCHEMA_141)
SEARCH = Scope(name="knowledge.search", version="1.8.1")


def service_spans(exchange: Exchange) -> Iterator[WireSpan]:
    """Every span that the service itself exports about one HTTP request."""
    yield _root(exchange)
    if exchange.request.endpoint == company.AGENT:
        yield _agent(exchange)
    answered_at = exchange.received_at
    for tried in exchange.tried:
        step = tried.attempt.step
        if step.retrieval is not None and tried.attempt.attempt_no == 1:
            yield _retrieval(exchange, tried, step.retrieval)
        if step.tool is not None and tried.attempt.attempt_no == 1:
            yield _tool(exchange, tried, step.tool, after=answered_at)
        yield client_span(exchange, tried)
        answered_at = tried.attempt.received_at


def _root(exchange: Exchange) -> WireSpan:
    route = exchange.request.endpoint.route
    last = exchange.tried[-1].attempt.outcome
    status = {"ok": 200, "timeout": 504}.get(last, 502)
    return WireSpan(
        resource=RESOURCES[exchange.request.endpoint.service],
        scope=HTTP,
        trace_id=exchange.trace_id,
        span_id=exchange.root_span_id,
        name=f"POST {route}",
        kind=SERVER,
        started_at=exchange.received_at,
        ended_at=exchange.answered_at,
        attributes={
            "http.request.method": "POST",
            "http.route": route,
            "http.response.status_code": status,
            **team(exchange),
        },
        failure=None if exchange.is_answered else f"{status}",
    )


def _agent(exchange: Exchange) -> WireSpan:
    """The agent's own span; its usage repeats what its calls used."""
    read = [tried.attempt for tried in exchange.tried if tried.attempt.outcome == "ok"]
    return WireSpan(
        resource=RESOURCES[exchange.request.endpoint.service],
        scope=AGENTS,
        trace_id=exchange.trace_id,
        span_id=exchange.agent_span_id,
        parent_span_id=exchange.root_span_id,
        name="invoke_agent helpdesk",
        kind=INTERNAL,
        started_at=exchange.received_at + 1_000_000,
        ended_at=exchange.answered_at - 500_000,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "openai",
            "gen_ai.agent.name": "helpdesk",
            "gen_ai.conversation.id": exchange.request.conversation or "",
            "gen_ai.usage.input_tokens": sum(one.step.input_tokens for one in read),
            "gen_ai.usage.output_tokens": sum(one.generated_tokens for one in read),
            **team(exchange),
        },
        failure=None if exchange.is_answered else "the model did not answer",
    )


def _retrieval(exchange: Exchange, tried: Tried, search: Retrieval) -> WireSpan:
    ended_at = tried.attempt.sent_at - 1_000_000
    return WireSpan(
        resource=RESOURCES[exchange.request.endpoint.service],
        scope=SEARCH,
        trace_id=exchange.trace_id,
        span_id=tried.call_id,
        parent_span_id=exchange.root_span_id,
        name="retrieval handbook",
        kind=CLIENT,
        started_at=ended_at - round(search.duration_s * 1e9),
        ended_at=ended_at,
        attributes={
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": "handbook",
            "gen_ai.retrieval.query.text": search.query,
            "gen_ai.retrieval.documents": json.dumps([{"id": chunk} for chunk in search.chunks]),
            **team(exchange),
        },
    )


def _tool(exchange: Exchange, tried: Tried, tool: ToolUse, *, after: int) -> WireSpan:
    return WireSpan(
        resource=RESOURCES[exchange.request.endpoint.service],
        scope=AGENTS,
        trace_id=exchange.trace_id,
        span_id=tried.call_id,
        parent_span_id=exchange.agent_span_id,
        name=f"execute_tool {tool.name}",
        kind=INTERNAL,
        started_at=after + 2_000_000,
        ended_at=after + 2_000_000 + round(tool.duration_s * 1e9),
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"call_{tried.call_id}",
            "gen_ai.tool.call.arguments": tool.arguments,
            "gen_ai.tool.call.result": tool.result,
            **team(exchange),
        },
    )
