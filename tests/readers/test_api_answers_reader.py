"""Answers of OpenAI's and Anthropic's APIs, in each wrapping in which logs keep them."""

import json
from typing import Any

import pytest

from ingest.readers import api_events, recognise
from ingest.records import Call

AT = 1790841600 * 10**9
CREATED = "begun in the second of `created`"


def counts(call: Call) -> tuple[int | None, ...]:
    return (
        call.uncached_input_tokens,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.visible_output_tokens,
        call.reasoning_tokens,
    )


def test_a_request_beside_its_answer_is_read_with_every_field(take_file) -> None:
    taken = take_file("openai.jsonl", "openai")
    assert (len(taken.calls), taken.rejects) == (5, [])
    assert taken.calls[0] == Call(
        identity="openai:chatcmpl-1",
        timing_source="span",
        model="gpt-x-2026",
        model_requested="gpt-x",
        response_id="chatcmpl-1",
        user_id="u-1",
        arrived_at=AT + 250_000_000,
        ended_at=AT + 1_750_000_000,
        uncached_input_tokens=100,
        cache_read_tokens=900,
        visible_output_tokens=30,
        reasoning_tokens=20,
        reported_input_tokens=1000,
        reported_output_tokens=50,
        reported_total_tokens=1050,
        temperature=0.5,
        max_tokens=100,
        n_choices=2,
        finish_reason="stop,length",
        prompt='[{"content":"Hi","role":"user"}]',
        completion='[{"content":"A"},{"content":"B"}]',
    )


def test_an_answer_alone_is_placed_by_the_second_in_which_it_was_begun(take_file) -> None:
    _, chat, response, *_ = take_file("openai.jsonl", "openai").calls
    assert (chat.arrived_at, chat.ended_at, chat.timing_source) == (AT + 2 * 10**9, None, "tokens")
    assert chat.tokens_note == CREATED
    assert counts(response) == (13, 0, None, 0, 10)
    assert (response.finish_reason, response.max_tokens) == ("max_output_tokens", 10)


def test_an_embedding_has_no_output_and_an_error_no_tokens(take_file) -> None:
    *_, embedding, refused = take_file("openai.jsonl", "openai").calls
    assert (embedding.operation, *counts(embedding)) == ("embeddings", 7, None, None, 0, None)
    assert (refused.status, refused.http_status) == ("error", 429)
    assert (refused.error_type, refused.model_requested) == ("rate_limit_exceeded", "gpt-x")
    assert counts(refused) == (None,) * 5
    assert refused.tokens_note == (
        "error, HTTP 429 without usage: input and output tokens are unknown"
    )


def test_a_line_of_a_batch_is_the_call_that_its_answer_is(take_file) -> None:
    taken = take_file("openai-batch.jsonl", "openai")
    assert taken.rejects == []
    done, failed, expired = taken.calls
    assert (done.identity, counts(done)) == ("openai:chatcmpl-1", (100, 900, None, 30, 20))
    assert (failed.status, failed.http_status, failed.error_type) == ("error", 500, "server_error")
    assert (expired.status, expired.error_type) == ("error", "batch_expired")


def test_the_usage_of_a_stream_is_that_of_its_last_event(take_file) -> None:
    (openai,) = take_file("openai-stream.txt", "openai").calls
    assert (openai.identity, counts(openai)) == ("openai:chatcmpl-7", (12, None, None, 2, None))
    assert (openai.stream, openai.finish_reason) == (True, "stop")
    (anthropic,) = take_file("anthropic-stream.txt", "anthropic").calls
    assert anthropic.identity == "claude-code:msg_5"
    assert counts(anthropic) == (19, 39_000, None, 50, None)
    assert (anthropic.stream, anthropic.finish_reason) == (True, "end_turn")


def test_input_of_anthropic_leaves_the_cache_out_and_thoughts_are_output(take_file) -> None:
    taken = take_file("anthropic.jsonl", "anthropic")
    assert taken.rejects == []
    pair, alone, batch, errored, expired, streamed = taken.calls
    for call in (pair, alone, batch, streamed):
        assert counts(call) == (19, 39_000, 100, 20, 30)
    assert (pair.arrived_at, alone.arrived_at) == (AT + 500_000_000, None)
    assert (pair.model, pair.model_requested, pair.max_tokens) == (
        "model-x",
        "model-x-alias",
        100,
    )
    assert (errored.status, errored.error_type) == ("error", "invalid_request_error")
    assert (expired.status, streamed.stream) == ("timeout", True)


