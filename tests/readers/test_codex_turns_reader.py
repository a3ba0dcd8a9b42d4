"""Spans of the turns of Codex: one line for what a turn used."""

import json

import pytest

from ingest.records import Call


def test_a_turn_is_a_line_that_is_not_itemised(take_file) -> None:
    taken = take_file("codex-turns.json", "codex-turns")
    assert taken.rejects == []
    assert taken.calls == [
        Call(
            identity="codex-turns:turn-1",
            operation="not_itemised",
            timing_source="tokens",
            timing_quality="unknown",
            model="gpt-x",
            conversation_id="thread-1",
            uncached_input_tokens=100,
            cache_read_tokens=900,
            visible_output_tokens=30,
            reasoning_tokens=20,
            reported_input_tokens=1000,
            reported_output_tokens=50,
            reported_total_tokens=1050,
            tokens_note="what a turn used, in one call or in several",
        )
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"attributes": 7}, "no JSON object but '7'"),
        ({"attributes": {"model": "m"}}, "no turn of Codex: no attribute codex.turn.token_usage"),
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbour(take, bad: object, reason: str) -> None:
    good = {"attributes": {"codex.turn.token_usage.input_tokens": 5}}
    taken = take(f"{json.dumps(good)}\n{json.dumps(bad)}", "codex-turns")
    assert [call.uncached_input_tokens for call in taken.calls] == [5]
    (reject,) = taken.rejects
    assert reject.position == "line 2"
    assert reason in reject.reason
