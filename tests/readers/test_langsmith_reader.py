"""Runs of LangSmith: what is posted and what is patched is one run, and a parent counts nothing."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.readers import langsmith, recognise
from ingest.records import Call, Span

AT = 1790841600 * 10**9
USAGE = {"input_tokens": 7, "output_tokens": 3}


def calls_of(spans: list[Span]) -> tuple[Call, ...]:
    return derive_trace(spans, Configuration()).calls


@pytest.mark.parametrize("name", ["langsmith.json", "langsmith-runs.jsonl"])
def test_posted_and_patched_runs_are_the_calls_that_whole_runs_are(take_file, name: str) -> None:
    taken = take_file(name, "langsmith")
    assert (len(taken.spans), taken.rejects) == (4, [])
    call, failed = calls_of(taken.spans)
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (100, 900)
    assert (call.visible_output_tokens, call.reasoning_tokens) == (30, 20)
    assert (call.reported_cost, call.reported_currency) == (Decimal("0.004"), "USD")
    assert (call.arrived_at, call.first_token_at, call.ended_at) == (
        AT + 1_000_000_000,
        AT + 1_400_000_000,
        AT + 2_500_000_000,
    )
    assert (call.model, call.model_requested, call.provider) == ("gpt-x-2026", "gpt-x", "openai")
    assert (call.temperature, call.max_tokens, call.finish_reason) == (0.5, 100, "stop")
    assert (call.team, call.conversation_id) == ("search", "t-1")
    assert call.response_id == "chatcmpl-1"
    assert (failed.status, failed.error_type, failed.http_status) == (
        "error",
        "RateLimitError",
        429,
    )


def test_a_run_that_was_only_patched_begins_where_its_order_says(take_file) -> None:
    *_, failed = calls_of(take_file("langsmith.json", "langsmith").spans)
    assert (failed.arrived_at, failed.ended_at) == (AT + 4 * 10**9, AT + 5 * 10**9)


def test_both_forms_have_the_same_ids(take_file) -> None:
    forms = [
        {
            (span.trace_id, span.span_id, span.parent_span_id, span.started_at)
            for span in take_file(name, "langsmith").spans
        }
        for name in ("langsmith.json", "langsmith-runs.jsonl")
    ]
    assert forms[0] == forms[1]
    assert {trace_id for trace_id, *_ in forms[0]} == {"11111111111141118111111111111111"}


def test_a_chain_keeps_no_usage_and_a_tool_is_a_tool(take_file) -> None:
    derived = derive_trace(take_file("langsmith.json", "langsmith").spans, Configuration())
    assert [run.tool for run in derived.tool_runs] == ["get_weather"]
    (chain,) = [
        span for span in take_file("langsmith.json", "langsmith").spans if span.name == "agent"
    ]
    assert not any(name.startswith("gen_ai.usage") for name in chain.attributes)


@pytest.mark.parametrize(
    "told",
    [
        {"outputs": {"usage_metadata": USAGE}},
        {"outputs": {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}},
        {"outputs": {"llm_output": {"token_usage": {"prompt_tokens": 7, "completion_tokens": 3}}}},
        {"extra": {"metadata": {"usage_metadata": USAGE}}},
        {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        {
            "outputs": {
                "generations": [
                    [
                        {
                            "message": {
                                "kwargs": {
                                    "usage_metadata": {"input_tokens": 7, "output_tokens": 3}
                                }
                            }
                        }
                    ]
                ]
            }
        },
    ],
)
def test_usage_is_found_in_every_place(take, told: dict[str, Any]) -> None:
    run = {"id": "r", "run_type": "llm", "start_time": 1790841600000, **told}
    (call,) = calls_of(take(json.dumps(run), "langsmith").spans)
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (7, 3)
    assert call.arrived_at == AT


def test_so_many_runs_that_have_not_ended_wait(take, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langsmith, "MAX_OPEN_RUNS", 1)
    posts = [{"id": name, "run_type": "chain", "start_time": 0} for name in "abc"]
    taken = take("\n".join(map(json.dumps, posts)), "langsmith")
    assert len({span.span_id for span in taken.spans}) == 3


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"run_type": "llm"}, "no run: no id"),
        ({"id": "a", "start_time": 0.5}, "start_time '0.5' is no instant"),
        ({"id": "a", "end_time": "noon"}, "'noon' is no instant"),
        ({"id": "a", "events": [7]}, "no JSON object but '7'"),
        ({"id": "a", "run_type": "llm", "outputs": {"choices": [7]}}, "no JSON object but '7'"),
    ],
)
def test_a_bad_run_is_rejected_without_its_neighbour(take, bad: Any, reason: str) -> None:
    taken = take(json.dumps({"post": [bad, {"id": "good", "run_type": "llm"}]}), "langsmith")
    assert len(taken.spans) == 1
    (reject,) = taken.rejects
    assert reject.position == "line 1, post[0]"
    assert reason in reject.reason


def test_a_list_of_the_api_is_read(source_of, take) -> None:
    content = json.dumps({"runs": [{"id": "a", "run_type": "llm"}], "cursors": {}})
    assert recognise(source_of(content.encode())).name == "langsmith"
    assert len(take(content, "langsmith").spans) == 1
