"""Agent traces of LMCache: texts and times, no counts."""

import json

import pytest

from ingest.records import Call


def test_texts_and_microseconds_are_read_and_tokens_stay_unknown(take_file) -> None:
    taken = take_file("lmcache-agent.jsonl", "lmcache-agent")
    assert taken.rejects == []
    late, early = taken.calls
    assert late == Call(
        identity=late.identity,
        timing_source="tokens",
        tokens_source="unknown",
        conversation_id="s-1",
        arrived_at=1790841602_000001000,
        prompt="Hi",
        completion="Hello",
        tokens_note="no usage reported: input and output tokens are unknown",
    )
    assert (early.arrived_at, early.completion) == (1790841601_000000000, None)
    assert (early.tokens_note or "").endswith("unknown; the answer is empty")
    assert late.identity != early.identity


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"input": "a"}, "timestamp is missing"),
        ({"timestamp": 7}, "timestamp 7 is no time since 1970"),
        ({"timestamp": 1790841602000001, "input": 7}, "input '7' is no text"),
        (7, "no JSON object but '7'"),
    ],
)
def test_a_bad_line_is_rejected_without_its_neighbour(take, bad: object, reason: str) -> None:
    good = {"timestamp": 1790841602000001, "input": "a", "output": "b", "session_id": "s"}
    taken = take(f"{json.dumps(good)}\n{json.dumps(bad)}", "lmcache-agent")
    assert len(taken.calls) == 1
    (reject,) = taken.rejects
    assert reject.position == "line 2"
    assert reason in reject.reason
