"""Logs of Inspect AI: model events are calls, their sums are not."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.readers import recognise
from ingest.records import Call


def test_every_field_of_a_model_event_is_read(take_file) -> None:
    taken = take_file("inspect-ai.json", "inspect-ai")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="inspect-ai:s1:1",
        timing_source="span",
        feature="popularity",
        model="gpt-x-2026",
        model_requested="openai/gpt-x",
        finish_reason="stop",
        arrived_at=1790856000_250000000,
        ended_at=1790856001_750000000,
        uncached_input_tokens=4,
        cache_read_tokens=60,
        visible_output_tokens=5,
        reasoning_tokens=4,
        reported_input_tokens=64,
        reported_output_tokens=9,
        reported_total_tokens=73,
        temperature=0.5,
        max_tokens=100,
    )


def test_a_call_that_failed_has_unknown_tokens_and_an_answer_from_the_cache_is_no_call(
    take_file,
) -> None:
    _, failed = take_file("inspect-ai.json", "inspect-ai").calls
    assert (failed.identity, failed.status) == ("inspect-ai:s1:3", "error")
    assert (failed.arrived_at, failed.ended_at) == (1790856002_000000000, None)
    assert failed.tokens_note == "error without usage: input and output tokens are unknown"


def test_a_sample_by_itself_is_the_same_calls(take, take_file, source_of, fixtures: Path) -> None:
    log = json.loads((fixtures / "inspect-ai.json").read_text())
    sample = json.dumps(log["samples"][0])
    assert recognise(source_of(sample.encode())).name == "inspect-ai"
    identities = [call.identity for call in take(sample, "inspect-ai").calls]
    expected = take_file("inspect-ai.json", "inspect-ai").calls
    assert identities == [call.identity for call in expected]


def log_of(*events: Any) -> str:
    return json.dumps({"eval": {}, "plan": {}, "status": "x", "samples": [{"events": events}]})


def test_an_event_is_known_by_its_own_id_and_one_that_is_not_over_is_cancelled(take) -> None:
    (call,) = take(log_of({"event": "model", "uuid": "u", "pending": True}), "inspect-ai").calls
    assert (call.identity, call.status) == ("inspect-ai:u", "cancelled")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "no JSON object but '7'"),
        ({"event": "model", "timestamp": 7}, "timestamp '7' is no instant as text"),
        ({"event": "model", "completed": "noon"}, "'noon' is no instant"),
        ({"event": "model", "output": 7}, "output '7' is no object"),
        ({"event": "model", "output": {"usage": 7}}, "usage '7' is no object"),
        ({"event": "model", "config": {"seed": "x"}}, "seed 'x' is no whole number"),
    ],
)
def test_a_bad_event_is_rejected_without_its_neighbour(take, bad: object, reason: str) -> None:
    taken = take(log_of(bad, {"event": "model", "uuid": "good"}), "inspect-ai")
    assert [call.identity for call in taken.calls] == ["inspect-ai:good"]
    (reject,) = taken.rejects
    assert reject.position == "line 1, samples[0], events[0]"
    assert reason in reject.reason


def test_what_is_no_sample_is_rejected(take) -> None:
    lines = '{"eval": {}, "samples": [7, {"events": 7}]}\n{"eval": {}, "samples": 7}'
    taken = take(lines, "inspect-ai")
    reasons = [(each.position, each.reason) for each in taken.rejects]
    assert reasons == [
        ("line 1, samples[0]", "no sample: no list of events"),
        ("line 1, samples[1]", "no sample: no list of events"),
        ("line 2, samples", "no sample: no list of events"),
    ]
