"""Whole traces: any order, any size, and the files that real systems wrote."""

import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.files import RefusedSourceError, open_sources
from ingest.readers import recognise
from ingest.records import Call, Span

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
KINDS = [
    {},
    {"http.route": "/answer", "http.request.method": "POST"},
    {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10},
    {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 5},
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99},
    {"gen_ai.operation.name": "execute_tool"},
    {"openinference.span.kind": "CHAIN"},
]


def input_tokens(call: Call) -> int:
    """Tokens of the prompt, 0 where nobody reported them."""
    cached = (call.cache_read_tokens or 0) + (call.cache_write_tokens or 0)
    return (call.uncached_input_tokens or 0) + cached


def output_tokens(call: Call) -> int:
    """Tokens generated, 0 where nobody reported them."""
    return (call.visible_output_tokens or 0) + (call.reasoning_tokens or 0)


@st.composite
def traces(draw: st.DrawFn) -> list[Span]:
    """Up to twelve spans with any parents: cycles, orphans and several roots among them."""
    count = draw(st.integers(1, 12))
    spans = []
    for index in range(count):
        parent = draw(st.none() | st.integers(0, count))
        begin_at = 1_795_000_000_000_000_000 + draw(st.integers(0, 9)) * 1_000_000_000
        spans.append(
            Span(
                trace_id="b" * 32,
                span_id=f"s{index}",
                parent_span_id=None if parent is None else f"s{parent}",
                name=f"span {index}",
                kind=draw(st.sampled_from(["client", "server", "internal"])),
                started_at=begin_at,
                ended_at=begin_at + draw(st.integers(0, 5)) * 1_000_000_000,
                status=draw(st.sampled_from(["unset", "ok", "error"])),
                attributes=draw(st.sampled_from(KINDS)),
            )
        )
    return spans


@given(traces(), st.randoms())
@settings(deadline=None)
def test_the_order_of_spans_changes_nothing(spans: list[Span], chance: random.Random) -> None:
    shuffled = list(spans)
    chance.shuffle(shuffled)
    assert derive_trace(shuffled, Configuration()) == derive_trace(spans, Configuration())


@given(traces())
@settings(deadline=None)
def test_a_span_delivered_twice_is_one_call(spans: list[Span]) -> None:
    assert derive_trace([*spans, *spans], Configuration()) == derive_trace(spans, Configuration())


@given(traces())
@settings(deadline=None)
def test_every_call_is_a_model_span_and_no_span_is_two_calls(spans: list[Span]) -> None:
    calls = derive_trace(spans, Configuration()).calls
    model_spans = {
        span.span_id
        for span in spans
        if span.attributes.get("gen_ai.operation.name") in {"chat", "embeddings"}
    }
    assert len({call.identity for call in calls}) == len(calls)
    itemised = [call for call in calls if call.operation != "not_itemised"]
    assert {call.span_id for call in itemised} <= model_spans
    assert bool(itemised) == bool(model_spans)


@given(traces())
@settings(deadline=None)
def test_no_span_tells_more_input_than_all_lines_of_its_trace(spans: list[Span]) -> None:
    for trace_id in {span.trace_id for span in spans}:
        trace = [span for span in spans if span.trace_id == trace_id]
        calls = derive_trace(trace, Configuration()).calls
        told = [span.attributes.get("gen_ai.usage.input_tokens", 0) for span in trace]
        assert sum(call.uncached_input_tokens or 0 for call in calls) >= max(told, default=0)


@pytest.mark.parametrize(
    "parent_of",
    [lambda number: 0, lambda number: number - 1, lambda number: number - 1 - number % 2],
    ids=["flat", "deep", "comb"],
)
def test_twice_the_spans_take_twice_the_steps(parent_of: Callable[[int], int], chat: Any) -> None:
    def steps(count: int) -> int:
        spans = [chat("0")]
        spans += [chat(str(number), str(parent_of(number))) for number in range(1, count)]
        calls = 0

        def count_call(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count_call)
        try:
            derive_trace(spans, Configuration())
        finally:
            sys.setprofile(None)
        return calls

    steps(2)
    assert steps(800) < 2.1 * steps(400)


def test_fifty_thousand_nested_spans_are_one_trace(span: Any, chat: Any, one_call: Any) -> None:
    spans = [span("0", kind="server", attributes={"http.route": "/answer"})]
    spans += [span(str(number), str(number - 1)) for number in range(1, 50_000)]
    found: Call = one_call(*spans, chat("c", "49999"))
    assert found.endpoint == "/answer"


def shared_calls(pattern: str) -> list[Call]:
    """The calls in the shared files that `pattern` names."""
    if not SHARED.exists():
        pytest.skip("the shared files are not here")
    by_trace: dict[str, list[Span]] = defaultdict(list)
    for source in open_sources([str(SHARED / pattern)]):
        assert not isinstance(source, RefusedSourceError)
        for batch in recognise(source).read(source):
            assert not batch.rejects
            for span in batch.spans:
                by_trace[span.trace_id].append(span)
    found = [derive_trace(spans, Configuration()).calls for spans in by_trace.values()]
    return [call for calls in found for call in calls]


@pytest.mark.shared
@pytest.mark.parametrize("ending", ["json", "pb"])
def test_vllm_spans_are_fifty_nine_calls_with_engine_timings(ending: str) -> None:
    calls = shared_calls(f"vllm_cpu/traces-*.{ending}")
    assert len(calls) == 59
    assert sum(map(input_tokens, calls)) == 11_182
    assert sum(map(output_tokens, calls)) == 1_496
    assert {(call.timing_source, call.timing_quality) for call in calls} == {("engine", "ok")}
    assert {call.attempt for call in calls} == {None}
    assert {call.replica for call in calls} == {"88eaa12b-eebe-47d1-9f1f-644a44733b8e"}


@pytest.mark.shared
def test_agent_spans_of_a_jaeger_trace_are_not_counted() -> None:
    calls = shared_calls("B_jaeger_ui/genaiTestTrace.json")
    assert len(calls) == 5
    assert sum(map(input_tokens, calls)) == 8_280
    assert sum(call.cache_read_tokens or 0 for call in calls) == 4_140
    assert sum(map(output_tokens, calls)) == 1_180
    assert [call.endpoint for call in calls].count("/api/graphql") == 4


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "tokens_in", "tokens_out", "reasoning"),
    [
        ("chat-basic", 8, 377, 320),
        ("chat-detailed-usage", 12, 100, 100),
        ("chat-multiturn", 50, 526, 512),
        ("chat-reasoning", 27, 267, 192),
        ("chat-tools", 162, 287, 256),
        ("completion-basic", 31, 25, None),
        ("embeddings-dimensions", 5, 0, None),
    ],
)
def test_gateway_spans_have_their_tokens(
    name: str, tokens_in: int, tokens_out: int, reasoning: int | None
) -> None:
    (call,) = shared_calls(f"B_envoy_aigw_openinference/{name}.json")
    assert (input_tokens(call), output_tokens(call)) == (tokens_in, tokens_out)
    assert call.reasoning_tokens == reasoning
    assert call.status == "ok"
    assert call.tokens_note is None
    assert call.input_hash is not None


@pytest.mark.shared
def test_a_gateway_s_failed_call_has_an_error_and_unknown_tokens() -> None:
    (call,) = shared_calls("B_envoy_aigw_openinference/chat-unknown-model.json")
    assert (call.status, call.error_type, call.http_status) == (
        "error",
        "openai.NotFoundError",
        404,
    )
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (None, None)
    assert call.tokens_source == "unknown"
    assert call.model == "gpt-4.1-nano-wrong"