def test_a_stream_without_usage_is_estimated_and_never_0(take) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    lines = [{**chunk, "choices": [{"delta": {"content": text}}]} for text in ("a", "b", "c")]
    (call,) = take("\n".join(map(json.dumps, lines)), "openai").calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (None, 3)
    assert call.tokens_source == "estimated"
    assert "stream without usage; ask for stream_options.include_usage" in (call.tokens_note or "")


def test_streams_in_one_file_are_told_apart_and_the_oldest_is_given_up(
    take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_events, "MAX_OPEN_ANSWERS", 1)
    chunk = {"object": "chat.completion.chunk", "choices": []}
    chunks = [
        {**chunk, "id": name, "usage": {"prompt_tokens": count}}
        for count, name in enumerate("aabc", 1)
    ]
    calls = take("\n".join(map(json.dumps, chunks)), "openai").calls
    assert [(call.identity, call.uncached_input_tokens) for call in calls] == [
        ("openai:a", 2),
        ("openai:b", 3),
        ("openai:c", 4),
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4}, (6, 4, None, None, None)),
        ({"input_tokens": 10, "output_tokens": 2}, (10, None, None, 2, None)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"created_cache_tokens": 3}},
            (7, None, 3, None, None),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 200, "total_tokens": 900}
            | {"completion_tokens_details": {"reasoning_tokens": 600}},
            (100, None, None, 200, 600),
        ),
    ],
)
def test_counts_of_servers_that_speak_alike_are_told_apart_by_arithmetic(
    take, usage: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    (call,) = take(json.dumps({"choices": [], "usage": usage}), "openai").calls
    assert counts(call) == expected


def test_a_cost_in_the_usage_is_kept(take) -> None:
    (call,) = take('{"choices": [], "usage": {"cost": 0.0042}}', "openai").calls
    assert (str(call.reported_cost), call.reported_currency) == ("0.004200000", "USD")


def test_a_stream_inside_of_a_body_is_its_answer(take, fixtures) -> None:
    body = (fixtures / "anthropic-stream.txt").read_text()
    record = {"status": 200, "headers": {}, "body": body}
    (call,) = take(json.dumps(record), "anthropic").calls
    assert (call.identity, call.http_status) == ("claude-code:msg_5", 200)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"zebra": 1}, "no answer of a model: none of choices"),
        ({"choices": [], "usage": 7}, "usage '7' is no object"),
        ({"choices": [7]}, "no JSON object but '7'"),
        ({"choices": [], "created": "noon"}, "'noon' is no instant"),
        ({"status": 200, "body": "<html>"}, "a body that is no answer: '<html>'"),
        ({"custom_id": "a", "result": {"type": "odd"}}, "a result of type 'odd' without a message"),
    ],
)
def test_a_bad_answer_is_rejected_without_its_neighbour(take, bad: Any, reason: str) -> None:
    taken = take(f'{{"choices": [], "id": "good"}}\n{json.dumps(bad)}', "openai")
    assert [call.identity for call in taken.calls] == ["openai:good"]
    (reject,) = taken.rejects
    assert reject.position == "line 2"
    assert reason in reject.reason


def test_a_broken_event_is_rejected_and_the_stream_goes_on(take) -> None:
    stream = 'data: {broken\n\ndata: {"id":"a","object":"chat.completion.chunk","choices":[]}\n\n'
    taken = take(stream, "openai")
    assert [call.identity for call in taken.calls] == ["openai:a"]
    assert [reject.position for reject in taken.rejects] == ["line 1"]


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        (504, "server_error", "timeout"),
        (500, "TimeoutError", "timeout"),
        (499, "x", "cancelled"),
        (500, "x", "error"),
    ],
)
def test_a_failure_is_told_by_its_status_and_its_words(
    take, code: int, kind: str, status: str
) -> None:
    record = {"request": {}, "response": {"status_code": code, "body": {"error": {"type": kind}}}}
    (call,) = take(json.dumps(record), "openai").calls
    assert (call.status, call.http_status, call.error_type) == (status, code, kind)


def test_a_log_that_names_its_method_is_read(source_of) -> None:
    record = {"method": "POST", "request": {}, "response": {"choices": [], "usage": {}}}
    assert recognise(source_of(json.dumps(record).encode())).name == "openai"
