"""Workloads of AIBrix: several requests a line, milliseconds from 0."""

import json

import pytest

from ingest.records import Call


def test_every_request_of_a_line_is_a_call(take_file) -> None:
    taken = take_file("aibrix.jsonl", "aibrix")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity=taken.calls[0].identity,
        timing_source="tokens",
        arrived_at=21_000_000,
        uncached_input_tokens=909,
        visible_output_tokens=22,
        reported_input_tokens=909,
        reported_output_tokens=22,
        prompt="Tell me",
    )
    counts = [(call.uncached_input_tokens, call.arrived_at) for call in taken.calls[1:]]
    assert counts == [(10, 4_334_000_000), (11, 4_334_000_000)]


@pytest.mark.parametrize(
    ("bad", "position", "reason"),
    [
        ({"timestamp": "x", "requests": []}, "line 1", "timestamp 'x' is no whole number"),
        ({"timestamp": 1, "requests": 7}, "line 1", "requests is no list"),
        ({"timestamp": 1, "requests": [7]}, "line 1, requests[0]", "no JSON object but '7'"),
        (
            {"timestamp": 1, "requests": [{"Output Length": 1}]},
            "line 1, requests[0]",
            "Prompt Length is missing",
        ),
    ],
)
def test_a_bad_request_is_rejected_without_its_neighbour(
    take, bad: dict[str, object], position: str, reason: str
) -> None:
    good = {"timestamp": 2, "requests": [{"Prompt Length": 3, "Output Length": 1}]}
    taken = take(json.dumps(bad) + "\n" + json.dumps(good), "aibrix")
    assert [call.uncached_input_tokens for call in taken.calls] == [3]
    assert [(each.position, each.reason) for each in taken.rejects] == [(position, reason)]
