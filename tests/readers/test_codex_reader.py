"""Sessions of Codex: the last call's usage, the session's total, and copied history."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.records import Call


def test_a_count_is_a_call_unless_it_repeats_the_total(take_file) -> None:
    taken = take_file("codex.jsonl", "codex")
    first, second = taken.calls
    assert taken.rejects == []
    assert first == Call(
        identity=first.identity,
        timing_source="tokens",
        timing_quality="unknown",
        model="gpt-x",
        provider="openai",
        conversation_id="s1",
        ended_at=1790841604_000000000,
        uncached_input_tokens=40,
        cache_read_tokens=60,
        visible_output_tokens=10,
        reasoning_tokens=20,
        reported_input_tokens=100,
        reported_output_tokens=30,
        reported_total_tokens=130,
    )
    assert (second.uncached_input_tokens, second.cache_read_tokens) == (40, 100)
    assert (second.visible_output_tokens, second.tokens_note) == (10, None)


def test_history_that_a_sub_agent_begins_with_is_the_same_calls(
    take, take_file, fixtures: Path
) -> None:
    parent = (fixtures / "codex.jsonl").read_text().splitlines()
    meta = {"id": "s2", "timestamp": "2026-10-01T08:01:00Z", "forked_from_id": "s1"}
    own = count(last=(7, 0, 3, 0), total=(247, 160, 43, 20), at="2026-10-01T08:02:00Z")
    child = [json.dumps({"type": "session_meta", "payload": meta}), *parent, own]
    calls = take("\n".join(child), "codex").calls
    expected = [call.identity for call in take_file("codex.jsonl", "codex").calls]
    assert [call.identity for call in calls[:2]] == expected
    assert [call.conversation_id for call in calls] == [None, None, "s2"]
    assert len({call.identity for call in calls}) == 3


def count(
    *, last: Any = None, total: Any = None, at: Any = "2026-10-01T08:00:00Z", **info: Any
) -> str:
    names = (
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
        "total_tokens",
    )
    for key, usage in (("last_token_usage", last), ("total_token_usage", total)):
        if isinstance(usage, tuple):
            info[key] = dict(zip(names, usage, strict=False))
        elif usage is not None:
            info[key] = usage
    payload = {"type": "token_count", "info": info}
    return json.dumps({"timestamp": at, "type": "event_msg", "payload": payload})


def test_a_call_without_a_usage_of_its_own_is_what_the_total_grew_by(take) -> None:
    lines = [count(total=(100, 60, 30, 20, 130)), count(total=(240, 160, 40, 25, 280))]
    first, second = take("\n".join(lines), "codex").calls
    assert (first.uncached_input_tokens, first.cache_read_tokens) == (40, 60)
    assert (second.uncached_input_tokens, second.cache_read_tokens) == (40, 100)
    assert (second.visible_output_tokens, second.reasoning_tokens) == (5, 5)


def test_a_count_of_nothing_is_no_call(take) -> None:
    lines = [count(last=(0, 0, 0, 0, 0), total=(0, 0, 0, 0, 0)), count(last=(5, 0, 1, 0, 6))]
    (call,) = take("\n".join(lines), "codex").calls
    assert call.uncached_input_tokens == 5


def test_a_total_that_fell_begins_anew(take) -> None:
    lines = [count(total=(100, 0, 30, 0)), count(total=(20, 0, 5, 0))]
    _, second = take("\n".join(lines), "codex").calls
    assert (second.uncached_input_tokens, second.visible_output_tokens) == (20, 5)


def test_reasoning_is_a_part_of_output_though_the_total_says_otherwise(take) -> None:
    (call,) = take(count(last=(1_000, 250, 125, 75, 1_200)), "codex").calls
    assert (call.visible_output_tokens, call.reasoning_tokens) == (50, 75)
    assert call.reported_total_tokens == 1_200
    assert call.tokens_note == "total 1200 is not input 1000 + output 125"


def test_a_total_that_grew_by_more_than_the_call_is_noted(take) -> None:
    lines = [
        count(last=(10, 0, 1, 0), total=(10, 0, 1, 0)),
        count(last=(10, 0, 1, 0), total=(90, 0, 9, 0)),
    ]
    first, second = take("\n".join(lines), "codex").calls
    assert first.tokens_note is None
    assert second.tokens_note == "the session's total grew by 80 input and 8 output tokens"


def test_the_model_is_that_of_the_turn_or_of_the_count(take) -> None:
    turn = json.dumps({"type": "turn_context", "payload": {"model": "gpt-x"}})
    lines = [turn, count(last=(1, 0, 1, 0)), count(last=(2, 0, 1, 0), model="gpt-y")]
    assert [call.model for call in take("\n".join(lines), "codex").calls] == ["gpt-x", "gpt-y"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (count(), "neither last_token_usage nor total_token_usage"),
        (count(last=7), "last_token_usage '7' is no object"),
        (count(last=(1, 0, 1, 0), at=7), "timestamp '7' is no instant as text"),
        (count(last=(1, 0, 1, 0), at="noon"), "'noon' is no instant"),
        ("7", "no JSON object but '7'"),
        ("{oops", "no valid JSON"),
    ],
)
def test_a_bad_line_is_rejected_without_its_neighbour(take, bad: str, reason: str) -> None:
    taken = take(bad + "\n" + count(last=(1, 0, 1, 0)), "codex")
    assert [call.visible_output_tokens for call in taken.calls] == [1]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason
