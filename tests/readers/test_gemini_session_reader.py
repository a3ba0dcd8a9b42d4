"""Sessions of Gemini CLI: its answers are calls, thoughts come on top."""

import json
from typing import Any

import pytest

from ingest.records import Call


def test_every_field_of_an_answer_is_read(take_file) -> None:
    taken = take_file("gemini-cli.json", "gemini-cli")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="gemini-cli:m2",
        timing_source="tokens",
        timing_quality="unknown",
        model="gemini-x",
        conversation_id="s1",
        ended_at=1790841604_500000000,
        uncached_input_tokens=600,
        cache_read_tokens=400,
        visible_output_tokens=20,
        reasoning_tokens=50,
        reported_input_tokens=1_000,
        reported_output_tokens=70,
        reported_total_tokens=1_070,
    )


def test_an_answer_without_counts_is_a_call_of_unknown_tokens(take_file) -> None:
    _, second = take_file("gemini-cli.json", "gemini-cli").calls
    assert (second.identity, second.tokens_source) == ("gemini-cli:m3", "unknown")
    assert second.tokens_note == "no usage reported: input and output tokens are unknown"


def session(*messages: Any) -> str:
    return json.dumps({"sessionId": "s", "projectHash": "p", "messages": messages})


def test_answers_without_an_id_are_told_apart(take) -> None:
    first, second = take(session({"type": "gemini"}, {"type": "gemini"}), "gemini-cli").calls
    assert first.identity != second.identity


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"type": "gemini", "timestamp": 7}, "timestamp '7' is no instant as text"),
        ({"type": "gemini", "timestamp": "noon"}, "'noon' is no instant"),
        ({"type": "gemini", "tokens": 7}, "tokens '7' is no object"),
    ],
)
def test_a_bad_message_is_rejected_without_its_neighbour(take, bad: object, reason: str) -> None:
    taken = take(session(bad, {"type": "gemini", "id": "good"}), "gemini-cli")
    assert [call.identity for call in taken.calls] == ["gemini-cli:good"]
    (reject,) = taken.rejects
    assert reject.position == "line 1, messages[0]"
    assert reason in reject.reason


def test_what_is_no_session_is_rejected(take) -> None:
    taken = take('{"messages": 7}\n' + session(), "gemini-cli")
    assert [each.reason for each in taken.rejects] == ["no session: no list of messages"]
