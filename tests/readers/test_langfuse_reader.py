"""Exports of Langfuse: one observation is one span in whichever form it comes."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.readers import recognise
from ingest.readers.langfuse_usage import cost_details, usage_details
from ingest.records import Call, Span

TRACE = "0af7651916cd43dd8448eb211c80319c"
FORMS = ("langfuse.json", "langfuse-observations.jsonl", "langfuse.csv")


def calls_of(spans: list[Span]) -> tuple[Call, ...]:
    return derive_trace(spans, Configuration()).calls


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_an_export_is_the_same_spans_and_calls(take_file, name: str) -> None:
    taken = take_file(name, "langfuse")
    expected = take_file("langfuse.json", "langfuse").spans
    assert taken.rejects == []
    ids = [(span.trace_id, span.span_id, span.parent_span_id) for span in taken.spans]
    assert ids == [(span.trace_id, span.span_id, span.parent_span_id) for span in expected]
    assert ids[2] == (TRACE, "c" * 16, "b" * 16)
    call, failed = calls_of(taken.spans)
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (100, 900)
    assert (call.visible_output_tokens, call.reasoning_tokens) == (30, 20)
    assert (call.reported_cost, call.reported_currency) == (Decimal("0.003"), "USD")
    assert (call.arrived_at, call.first_token_at, call.ended_at) == (
        1790841601_100000000,
        1790841601_600000000,
        1790841603_900000000,
    )
    assert (call.model, call.temperature, call.max_tokens, call.stream) == (
        "gpt-x-2026",
        0.5,
        None,
        True,
    )
    assert (call.team, call.service, call.environment) == ("search", "shop", "prod")
    assert (failed.status, failed.http_status) == ("error", 429)
    assert failed.reported_cost is None


def test_a_generation_around_a_generation_is_no_second_call(take_file) -> None:
    spans = take_file("langfuse.json", "langfuse").spans
    usages = [span.attributes.get("langfuse.observation.usage_details") for span in spans]
    assert [usage["input"] for usage in usages if usage] == [14, 100]
    assert [call.span_id for call in calls_of(spans)] == ["c" * 16, "e" * 16]


def test_user_and_session_of_the_trace_are_those_of_its_calls(take_file) -> None:
    for name in ("langfuse.json", "langfuse.csv"):
        calls = calls_of(take_file(name, "langfuse").spans)
        assert {(call.user_id, call.conversation_id) for call in calls} == {("u-1", "s-1")}


def test_a_tool_is_no_call_whatever_its_original_span_repeats(take_file) -> None:
    spans = take_file("langfuse.json", "langfuse").spans
    (tool,) = [span for span in spans if span.name == "get_weather"]
    assert tool.attributes["gen_ai.tool.name"] == "get_weather"
    assert "gen_ai.usage.input_tokens" not in tool.attributes
    (run,) = derive_trace(spans, Configuration()).tool_runs
    assert run.tool == "get_weather"


@pytest.mark.parametrize(
    ("record", "counts"),
    [
        ({"usageDetails": {}, "inputUsage": 0, "outputUsage": 0}, None),
        (
            {"inputUsage": 5, "outputUsage": 0, "totalUsage": 5},
            {"input": 5, "output": 0, "total": 5},
        ),
        ({"usage_details": '{"input": 3}'}, {"input": 3}),
        (
            {"usageDetails": {"input": 3, "prompt_details.cache_read": 2, "output": 1}},
            {"input": 3, "output": 1, "input_cached_tokens": 2},
        ),
        (
            {"usageDetails": {"input": 10, "input_audio": 5, "output": 1, "total": 16}},
            {"input": 15, "output": 1, "total": 16},
        ),
        (
            {"usageDetails": {"input": 10, "input_audio": 5, "output": 1, "total": 11}},
            {"input": 10, "output": 1, "total": 11},
        ),
    ],
)
def test_counts_are_read_under_all_their_names(record: dict[str, Any], counts: Any) -> None:
    assert usage_details(record) == counts


@pytest.mark.parametrize(
    ("record", "total"),
    [
        ({"costDetails": {}, "totalCost": 0}, None),
        ({"costDetails": {"total": 0}, "totalCost": 0}, {"total": 0}),
        ({"costDetails": '{"input": 1}', "totalCost": "1.5"}, {"input": 1, "total": "1.5"}),
        ({"total_cost": "0.5"}, {"total": "0.5"}),
        ({"totalCost": []}, None),
    ],
)
def test_a_cost_of_0_counts_only_where_its_details_tell_it(
    record: dict[str, Any], total: Any
) -> None:
    assert cost_details(record) == total


def test_ids_of_any_form_are_the_same_ids_each_time(take) -> None:
    record = {
        "id": "obs 1",
        "traceId": "12345678-1234-1234-1234-1234567890ab",
        "type": "GENERATION",
        "startTime": "2026-10-01T08:00:00Z",
        "parentObservationId": None,
    }
    first, again = take(f"{json.dumps(record)}\n{json.dumps(record)}", "langfuse").spans
    assert first.trace_id == "12345678123412341234" + "1234567890ab"
    assert first.span_id == again.span_id
    assert (len(first.span_id), first.parent_span_id) == (16, None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"id": "a"}, "no observation: no id and trace id"),
        ({"id": "a", "traceId": "b", "startTime": 7}, "startTime '7' is no instant as text"),
        ({"id": "a", "traceId": "b", "usageDetails": 7}, "no JSON object but '7'"),
        ({"id": "a", "traceId": "b", "costDetails": "x"}, "no JSON object but 'x'"),
    ],
)
def test_a_bad_observation_is_rejected_without_its_neighbour(take, bad: Any, reason: str) -> None:
    good = {"id": "good", "traceId": "b"}
    taken = take(json.dumps({"trace": {}, "observations": [bad, good]}), "langfuse")
    assert len(taken.spans) == 1
    (reject,) = taken.rejects
    assert reject.position == "line 1, observations[0]"
    assert reason in reject.reason


def test_a_row_with_too_few_cells_is_rejected_at_its_line(take) -> None:
    rows = 'id,traceId,type,startTime,promptTokens\na,b,GENERATION,,"1\n"\nx,y\nc,b,SPAN,,\n'
    taken = take(rows, "langfuse")
    assert len(taken.spans) == 2
    (reject,) = taken.rejects
    assert (reject.position, reject.reason) == ("line 4", "2 cells in a row, 5 in the header")


def test_a_page_of_the_api_and_a_trace_of_it_are_read(source_of, take) -> None:
    one = {"id": "a", "traceId": "b", "type": "SPAN", "parentObservationId": None}
    for document in ({"data": [one], "meta": {}}, {"id": "b", "observations": [one]}):
        content = json.dumps(document)
        assert recognise(source_of(content.encode())).name == "langfuse"
        assert len(take(content, "langfuse").spans) == 1
