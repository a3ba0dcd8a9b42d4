"""Literal spans for the tests of the derivation."""

from collections.abc import Callable
from typing import Any

import pytest

from ingest.calls.derive import Derived, derive_trace
from ingest.config import Configuration
from ingest.records import Call, Span

S = 1_000_000_000
T0 = 1_795_000_000 * S
TRACE = "a" * 32

MakeSpan = Callable[..., Span]
OneCall = Callable[..., Call]


def make_span(
    span_id: str,
    parent: str | None = None,
    at_s: tuple[float | None, float | None] = (0, 10),
    **fields: Any,
) -> Span:
    """A span from `at_s[0]` to `at_s[1]` seconds after T0; ids are short names."""
    begin, end = at_s
    return Span(
        trace_id=fields.pop("trace_id", TRACE),
        span_id=span_id,
        parent_span_id=parent,
        name=fields.pop("name", span_id),
        started_at=None if begin is None else T0 + round(begin * S),
        ended_at=None if end is None else T0 + round(end * S),
        **fields,
    )


def make_chat(
    span_id: str,
    parent: str | None = None,
    at_s: tuple[float | None, float | None] = (0, 10),
    **fields: Any,
) -> Span:
    """A client span of one chat with 1,000 tokens in and 200 out, unless `attributes` differ."""
    usage = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 200}
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-a",
        **usage,
        **fields.pop("attributes", {}),
    }
    given = {name: value for name, value in attributes.items() if value is not None}
    return make_span(span_id, parent, at_s, kind="client", attributes=given, **fields)


def make_engine(
    span_id: str,
    parent: str | None = None,
    at_s: tuple[float | None, float | None] = (1, 9),
    **fields: Any,
) -> Span:
    """A vLLM span: one second in the queue, two of prefill, four of decode."""
    attributes = {
        "gen_ai.latency.time_in_queue": 1.0,
        "gen_ai.latency.time_in_model_prefill": 2.0,
        "gen_ai.latency.time_in_model_decode": 4.0,
        "gen_ai.latency.time_to_first_token": 3.0,
        "gen_ai.latency.e2e": 7.0,
        "gen_ai.usage.prompt_tokens": 1000,
        "gen_ai.usage.completion_tokens": 200,
        **fields.pop("attributes", {}),
    }
    fields = {"name": "llm_request", "scope": "vllm.tracing.otel", **fields}
    return make_span(span_id, parent, at_s, kind="server", attributes=attributes, **fields)


def derive(*spans: Span, **configured: Any) -> Derived:
    """What `spans` hold under a configuration with these keys."""
    return derive_trace(spans, Configuration(**configured))


@pytest.fixture(scope="session")
def span() -> MakeSpan:
    """Makes one span of any kind."""
    return make_span


@pytest.fixture(scope="session")
def chat() -> MakeSpan:
    """Makes a client span of one chat."""
    return make_chat


@pytest.fixture(scope="session")
def engine() -> MakeSpan:
    """Makes a vLLM span."""
    return make_engine


@pytest.fixture(scope="session")
def derived() -> Callable[..., Derived]:
    """Derives a trace from spans, under a configuration by keywords."""
    return derive


@pytest.fixture(scope="session")
def one_call() -> OneCall:
    """Derives a trace that must hold exactly one call."""

    def only(*spans: Span, **configured: Any) -> Call:
        (found,) = derive(*spans, **configured).calls
        return found

    return only


@pytest.fixture(scope="session")
def t0() -> int:
    """The instant that spans count from, in nanoseconds."""
    return T0
