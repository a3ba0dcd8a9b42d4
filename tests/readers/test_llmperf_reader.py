"""Responses of LLMPerf: counts, and durations without a place in time."""

import json

import pytest

from ingest.records import Call


def test_a_response_has_its_counts_and_its_durations_in_words(take_file) -> None:
    taken = take_file("llmperf.json", "llmperf")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity=taken.calls[0].identity,
        timing_source="tokens",
        timing_quality="unknown",
        uncached_input_tokens=550,
        visible_output_tokens=150,
        reported_input_tokens=550,
        reported_output_tokens=150,
        reported_total_tokens=700,
        tokens_note="no instant: the first token after 0.25 s, the answer after 0.75 s",
    )


def test_a_failure_has_the_counts_that_say_something(take_file) -> None:
    _, failed = take_file("llmperf.json", "llmperf").calls
    assert (failed.status, failed.http_status) == ("error", 429)
    assert (failed.uncached_input_tokens, failed.visible_output_tokens) == (550, None)
    assert failed.tokens_note == "error, HTTP 429 without usage: output tokens are unknown"


def test_the_same_response_twice_is_two_calls(take) -> None:
    response = {"number_input_tokens": 5, "number_output_tokens": 2, "error_code": None}
    first, second = take(json.dumps([response, response]), "llmperf").calls
    assert first.identity != second.identity


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"a": 1}, "no response of LLMPerf"),
        ({"error_code": "x"}, "error_code 'x' is no whole number"),
        ({"error_code": None, "ttft_s": "x"}, "ttft_s 'x' is no number of seconds"),
        (7, "no JSON object but '7'"),
    ],
)
def test_a_bad_response_is_rejected_without_its_neighbour(take, bad: object, reason: str) -> None:
    good = {"number_input_tokens": 5, "number_output_tokens": 2, "error_code": None}
    taken = take(json.dumps([bad, good]), "llmperf")
    assert [call.visible_output_tokens for call in taken.calls] == [2]
    (reject,) = taken.rejects
    assert reject.position == "line 1, [0]"
    assert reason in reject.reason
