"""Sessions of Claude Code: one call in several lines, sub-agents, exclusive cache counts."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ingest.records import Call


def test_a_call_in_several_lines_has_the_usage_of_the_last(take_file) -> None:
    taken = take_file("claude-code.jsonl", "claude-code")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="claude-code:msg_1",
        timing_source="tokens",
        timing_quality="unknown",
        model="claude-x",
        conversation_id="s1",
        ended_at=1790841605_250000000,
        uncached_input_tokens=3,
        cache_read_tokens=100,
        cache_write_tokens=40,
        visible_output_tokens=90,
        reported_input_tokens=3,
        reported_output_tokens=90,
        finish_reason="tool_use",
    )


def test_a_sub_agent_is_counted_by_its_own_lines_and_not_by_its_result(take_file) -> None:
    _, agent = take_file("claude-code.jsonl", "claude-code").calls
    assert (agent.identity, agent.model, agent.conversation_id) == (
        "claude-code:msg_2",
        "claude-y",
        "s1",
    )
    assert (agent.uncached_input_tokens, agent.cache_write_tokens) == (20, 7)
    assert (agent.reported_cost, agent.reported_currency) == (Decimal("0.0125"), "USD")


def line(**changed: Any) -> str:
    message = {
        "id": "m1",
        "role": "assistant",
        "model": "claude-x",
        "usage": {"input_tokens": 5, "output_tokens": 2},
        **changed.pop("message", {}),
    }
    record = {"sessionId": "s", "timestamp": "2026-10-01T08:00:00Z", "message": message}
    return json.dumps({**record, **changed})


def test_a_later_line_without_usage_leaves_the_counts_as_they_are(take) -> None:
    (call,) = take(line() + "\n" + line(message={"usage": None}), "claude-code").calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (5, 2)


def test_what_the_client_wrote_itself_is_no_call_but_a_failure_is(take) -> None:
    made_up = {"id": "a", "model": "<synthetic>", "usage": {"input_tokens": 0, "output_tokens": 0}}
    failed = line(isApiErrorMessage=True, error="rate_limit", message={**made_up, "id": "b"})
    (call,) = take(line(message=made_up) + "\n" + failed, "claude-code").calls
    assert (call.status, call.error_type, call.model) == ("error", "rate_limit", None)
    assert (call.uncached_input_tokens, call.tokens_source) == (None, "unknown")
    assert call.tokens_note == "error without usage: input and output tokens are unknown"


def test_a_cache_count_as_large_as_input_stays_outside_of_it(take) -> None:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 10, "output_tokens": 1}
    (call,) = take(line(message={"usage": usage}), "claude-code").calls
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (100, 10)


def test_an_answer_without_usage_is_a_call_of_unknown_tokens(take) -> None:
    (call,) = take(line(message={"usage": None}, timestamp=None), "claude-code").calls
    assert (call.tokens_source, call.visible_output_tokens, call.ended_at) == (
        "unknown",
        None,
        None,
    )
    assert call.tokens_note == "no usage reported: input and output tokens are unknown"


def test_answers_without_an_id_are_told_apart_by_what_they_say(take) -> None:
    anonymous = line(message={"id": None})
    calls = take(anonymous + "\n" + anonymous, "claude-code").calls
    assert len({call.identity for call in calls}) == 2
    again = take(anonymous + "\n" + anonymous, "claude-code").calls
    assert [call.identity for call in again] == [call.identity for call in calls]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"type": "assistant", "sessionId": "s"}', "an assistant's line without a message"),
        (line(timestamp="noon"), "'noon' is no instant"),
        (line(timestamp=7), "timestamp '7' is no instant as text"),
        (line(message={"usage": 7}), "usage '7' is no object"),
        (line(costUSD="dear"), "reported_cost 'dear' is no amount"),
        ("7", "no JSON object but '7'"),
        ("{oops", "no valid JSON"),
    ],
)
def test_a_bad_line_is_rejected_without_its_neighbour(take, bad: str, reason: str) -> None:
    taken = take(bad + "\n" + line(), "claude-code")
    assert [call.identity for call in taken.calls] == ["claude-code:m1"]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason
