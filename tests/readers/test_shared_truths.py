"""The public files give the totals that were computed apart from this product."""

from pathlib import Path

import orjson
import pytest

from ingest.files import Source, open_sources
from ingest.readers import READERS, recognise
from ingest.records import Call, Span

pytestmark = pytest.mark.shared

NS = 10**9
VLLM = "A_llmservingsim_vllm/rtx4090_llama31_8b/requests.jsonl"
ENVOY = "B_envoy_aigw_openinference"


def token_sums(calls: list[Call]) -> tuple[int, int]:
    return (
        sum(call.uncached_input_tokens or 0 for call in calls),
        sum(call.visible_output_tokens or 0 for call in calls),
    )


def test_the_azure_code_trace_has_its_totals_and_its_hour(take_shared) -> None:
    taken = take_shared("A_azure_llm_2023/AzureLLMInferenceTrace_code.csv", "azure-llm-trace")
    assert (len(taken.calls), taken.rejects) == (8_819, [])
    assert token_sums(taken.calls) == (18_059_974, 245_896)
    arrivals = [call.arrived_at for call in taken.calls if call.arrived_at is not None]
    assert (arrivals[0], arrivals[-1]) == (1700158623_979960000, 1700162059_928016000)
    assert max(arrivals) - min(arrivals) == 3_435_948_056_000
    assert len({call.identity for call in taken.calls}) == 8_819


def test_the_vllm_run_has_its_totals_and_phases_from_one_clock(take_shared) -> None:
    taken = take_shared(VLLM, "vllm-lifecycle")
    assert (len(taken.calls), taken.rejects) == (300, [])
    assert token_sums(taken.calls) == (257_239, 195_753)
    assert {call.model for call in taken.calls} == {"meta-llama/Llama-3.1-8B"}
    assert {call.timing_quality for call in taken.calls} == {"ok"}
    arrived = [call.arrived_at or 0 for call in taken.calls]
    ended = [call.ended_at or 0 for call in taken.calls]
    assert round((max(ended) - min(arrived)) / NS, 3) == 183.567


def test_no_request_of_the_vllm_run_queues_before_it_arrives(take_shared, shared: Path) -> None:
    records = [orjson.loads(line) for line in (shared / VLLM).read_bytes().splitlines()]
    calls = take_shared(VLLM, "vllm-lifecycle").calls
    lags = [
        call.arrived_at / NS - record["arrival_time"]
        for call, record in zip(calls, records, strict=True)
    ]
    assert min(lags) == pytest.approx(0, abs=1e-6)
    assert max(lags) < 0.25


def test_the_mooncake_trace_has_its_totals_and_confirmed_blocks(take_shared) -> None:
    taken = take_shared("A_mooncake/synthetic_trace.jsonl", "mooncake")
    assert (len(taken.calls), taken.rejects) == (3_993, [])
    assert token_sums(taken.calls) == (61_194_628, 595_432)
    assert (taken.calls[0].arrived_at, taken.calls[-1].arrived_at) == (0, 1_022_025_000_000)
    assert {call.prefix_block_tokens for call in taken.calls} == {512}
    hashes = [item for call in taken.calls for item in call.prefix_hashes or ()]
    assert (len(hashes), len(set(hashes))) == (121_877, 43_924)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("chat-basic", (8, 377, 320, 385)),
        ("chat-detailed-usage", (12, 100, 100, 112)),
        ("chat-multiturn", (50, 526, 512, 576)),
        ("chat-reasoning", (27, 267, 192, 294)),
        ("chat-tools", (162, 287, 256, 449)),
        ("completion-basic", (31, 25, None, 56)),
        ("embeddings-dimensions", (5, None, None, 5)),
        ("chat-unknown-model", (None, None, None, None)),
    ],
)
def test_a_gateway_span_has_its_counts(
    take_shared, name: str, counts: tuple[int | None, ...]
) -> None:
    (span,) = take_shared(f"{ENVOY}/{name}.json", "openinference-span").spans
    parts = ("prompt", "completion", "completion_details.reasoning", "total")
    assert tuple(span.attributes.get(f"llm.token_count.{part}") for part in parts) == counts
    assert span.started_at is None


