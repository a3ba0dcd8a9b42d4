"""Streams of Claude Code: placeholders of output, and results that tell what a run used."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ingest.records import Call


def test_the_only_call_of_a_run_has_what_its_result_tells(take_file) -> None:
    taken = take_file("claude-code-stream.jsonl", "claude-code-stream")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="claude-code:msg_1",
        timing_source="tokens",
        timing_quality="unknown",
        model="claude-x",
        conversation_id="s1",
        uncached_input_tokens=3,
        cache_read_tokens=100,
        cache_write_tokens=40,
        visible_output_tokens=5,
        reported_input_tokens=3,
        reported_output_tokens=5,
        reported_cost=Decimal("0.01"),
        reported_currency="USD",
    )


def test_what_several_calls_leave_of_a_result_is_a_line_that_is_not_itemised(take_file) -> None:
    _, second, third, rest, hidden = take_file(
        "claude-code-stream.jsonl", "claude-code-stream"
    ).calls
    assert (second.uncached_input_tokens, second.visible_output_tokens) == (7, None)
    assert second.tokens_note == "no usage reported: output tokens are unknown"
    assert (third.uncached_input_tokens, third.visible_output_tokens) == (20, 9)
    assert (rest.identity, rest.operation) == ("claude-code-stream:r2:claude-x", "not_itemised")
    assert (rest.uncached_input_tokens, rest.visible_output_tokens) == (0, 20)
    assert (rest.reported_cost, rest.cache_read_tokens) == (Decimal("0.02"), 0)
    assert rest.tokens_note == "not itemised: what a run used beyond its 2 calls"
    assert (hidden.model, hidden.uncached_input_tokens, hidden.reported_cost) == (
        "claude-y",
        50,
        Decimal("0.02"),
    )


def test_calls_and_lines_add_up_to_the_last_result(take_file) -> None:
    calls = take_file("claude-code-stream.jsonl", "claude-code-stream").calls
    assert sum(call.uncached_input_tokens or 0 for call in calls) == 30 + 50
    assert sum(call.visible_output_tokens or 0 for call in calls) == 34 + 2
    assert sum(call.reported_cost or 0 for call in calls) == Decimal("0.05")


def test_a_recording_of_the_sdk_is_what_it_received(take, take_file, fixtures: Path) -> None:
    lines = (fixtures / "claude-code-stream.jsonl").read_text().splitlines()
    received = [{"direction": "recv", "message": json.loads(line)} for line in lines]
    sent = {"direction": "send", "message": {"type": "assistant"}}
    recording = {"metadata": {"cli_version": "1"}, "messages": [sent, *received]}
    taken = take(json.dumps(recording), "claude-code-stream")
    assert taken == take_file("claude-code-stream.jsonl", "claude-code-stream")


def answer(**message: Any) -> str:
    usage = {"input_tokens": 5, "output_tokens": 1}
    record = {"id": "m", "model": "claude-x", "stop_reason": None, "usage": usage, **message}
    return json.dumps({"type": "assistant", "session_id": "s", "message": record})


def test_without_a_result_the_output_is_unknown(take) -> None:
    (call,) = take(answer() + "\n" + answer(), "claude-code-stream").calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (5, None)


def test_what_the_client_wrote_itself_is_no_call(take) -> None:
    lines = [answer(model="<synthetic>", id="a"), answer()]
    calls = take("\n".join(lines), "claude-code-stream").calls
    assert [call.identity for call in calls] == ["claude-code:m"]


def test_a_result_that_fell_began_anew(take) -> None:
    def result(uuid: str, output_tokens: int) -> str:
        models = {"claude-x": {"inputTokens": 0, "outputTokens": output_tokens}}
        return json.dumps({"type": "result", "uuid": uuid, "session_id": "s", "modelUsage": models})

    calls = take(result("a", 9) + "\n" + result("b", 4), "claude-code-stream").calls
    assert [call.visible_output_tokens for call in calls] == [9, 4]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"type": "assistant"}', "an assistant's line without a message"),
        (answer(usage=7), "usage '7' is no object"),
        ('{"type": "result"}', "a result without modelUsage"),
        ('{"type": "result", "modelUsage": 7}', "no JSON object but '7'"),
        ('{"type": "result", "modelUsage": {"m": {"costUSD": "x"}}}', "reported_cost 'x' is no"),
        ("7", "no JSON object but '7'"),
    ],
)
def test_a_bad_line_is_rejected_without_its_neighbour(take, bad: str, reason: str) -> None:
    taken = take(bad + "\n" + answer(), "claude-code-stream")
    assert [call.identity for call in taken.calls] == ["claude-code:m"]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason


def test_what_is_no_message_of_a_recording_is_rejected(take) -> None:
    recording = {"metadata": {}, "messages": [7, {"direction": "recv", "message": 8}]}
    rejects = take(json.dumps(recording), "claude-code-stream").rejects
    assert [(reject.position, reject.reason) for reject in rejects] == [
        ("line 1, messages[0]", "no JSON object but '7'"),
        ("line 1, messages[1]", "no JSON object but '8'"),
    ]
