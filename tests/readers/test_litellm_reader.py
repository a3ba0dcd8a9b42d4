"""Logs of LiteLLM: a call once, whichever log tells it, and no price where nobody knew one."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ingest.records import Call

AT = 1790841600 * 10**9


@pytest.mark.parametrize("name", ["litellm.jsonl", "litellm.csv"])
def test_every_field_of_a_spend_log_is_read(take_file, name: str) -> None:
    taken = take_file(name, "litellm")
    assert (len(taken.calls), taken.rejects) == (4, [])
    assert taken.calls[0] == Call(
        identity="litellm:chatcmpl-1",
        timing_source="stream",
        team="search",
        tenant="o-1",
        user_id="u-1",
        provider="openai",
        model="gpt-x",
        model_requested="chat",
        conversation_id="s-1",
        arrived_at=AT + 1_000_000_000,
        first_token_at=AT + 1_300_000_000,
        ended_at=AT + 1_900_000_000,
        uncached_input_tokens=100,
        cache_read_tokens=900,
        visible_output_tokens=30,
        reasoning_tokens=20,
        reported_input_tokens=1000,
        reported_output_tokens=50,
        reported_total_tokens=1050,
        reported_cost=Decimal("0.004500000"),
        reported_currency="USD",
        response_id="chatcmpl-1",
    )


def test_the_logging_payload_of_a_call_is_the_same_call(take_file) -> None:
    (payload,) = take_file("litellm-payload.jsonl", "litellm").calls
    row = take_file("litellm.jsonl", "litellm").calls[0]
    for name in ("identity", "arrived_at", "first_token_at", "ended_at", "reported_cost", "team"):
        assert getattr(payload, name) == getattr(row, name)
    assert (payload.temperature, payload.max_tokens, payload.stream) == (0.5, 100, True)
    assert payload.prompt == '[{"content":"Hi","role":"user"}]'


def test_an_answer_out_of_the_cache_used_and_costs_nothing(take_file) -> None:
    call = take_file("litellm.jsonl", "litellm").calls[1]
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (0, 0)
    assert (call.reported_cost, call.tokens_source) == (Decimal(0), "estimated")
    assert (call.arrived_at, call.ended_at) == (AT + 2 * 10**9, None)
    assert call.tokens_note == (
        "answered by the gateway's cache, which repeats 1000 input tokens and 50 output tokens"
    )


def test_a_failed_call_has_unknown_tokens_and_no_cost(take_file) -> None:
    call = take_file("litellm.jsonl", "litellm").calls[2]
    assert (call.status, call.http_status, call.error_type) == ("error", 429, "RateLimitError")
    assert (call.uncached_input_tokens, call.reported_cost) == (None, None)
    assert call.response_id is None
    assert call.tokens_note == "error, HTTP 429 without usage: input and output tokens are unknown"


def test_a_spend_of_0_is_no_price_and_an_answer_in_one_piece_shows_no_first_token(
    take_file,
) -> None:
    call = take_file("litellm.jsonl", "litellm").calls[3]
    assert (call.operation, call.uncached_input_tokens) == ("embeddings", 7)
    assert (call.reported_cost, call.tokens_note) == (None, "a spend of 0 is no price")
    assert (call.first_token_at, call.timing_source) == (None, "span")


@pytest.mark.parametrize(
    ("call_type", "operation"),
    [
        (None, "chat"),
        ("completion", "chat"),
        ("atext_completion", "text_completion"),
        ("agenerate_content_stream", "chat"),
        ("aimage_generation", "aimage_generation"),
    ],
)
def test_a_call_type_tells_the_operation(take, call_type: str | None, operation: str) -> None:
    record = {"request_id": "a", "startTime": 1, "spend": 0, "call_type": call_type}
    (call,) = take(json.dumps(record), "litellm").calls
    assert call.operation == operation


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"request_id": "a"}, "no log of LiteLLM: no startTime and request_id or id"),
        ({"request_id": "a", "startTime": "noon"}, "'noon' is no instant"),
        ({"request_id": "a", "startTime": []}, "startTime '[]' is no instant"),
        ({"request_id": "a", "startTime": 1, "spend": "NaN-ish"}, None),
        ({"id": "a", "startTime": 1, "model_parameters": {"seed": "x"}}, "no whole number"),
    ],
)
def test_a_bad_row_is_rejected_without_its_neighbour(take, bad: Any, reason: str | None) -> None:
    good = {"request_id": "good", "startTime": 1}
    taken = take(f"{json.dumps(bad)}\n{json.dumps(good)}", "litellm")
    assert taken.calls[-1].identity == "litellm:good"
    assert [reject.position for reject in taken.rejects] == (["line 1"] if reason else [])
    assert all(reason in reject.reason for reject in taken.rejects if reason)


def test_a_payload_inside_of_a_log_line_is_read_and_one_without_an_id_has_one(take) -> None:
    inner = {"id": "", "startTime": 1.5, "call_type": "completion", "response_cost": None}
    (call,) = take(json.dumps({"standard_logging_object": inner}), "litellm").calls
    assert call.arrived_at == 1_500_000_000
    assert call.identity.startswith("litellm:")
    assert call.tokens_note == "no usage reported: input and output tokens are unknown"