def test_a_failed_gateway_call_is_an_error_with_its_exception(take_shared) -> None:
    (span,) = take_shared(f"{ENVOY}/chat-unknown-model.json", "openinference-span").spans
    assert span.status == "error"
    assert [(event.name, event.at) for event in span.events] == [("exception", None)]
    assert span.events[0].attributes["exception.type"] == "openai.NotFoundError"


def test_the_jaeger_trace_has_its_spans_and_counts(take_shared) -> None:
    taken = take_shared("B_jaeger_ui/genaiTestTrace.json", "jaeger-json")
    assert (len(taken.spans), taken.rejects) == (57, [])
    started = [span.started_at or 0 for span in taken.spans]
    ended = [span.ended_at or 0 for span in taken.spans]
    assert (min(started), max(ended) - min(started)) == (1770000000_001000000, 44 * NS)
    chats = [s for s in taken.spans if s.attributes.get("gen_ai.operation.name") == "chat"]
    sums = [
        sum(span.attributes.get(f"gen_ai.usage.{key}") or 0 for span in chats)
        for key in ("input_tokens", "cache_read.input_tokens", "output_tokens")
    ]
    assert (len(chats), sums) == (5, [8_280, 4_140, 1_180])


def spans_of(shared: Path, pattern: str) -> list[Span]:
    spans: list[Span] = []
    for source in open_sources([str(shared / "vllm_cpu" / pattern)]):
        assert isinstance(source, Source)
        for batch in recognise(source).read(source):
            assert list(batch.rejects) == []
            spans += batch.spans
    return spans


def test_the_vllm_recording_is_the_same_in_protobuf_and_in_json(shared: Path) -> None:
    as_protobuf, as_json = spans_of(shared, "*.pb"), spans_of(shared, "*.json")
    assert as_protobuf == as_json
    requests = [span for span in as_json if span.name == "llm_request"]
    sums = [
        sum(int(span.attributes.get(f"gen_ai.usage.{key}", 0)) for span in requests)
        for key in ("prompt_tokens", "completion_tokens")
    ]
    assert (len(requests), sums) == (59, [11_182, 1_496])


def test_the_example_of_the_protocol_and_a_span_with_zero_ids_are_read(take_shared) -> None:
    (span,) = take_shared("B_otel_proto_examples/trace.json", "otlp-json").spans
    assert (span.trace_id, span.started_at, span.ended_at) == (
        "5b8efff798038103d269b633813fc60c",
        1544712660 * NS,
        1544712661 * NS,
    )
    (zero,) = take_shared("B_langwatch/claude_code.json", "otlp-json").spans
    assert zero.trace_id.strip("0")
    assert zero.attributes["gen_ai.usage.input_tokens"] == 187


def test_every_other_public_file_is_refused_by_what_it_is(shared: Path) -> None:
    recognised: dict[str, int] = {}
    for source in open_sources([str(shared)]):
        assert isinstance(source, Source)
        takers = [reader.name for reader in READERS if reader.recognise(source.head, source)]
        if takers:
            recognised[takers[0]] = recognised.get(takers[0], 0) + 1
    assert recognised == {
        "azure-llm-trace": 1,
        "vllm-lifecycle": 1,
        "mooncake": 1,
        "openinference-span": 8,
        "jaeger-json": 1,
        "otel-console": 5,
        "zipkin": 1,
        "flat-spans": 2,
        "langfuse": 6,
        "langsmith": 1,
        "litellm": 1,
        "openai": 4,
        "anthropic": 2,
        "lmcache-agent": 2,
        "codex-turns": 1,
        "otlp-logs": 1,
        "prometheus-text": 1,
        "aider": 1,
        "swe-agent": 1,
        "inspect-ai": 1,
        "aibrix": 1,
        "llmperf": 1,
        "claude-code": 2,
        "claude-code-stream": 1,
        "codex": 1,
        "gemini-responses": 1,
        "otlp-json": 29,
        "otlp-protobuf": 27,
    }
