"""Answers of the Gemini API: the last chunk counts, thoughts come on top."""

import json

import pytest

from ingest.records import Call


def test_every_field_of_an_answer_is_read(take_file) -> None:
    taken = take_file("gemini-responses.jsonl", "gemini-responses")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="gemini-responses:r1",
        timing_source="tokens",
        timing_quality="unknown",
        model="gemini-x",
        stream=False,
        finish_reason="STOP",
        ended_at=1790841602_500000000,
        uncached_input_tokens=30,
        cache_read_tokens=20,
        visible_output_tokens=8,
        reasoning_tokens=30,
        reported_input_tokens=50,
        reported_output_tokens=38,
        reported_total_tokens=88,
    )


def test_the_usage_of_the_last_chunk_replaces_that_of_the_first(take_file) -> None:
    _, streamed = take_file("gemini-responses.jsonl", "gemini-responses").calls
    assert (streamed.uncached_input_tokens, streamed.visible_output_tokens) == (74, 5)
    assert (streamed.stream, streamed.finish_reason) == (True, "MAX_TOKENS")
    assert (streamed.model, streamed.ended_at, streamed.tokens_note) == (None, None, None)


def test_an_answer_without_usage_has_unknown_tokens(take) -> None:
    chunk = {"candidates": [{"finishReason": "STOP"}]}
    record = {"method": "generateContentStream", "response": [chunk]}
    (call,) = take(json.dumps(record), "gemini-responses").calls
    assert (call.tokens_source, call.visible_output_tokens) == ("unknown", None)
    assert call.tokens_note == "no usage reported: input and output tokens are unknown"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"method": "countTokens", "response": {"totalTokens": 5}}, "method 'countTokens' is none"),
        ({"method": "generateContent", "response": [7]}, "no JSON object but '7'"),
        ({"method": "generateContent"}, "no JSON object but 'None'"),
        (
            {"method": "generateContent", "response": {"usageMetadata": 7}},
            "usageMetadata '7' is no object",
        ),
        (
            {"method": "generateContent", "response": {"createTime": "noon"}},
            "'noon' is no instant",
        ),
    ],
)
def test_a_bad_answer_is_rejected_without_its_neighbour(
    take, bad: dict[str, object], reason: str
) -> None:
    good = {"method": "generateContent", "response": {"responseId": "r"}}
    taken = take(json.dumps(bad) + "\n" + json.dumps(good), "gemini-responses")
    assert [call.identity for call in taken.calls] == ["gemini-responses:r"]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason
