"""What the engines write: vLLM's `llm_request` span, with vLLM's attributes and nothing more.

Owns the engine's view of a call and its start-up span. Refuses what vLLM does not tell: the
model's name and the cached tokens.
"""

from sample_data import company
from sample_data.exchanges import Exchange, Tried
from sample_data.traffic import Served
from sample_data.wire import INTERNAL, SERVER, Ids, Scope, Value, WireSpan, seconds

SCOPE = Scope(name="vllm.tracing.otel")
STARTUP_SCOPE = Scope(name="vllm.v1.worker.gpu_worker")


def resource(pool: str, replica: str) -> tuple[tuple[str, Value], ...]:
    """The resource of one engine process."""
    return (
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", "1.45.2"),
        ("service.instance.id", replica),
        ("vllm.instrumenting_module_name", "vllm.llm_engine"),
        ("vllm.process_id", "1"),
        ("service.name", f"vllm-{pool}"),
    )


def request_span(exchange: Exchange, tried: Tried, served: Served) -> WireSpan:
    """The engine's span of one attempt; it joins the client's trace by `traceparent`."""
    return WireSpan(
        resource=resource(exchange.request.endpoint.pool or "", served.replica),
        scope=SCOPE,
        trace_id=exchange.trace_id,
        span_id=tried.engine_span_id,
        parent_span_id=tried.span_id,
        name="llm_request",
        kind=SERVER,
        started_at=served.arrived_at,
        ended_at=served.ended_at,
        attributes=_latencies(tried, served) | _request(tried),
    )


def _latencies(tried: Tried, served: Served) -> dict[str, Value]:
    queue_s = seconds(served.started_at - served.arrived_at)
    return {
        "gen_ai.latency.time_to_first_token": seconds(served.first_token_at - served.arrived_at),
        "gen_ai.latency.e2e": seconds(served.ended_at - served.arrived_at),
        "gen_ai.latency.time_in_queue": -0.02 if tried.flaw == "negative queue" else queue_s,
        "gen_ai.usage.prompt_tokens": tried.attempt.step.input_tokens,
        "gen_ai.usage.completion_tokens": tried.attempt.generated_tokens,
        "gen_ai.latency.time_in_model_prefill": seconds(served.first_token_at - served.started_at),
        "gen_ai.latency.time_in_model_decode": seconds(served.ended_at - served.first_token_at),
        "gen_ai.latency.time_in_model_inference": seconds(served.ended_at - served.started_at),
    }


def _request(tried: Tried) -> dict[str, Value]:
    endpoint = tried.attempt.request.endpoint
    found: dict[str, Value] = {
        "gen_ai.request.id": f"chatcmpl-{tried.call_id}",
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.max_tokens": endpoint.max_output_tokens,
    }
    if endpoint.temperature:
        found["gen_ai.request.temperature"] = endpoint.temperature
    return found | {"gen_ai.request.n": 1}


def startup_span() -> WireSpan:
    """The start of the added replica: a span that is no call."""
    ids = Ids("startup")
    ready_at = company.at("2026-10-12 09:52")
    return WireSpan(
        resource=resource(company.CHAT_POOL.name, f"{company.CHAT_POOL.name}-1"),
        scope=STARTUP_SCOPE,
        trace_id=ids.trace(),
        span_id=ids.span(),
        name="Load model",
        kind=INTERNAL,
        started_at=ready_at - 48_215_331_000,
        ended_at=ready_at,
        attributes={
            "code.function": "Worker.load_model",
            "code.namespace": "vllm.v1.worker.gpu_worker",
        },
    )
