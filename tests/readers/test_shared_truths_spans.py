"""The public files of SDK consoles and of Zipkin give the totals that were computed apart."""

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.records import Call, Span

pytestmark = pytest.mark.shared


def calls_of(spans: list[Span]) -> list[Call]:
    """The calls of all traces; a span that is written twice counts once."""
    by_trace: dict[str, dict[str, Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, {})[span.span_id] = span
    return [
        call
        for trace in by_trace.values()
        for call in derive_trace(list(trace.values()), Configuration()).calls
    ]


def sums_of(calls: list[Call]) -> tuple[int, int]:
    return (
        sum(call.uncached_input_tokens or 0 for call in calls),
        sum(call.visible_output_tokens or 0 for call in calls),
    )


@pytest.mark.parametrize(
    ("path", "span_counts", "trace_count", "sums"),
    [
        ("B_monocle/test_anthropic_finish_reason_integration.json", (20, 10), 5, (422, 397)),
        ("B_monocle/test_openai_agents_sdk.json", (12, 12), 1, (320, 92)),
        ("B_monocle/trace1.json", (14, 14), 1, (1_088, 116)),
        ("B_openinference_js/ai-generateText-doGenerate.json", (2, 2), 2, (64, 29)),
        ("B_openinference_js/ai-streamText-doStream.json", (1, 1), 1, (15, 112)),
    ],
)
def test_console_spans_have_their_counts(
    take_shared, path: str, span_counts: tuple[int, int], trace_count: int, sums: tuple[int, int]
) -> None:
    taken = take_shared(path, "otel-console")
    ids = {(span.trace_id, span.span_id) for span in taken.spans}
    assert (len(taken.spans), len(ids), taken.rejects) == (*span_counts, [])
    assert len({span.trace_id for span in taken.spans}) == trace_count
    assert sums_of(calls_of(taken.spans)) == sums


def test_console_spans_have_their_times(take_shared) -> None:
    agents = take_shared("B_monocle/test_openai_agents_sdk.json", "otel-console").spans
    assert min(span.started_at for span in agents) == 1763527620_931767000
    assert max(span.ended_at for span in agents) == 1763527624_433335000
    (stream,) = take_shared("B_openinference_js/ai-streamText-doStream.json", "otel-console").spans
    assert (stream.started_at, stream.ended_at) == (1770132000_598000000, 1770132005_984307375)


def test_both_halves_of_a_shared_zipkin_span_are_kept(take_shared) -> None:
    taken = take_shared("B_zipkin/yelp.json", "zipkin")
    assert (len(taken.spans), taken.rejects) == (16, [])
    assert len({span.span_id for span in taken.spans}) == 16
    assert {span.trace_id for span in taken.spans} == {"0000000000000000a03ee8fff1dcd9b9"}
    assert min(span.started_at or 0 for span in taken.spans) == 1571896375_237354000
    ids = {span.span_id for span in taken.spans}
    parents = {span.parent_span_id for span in taken.spans} - {None}
    assert parents <= ids


def test_spans_with_names_for_ids_are_told_apart(take_shared) -> None:
    taken = take_shared("B_inference_perf/simple_chain.json", "flat-spans")
    assert (len({span.span_id for span in taken.spans}), taken.rejects) == (3, [])
    started = min(span.started_at for span in taken.spans)
    assert max(span.ended_at for span in taken.spans) - started == 8 * 10**9
    assert {call.tokens_source for call in calls_of(taken.spans)} == {"counted"}


def test_attributes_alone_have_their_counts(take_shared) -> None:
    path = "B_openinference_js/otel_genai_client_span_tool_calls.json"
    assert sums_of(calls_of(take_shared(path, "flat-spans").spans)) == (97, 52)
