"""The public files of products and APIs give the totals that were computed apart."""

from decimal import Decimal

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration

pytestmark = pytest.mark.shared

LANGFUSE = "B_langfuse_framework_traces"


@pytest.mark.parametrize(
    ("name", "counts", "sums", "cost"),
    [
        ("autogen-2025-06-06", (2, 1), (41, 3), "0.000025"),
        ("google-adk-2025-08-28", (5, 2), (67, 9), "0.0000103"),
        ("llamaindex-2025-06-05", (2, 1), (13, 81), "0.0008425"),
        ("openai-agents-2025-09-30", (5, 2), (140, 44), "0.000632"),
        ("pydantic-ai-2025-06-06", (3, 1), (31, 96), "0.0010375"),
        ("vercel-aisdk-2025-11-17", (3, 2), (76, 128), "0.001375"),
    ],
)
def test_a_langfuse_export_has_its_generations_tokens_and_cost(
    take_shared, name: str, counts: tuple[int, int], sums: tuple[int, int], cost: str
) -> None:
    taken = take_shared(f"{LANGFUSE}/{name}.trace.json", "langfuse")
    kinds = [span.attributes["langfuse.observation.type"] for span in taken.spans]
    assert (len(kinds), kinds.count("generation"), taken.rejects) == (*counts, [])
    told = [
        span.attributes
        for span in taken.spans
        if "langfuse.observation.usage_details" in span.attributes
    ]
    usages = [attributes["langfuse.observation.usage_details"] for attributes in told]
    assert tuple(sum(usage[side] for usage in usages) for side in ("input", "output")) == sums
    costs = [
        Decimal(str(attributes["langfuse.observation.cost_details"]["total"]))
        for attributes in told
    ]
    assert round(sum(costs), 9) == Decimal(cost)


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("autogen-2025-06-06", [(41, 3)]),
        ("google-adk-2025-08-28", [(28, 3), (39, 6)]),
        ("openai-agents-2025-09-30", [(55, 15), (85, 29)]),
        ("vercel-aisdk-2025-11-17", [(62, 85)]),
    ],
)
def test_a_generation_that_another_wraps_is_the_call(
    take_shared, name: str, sums: list[tuple[int, int]]
) -> None:
    spans = take_shared(f"{LANGFUSE}/{name}.trace.json", "langfuse").spans
    calls = derive_trace(spans, Configuration()).calls
    assert sorted((c.uncached_input_tokens, c.visible_output_tokens) for c in calls) == sums


def test_a_langsmith_run_that_was_posted_and_patched_is_one_call(take_shared) -> None:
    taken = take_shared("B_langsmith/langsmith_py_wrap_openai_.json", "langsmith")
    assert (len(taken.spans), taken.rejects) == (1, [])
    (call,) = derive_trace(taken.spans, Configuration()).calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (9, 9)
    assert call.reported_total_tokens == 18
    assert call.model == "gpt-4o-mini-2024-07-18"
    assert (call.arrived_at, call.ended_at) == (1728680303_298773000, 1728680304_417106000)


def test_a_spend_log_of_litellm_has_its_counts_cost_and_duration(take_shared) -> None:
    taken = take_shared("C_litellm/spend_logs_payload.json", "litellm")
    assert taken.rejects == []
    (call,) = taken.calls
    assert call.identity == "litellm:chatcmpl-2283081b-dc89-41f6-93e6-d4f914774027"
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (10, 20)
    assert call.reported_total_tokens == 30
    assert call.reported_cost == Decimal("0.000225")
    assert (call.ended_at or 0) - (call.arrived_at or 0) == 4_583_000
    assert (call.first_token_at, call.team, call.user_id) == (None, None, None)


@pytest.mark.parametrize(
    ("path", "format_name", "sums", "total"),
    [
        ("C_agent_framework/chat_basic.json", "openai", (13, 14, 0), 27),
        ("C_agent_framework/chat_streaming.sse.txt", "openai", (12, 12, 0), 24),
        ("C_agent_framework/responses_basic.json", "openai", (13, 14, 0), 27),
        ("C_agentops/openai_chat_completion.json", "openai", (24, 8, 0), 32),
        ("C_agentops/anthropic_stream.json", "anthropic", (18, 31, None), None),
        ("D_openinference_anthropic/thinking-non-streaming.json", "anthropic", (52, 156, 65), None),
    ],
)
def test_an_answer_of_an_api_has_its_counts(
    take_shared, path: str, format_name: str, sums: tuple[int | None, ...], total: int | None
) -> None:
    taken = take_shared(path, format_name)
    assert taken.rejects == []
    (call,) = taken.calls
    parts = (call.uncached_input_tokens, call.visible_output_tokens, call.reasoning_tokens)
    assert (parts, call.reported_total_tokens) == (sums, total)


@pytest.mark.parametrize(
    ("name", "call_count", "characters", "empty_count"),
    [
        ("4f619f153313f676f839cd4afd8228d5.jsonl", 4, (419, 130), 3),
        ("bfe362e206e369f73480fd59a98db7a8.openai_chat.jsonl", 33, (141_258, 101_677), 0),
    ],
)
def test_an_agent_trace_of_lmcache_has_its_texts(
    take_shared, name: str, call_count: int, characters: tuple[int, int], empty_count: int
) -> None:
    taken = take_shared(f"A_lmcache_agent/{name}", "lmcache-agent")
    assert (len(taken.calls), taken.rejects) == (call_count, [])
    assert len({call.identity for call in taken.calls}) == call_count
    texts = [(call.prompt or "", call.completion or "") for call in taken.calls]
    assert (sum(len(p) for p, _ in texts), sum(len(c) for _, c in texts)) == characters
    assert sum(not completion for _, completion in texts) == empty_count
    assert {call.tokens_source for call in taken.calls} == {"unknown"}


def test_a_turn_of_codex_has_its_counts(take_shared) -> None:
    (call,) = take_shared("B_langwatch/codex-B.session_task_turn.json", "codex-turns").calls
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (8_817, 4_480)
    assert (call.visible_output_tokens, call.reasoning_tokens) == (13, 10)
    assert call.reported_total_tokens == 13_320
