"""Every public file is read right, or refused by its name with the reason.

The totals are those of the list beside the files, computed apart from this product. Two of them
are not the sum of what their file says: of a Langfuse generation around a generation the inner is
the call (62 / 85, where the file repeats 76 / 128), and what is written twice counts once.
"""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.deliver import DeliveryResult, deliver_paths
from ingest.files import RefusedSourceError, Source, open_sources
from ingest.ledger import open_for_writing
from ingest.readers import recognise
from ingest.records import Call, Span

pytestmark = pytest.mark.shared


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a file holds: calls, of which some tell tokens, and the sums of those."""

    by: str
    calls: int
    told: int
    tokens: tuple[int, int] = (0, 0)
    cached: tuple[int, int] = (0, 0)
    reasoning: int = 0
    cost: str = "0"


def one(by: str, tokens: tuple[int, int], **more: int | str | tuple[int, int]) -> Read:
    """A file of one call that tells its tokens."""
    return Read(by=by, calls=1, told=1, tokens=tokens, **more)  # type: ignore[arg-type]


FILES: dict[str, Read | str] = {
    "A_aibrix/ten_requests.jsonl": Read(by="aibrix", calls=10, told=10, tokens=(9_169, 816)),
    "A_aider_analytics/sample-analytics.jsonl": Read(
        by="aider", calls=156, told=107, tokens=(2_484_349, 45_772), cost="5.305332"
    ),
    "A_azure_llm_2023/AzureLLMInferenceTrace_code.csv": Read(
        by="azure-llm-trace", calls=8_819, told=8_819, tokens=(18_059_974, 245_896)
    ),
    "A_inspect_ai/2025-05-12T20-28-13-04-00_popularity.json": Read(
        by="inspect-ai", calls=3, told=3, tokens=(192, 6)
    ),
    "A_llmperf/groq_70b.json": Read(by="llmperf", calls=150, told=150, tokens=(82_500, 22_500)),
    "A_llmservingsim_vllm/rtx4090_llama31_8b/meta.json": "the description of a vLLM run",
    "A_llmservingsim_vllm/rtx4090_llama31_8b/requests.jsonl": Read(
        by="vllm-lifecycle", calls=300, told=300, tokens=(257_239, 195_753)
    ),
    "A_llmservingsim_vllm/rtx4090_llama31_8b/timeseries.csv": "throughput of an engine over time",
    "A_lmcache_agent/4f619f153313f676f839cd4afd8228d5.jsonl": Read(
        by="lmcache-agent", calls=4, told=0
    ),
    "A_lmcache_agent/bfe362e206e369f73480fd59a98db7a8.openai_chat.jsonl": Read(
        by="lmcache-agent", calls=33, told=0
    ),
    "A_mooncake/synthetic_trace.jsonl": Read(
        by="mooncake", calls=3_993, told=3_993, tokens=(61_194_628, 595_432)
    ),
    "A_swe_agent/pydicom__pydicom-1458.traj": Read(
        by="swe-agent", calls=13, told=1, tokens=(122_612, 1_369), cost="1.26719"
    ),
    "B_envoy_aigw_openinference/chat-basic.json": one(
        "openinference-span", (8, 377), reasoning=320
    ),
    "B_envoy_aigw_openinference/chat-detailed-usage.json": one(
        "openinference-span", (12, 100), reasoning=100
    ),
    "B_envoy_aigw_openinference/chat-multiturn.json": one(
        "openinference-span", (50, 526), reasoning=512
    ),
    "B_envoy_aigw_openinference/chat-reasoning.json": one(
        "openinference-span", (27, 267), reasoning=192
    ),
    "B_envoy_aigw_openinference/chat-tools.json": one(
        "openinference-span", (162, 287), reasoning=256
    ),
    "B_envoy_aigw_openinference/chat-unknown-model.json": Read(
        by="openinference-span", calls=1, told=0
    ),
    "B_envoy_aigw_openinference/completion-basic.json": one("openinference-span", (31, 25)),
    "B_envoy_aigw_openinference/embeddings-dimensions.json": one("openinference-span", (5, 0)),
    "B_inference_perf/simple_chain.json": Read(by="flat-spans", calls=3, told=3, tokens=(216, 130)),
    "B_jaeger_ui/genaiTestTrace.json": Read(
        by="jaeger-json", calls=5, told=5, tokens=(8_280, 1_180), cached=(4_140, 0)
    ),
    "B_langfuse_framework_traces/autogen-2025-06-06.trace.json": one(
        "langfuse", (41, 3), cost="0.000025"
    ),
    "B_langfuse_framework_traces/google-adk-2025-08-28.trace.json": Read(
        by="langfuse", calls=2, told=2, tokens=(67, 9), cost="0.0000103"
    ),
    "B_langfuse_framework_traces/llamaindex-2025-06-05.trace.json": one(
        "langfuse", (13, 81), cost="0.0008425"
    ),
    "B_langfuse_framework_traces/openai-agents-2025-09-30.trace.json": Read(
        by="langfuse", calls=2, told=2, tokens=(140, 44), cost="0.000632"
    ),
    "B_langfuse_framework_traces/pydantic-ai-2025-06-06.trace.json": one(
        "langfuse", (31, 96), cost="0.0010375"
    ),
    "B_langfuse_framework_traces/vercel-aisdk-2025-11-17.trace.json": one(
        "langfuse", (62, 85), cost="0.0009275"
    ),
    "B_langsmith/langsmith_py_wrap_openai_.json": one("langsmith", (9, 9)),
    "B_langwatch/claude_code.json": one("otlp-json", (187, 53)),
    "B_langwatch/codex-B.session_task_turn.json": one(
        "codex-turns", (13_297, 23), cached=(4_480, 0), reasoning=10
    ),
    "B_monocle/test_anthropic_finish_reason_integration.json": Read(
        by="otel-console", calls=5, told=5, tokens=(422, 397)
    ),
    "B_monocle/test_openai_agents_sdk.json": Read(
        by="otel-console", calls=2, told=2, tokens=(320, 92)
    ),
    "B_monocle/trace1.json": Read(by="otel-console", calls=4, told=4, tokens=(1_088, 116)),
    "B_openinference_js/ai-generateText-doGenerate.json": Read(
        by="otel-console", calls=2, told=2, tokens=(64, 29)
    ),
    "B_openinference_js/ai-streamText-doStream.json": one("otel-console", (15, 112)),
    "B_openinference_js/otel_genai_client_span_tool_calls.json": one("flat-spans", (97, 52)),
    "B_otel_proto_examples/logs.json": Read(by="otlp-logs", calls=0, told=0),
    "B_otel_proto_examples/trace.json": Read(by="otlp-json", calls=0, told=0),
    "B_zipkin/yelp.json": Read(by="zipkin", calls=0, told=0),
    "C_agent_framework/chat_basic.json": one("openai", (13, 14)),
    "C_agent_framework/chat_streaming.sse.txt": one("openai", (12, 12)),
    "C_agent_framework/responses_basic.json": one("openai", (13, 14)),
    "C_agentops/anthropic_stream.json": one("anthropic", (18, 31)),
    "C_agentops/openai_chat_completion.json": one("openai", (24, 8)),
    "C_ccusage/claude/session-alpha.jsonl": Read(
        by="claude-code", calls=3, told=3, tokens=(745, 250), cached=(70, 75), cost="1.02"
    ),
    "C_ccusage/codex/session-alpha.jsonl": Read(
        by="codex", calls=2, told=2, tokens=(3_500, 425), cached=(750, 0), reasoning=275
    ),
    "C_claude_code_log/representative_messages.jsonl": Read(
        by="claude-code", calls=5, told=5, tokens=(218, 445)
    ),
    "C_gemini_cli/tool-success.json": Read(
        by="gemini-responses", calls=8, told=8, tokens=(57_193, 39)
    ),
    "C_litellm/spend_logs_payload.json": one("litellm", (10, 20), cost="0.000225"),
    "C_openai_usage/completions_usage_buckets.json": "usage of a provider in buckets of time: sums",
    "D_logfire/basic_conversation.json": one(
        "claude-code-stream", (9_344, 5), cached=(7_166, 2_175), cost="0.01039005"
    ),
    "D_openinference_anthropic/thinking-non-streaming.json": one(
        "anthropic", (52, 221), reasoning=65
    ),
    "D_openllmetry/test_anthropic_prompt_caching_legacy.yaml": "a cassette of recorded HTTP",
    "D_openllmetry/test_chat_reasoning.yaml": "a cassette of recorded HTTP",
    "D_openllmetry/test_openai_prompt_caching.yaml": "a cassette of recorded HTTP",
    "D_otel_contrib/test_chat_completion_streaming.yaml": "a cassette of recorded HTTP",
    "D_otel_contrib/test_responses_create_reports_reasoning_tokens.yaml": (
        "a cassette of recorded HTTP"
    ),
    "D_simonw_llm/test_responses_basic_streaming.yaml": "a cassette of recorded HTTP",
    "E_gpt_tokenizer/TestPlans.txt": "test plans of a tokenizer",
    "E_jtokkit/cl100k_base_encodings.csv": "test vectors of a tokenizer",
    "F_cloud_gpus/cloud-gpus.csv": "a list of prices of GPUs",
    "F_genai_prices/data.json": "a catalogue of prices",
    "F_litellm_prices/model_prices_and_context_window_backup.json": "a catalogue of prices",
}
"""What is read by which reader, or the beginning of what is said of a file that is refused."""


def calls_of(source: Source) -> list[Call]:
    """The calls of a source, of its own and of its traces; what is written twice counts once."""
    calls: dict[str, Call] = {}
    spans: dict[str, dict[str, Span]] = defaultdict(dict)
    for batch in recognise(source).read(source):
        assert list(batch.rejects) == []
        calls |= {call.identity: call for call in batch.calls}
        for span in batch.spans:
            spans[span.trace_id][span.span_id] = span
    for trace in spans.values():
        derived = derive_trace(list(trace.values()), Configuration()).calls
        calls |= {call.identity: call for call in derived}
    return list(calls.values())


def total(calls: list[Call], *names: str) -> int:
    return sum(getattr(call, name) or 0 for call in calls for name in names)


def shown(source: Source) -> Read | str:
    """What a file turns out to be."""
    try:
        reader = recognise(source)
    except RefusedSourceError as error:
        return error.found
    calls = calls_of(source)
    costs = [call.reported_cost for call in calls if call.reported_cost is not None]
    cache = ("cache_read_tokens", "cache_write_tokens")
    return Read(
        by=reader.name,
        calls=len(calls),
        told=sum(call.uncached_input_tokens is not None for call in calls),
        tokens=(
            total(calls, "uncached_input_tokens", *cache),
            total(calls, "visible_output_tokens", "reasoning_tokens"),
        ),
        cached=(total(calls, cache[0]), total(calls, cache[1])),
        reasoning=total(calls, "reasoning_tokens"),
        cost=f"{round(sum(costs, Decimal(0)), 9).normalize():f}",
    )


@pytest.mark.parametrize("path", FILES)
def test_a_public_file_is_read_right_or_refused_by_name(shared: Path, path: str) -> None:
    (source,) = open_sources([str(shared / path)])
    assert isinstance(source, Source)
    expected, found = FILES[path], shown(source)
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert found.startswith(expected)
    else:
        assert found == expected


def test_no_public_file_is_left_out(shared: Path) -> None:
    present = {str(path.relative_to(shared)) for path in shared.rglob("*") if path.is_file()}
    own = {name for name in present if name.startswith("vllm_cpu/")}
    assert present - own - {"INDEX.md"} == set(FILES)
    assert len(FILES) == 64


@pytest.fixture(scope="module")
def delivered_twice(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[DeliveryResult], list[DeliveryResult]]:
    """All public files into one ledger, and again."""
    root = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    if not root.is_dir():
        pytest.skip("the public files in ../shared are absent")
    paths = [str(root / name) for name in FILES]
    with open_for_writing(tmp_path_factory.mktemp("all") / "ledger.duckdb") as ledger:
        first = deliver_paths(ledger, paths, Configuration())
        return first, deliver_paths(ledger, paths, Configuration())


def test_every_file_is_delivered_or_named_and_loses_no_record(delivered_twice) -> None:
    first, _ = delivered_twice
    for path, result in zip(FILES, first, strict=True):
        expected = FILES[path]
        if isinstance(expected, str):
            assert (result.counts, result.error is None) == (None, False)
        else:
            assert (result.format_name, result.error) == (expected.by, None)
            assert result.counts.rejected == 0
            assert result.counts.read == result.counts.new + result.counts.duplicate


def test_delivered_again_no_file_adds_a_record(delivered_twice) -> None:
    _, again = delivered_twice
    assert sum(result.counts.new for result in again if result.counts is not None) == 0
