"""Answers of llama.cpp's server: processed and cached prompt, and phases before `created`."""

import json
from typing import Any

import pytest

from ingest.records import Call

SECOND = 1790000002 * 10**9


def test_every_field_of_an_answer_is_read(take_file) -> None:
    taken = take_file("llama-cpp.jsonl", "llama-cpp")
    assert taken.rejects == []
    assert taken.calls[0] == Call(
        identity="llama-cpp:chatcmpl-1",
        timing_source="engine",
        model="smol.gguf",
        finish_reason="stop",
        started_at=SECOND - 1_250_500_000,
        first_token_at=SECOND - 1_000_000_000,
        ended_at=SECOND,
        uncached_input_tokens=40,
        cache_read_tokens=60,
        visible_output_tokens=20,
        reported_input_tokens=100,
        reported_output_tokens=20,
        reported_total_tokens=120,
        tokens_note="phases end in the second of `created`",
    )


def test_an_answer_without_an_instant_keeps_its_phases_in_words(take_file) -> None:
    _, native = take_file("llama-cpp.jsonl", "llama-cpp").calls
    assert (native.operation, native.finish_reason) == ("text_completion", "limit")
    assert (native.started_at, native.ended_at, native.timing_quality) == (None, None, "unknown")
    assert native.tokens_note == (
        "no `created`: prefill of 12.5 ms and decode of 70 ms have no place in time"
    )


def test_what_was_not_processed_of_a_prompt_came_from_the_cache(take_file) -> None:
    _, native = take_file("llama-cpp.jsonl", "llama-cpp").calls
    assert (native.uncached_input_tokens, native.cache_read_tokens) == (10, 20)
    assert native.visible_output_tokens == 7


def answer(**changed: Any) -> str:
    record = {
        "id": "c",
        "object": "chat.completion",
        "created": 1790000002,
        "timings": {"prompt_n": 4, "predicted_n": 2},
        **changed,
    }
    return json.dumps(record)


def test_a_prompt_of_which_only_the_processed_part_is_told_has_an_unknown_cache(take) -> None:
    (call,) = take(answer(), "llama-cpp").calls
    assert (call.uncached_input_tokens, call.cache_read_tokens) == (4, None)
    assert (call.started_at, call.ended_at) == (None, SECOND)


def test_of_the_chunks_of_a_stream_the_last_timings_count(take) -> None:
    chunk = "chat.completion.chunk"
    lines = [
        answer(object=chunk, timings=None),
        answer(object=chunk, timings={"prompt_n": 4, "predicted_n": 1}),
        answer(object=chunk, timings={"prompt_n": 4, "predicted_n": 9}),
        json.dumps({"content": "a", "stop": False, "timings": {"prompt_n": 1, "predicted_n": 1}}),
    ]
    taken = take("\n".join(lines), "llama-cpp")
    assert taken.rejects == []
    ((output_tokens, is_stream),) = [(c.visible_output_tokens, c.stream) for c in taken.calls]
    assert (output_tokens, is_stream) == (9, True)


def test_counts_that_do_not_agree_are_noted(take) -> None:
    (call,) = take(answer(usage={"prompt_tokens": 3, "completion_tokens": 5}), "llama-cpp").calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (4, 2)
    assert call.tokens_note == (
        "usage tells 3 input tokens, timings 4; usage tells 5 output tokens, timings 2; "
        "phases end in the second of `created`"
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (answer(timings=None), "an answer without timings"),
        (answer(created="noon"), "created 'noon' is no whole number of seconds"),
        (answer(timings={"prompt_ms": "x"}), "prompt_ms 'x' is no number of milliseconds"),
        ("7", "no JSON object but '7'"),
        ("{oops", "no valid JSON"),
    ],
)
def test_a_bad_answer_is_rejected_without_its_neighbour(take, bad: str, reason: str) -> None:
    taken = take(bad + "\n" + answer(id="good"), "llama-cpp")
    assert [call.identity for call in taken.calls] == ["llama-cpp:good"]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason
