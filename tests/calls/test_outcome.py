"""How a call ended, and what it asked for."""

from typing import Any

import pytest

from ingest.records import Call, SpanEvent

NO_USAGE = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}


def exception(kind: str, message: str) -> SpanEvent:
    """An exception event as SDKs record it."""
    return SpanEvent(
        name="exception",
        attributes={"exception.type": kind, "exception.message": message},
    )


@pytest.mark.parametrize(
    ("fields", "status", "http_status"),
    [
        ({}, "ok", None),
        ({"status": "ok"}, "ok", None),
        ({"attributes": {"http.response.status_code": 200}}, "ok", 200),
        ({"status": "error"}, "error", None),
        ({"attributes": {"http.response.status_code": "503"}}, "error", 503),
        ({"attributes": {"http.response.status_code": 504}}, "timeout", 504),
        ({"attributes": {"http.response.status_code": 499}}, "cancelled", 499),
        ({"attributes": {"error.type": "429"}}, "error", 429),
        ({"attributes": {"error.type": "openai.APITimeoutError"}}, "timeout", None),
        ({"attributes": {"error.type": "asyncio.CancelledError"}}, "cancelled", None),
        ({"status": "error", "status_message": "context deadline exceeded"}, "timeout", None),
        ({"status": "error", "status_message": "context canceled"}, "cancelled", None),
        ({"attributes": {"gen_ai.response.finish_reasons": ["abort"]}}, "cancelled", None),
        ({"status_message": "timeout was 30 s"}, "ok", None),
        (
            {"status": "error", "events": [exception("NotFound", "Error code: 404 - no model")]},
            "error",
            404,
        ),
        ({"events": [exception("Retried", "Error code: 500")]}, "ok", None),
    ],
)
def test_status_follows_from_the_evidence(
    fields: dict[str, Any], status: str, http_status: int | None, chat: Any, one_call: Any
) -> None:
    found: Call = one_call(chat("c", **fields))
    assert (found.status, found.http_status) == (status, http_status)


def test_the_error_type_comes_from_the_exception_where_the_span_has_none(
    chat: Any, one_call: Any
) -> None:
    found: Call = one_call(chat("c", status="error", events=[exception("acme.Overloaded", "busy")]))
    assert found.error_type == "acme.Overloaded"


def test_the_http_status_of_the_request_below_is_the_call_s(
    span: Any, chat: Any, one_call: Any
) -> None:
    post = {"http.request.method": "POST", "http.response.status_code": 200}
    found: Call = one_call(chat("c"), span("http", "c", kind="client", attributes=post))
    assert (found.http_status, found.status, found.pairing) == (200, "ok", "single")


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"gen_ai.response.finish_reasons": ["stop"]}, "stop"),
        ({"gen_ai.response.finish_reasons": '["stop", "stop"]'}, "stop"),
        ({"gen_ai.response.finish_reasons": ["stop", "length"]}, "stop,length"),
        ({"gen_ai.completion.0.finish_reason": "tool_calls"}, "tool_calls"),
        ({"ai.response.finishReason": "stop"}, "stop"),
        ({"output.value": '{"choices": [{"finish_reason": "length"}]}'}, "length"),
        ({"gen_ai.output.messages": '[{"role": "assistant", "finish_reason": "stop"}]'}, "stop"),
    ],
)
def test_finish_reasons_are_read_wherever_they_stand(
    attributes: dict[str, Any], reason: str, chat: Any, one_call: Any
) -> None:
    assert one_call(chat("c", attributes=attributes)).finish_reason == reason


def test_a_stream_without_usage_is_unknown_and_says_what_to_ask_for(
    chat: Any, one_call: Any
) -> None:
    found: Call = one_call(chat("c", attributes={**NO_USAGE, "gen_ai.request.stream": True}))
    assert (found.uncached_input_tokens, found.visible_output_tokens) == (None, None)
    assert found.tokens_source == "unknown"
    assert found.tokens_note == "stream without usage; ask for stream_options.include_usage"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        (
            {"attributes": {"http.response.status_code": 504}},
            "timeout, HTTP 504 without usage: input and output tokens are unknown",
        ),
        (
            {"status": "error", "status_message": "deadline exceeded"},
            "timeout without usage: input and output tokens are unknown",
        ),
        (
            {"status": "error", "attributes": {"gen_ai.usage.input_tokens": 7}},
            "error without usage: output tokens are unknown",
        ),
        ({}, "no usage reported: input and output tokens are unknown"),
    ],
)
def test_a_call_without_usage_says_why_its_tokens_are_unknown(
    chat: Any, one_call: Any, fields: dict[str, Any], note: str
) -> None:
    attributes = {**NO_USAGE, **fields.get("attributes", {})}
    found: Call = one_call(chat("c", **{**fields, "attributes": attributes}))
    assert found.tokens_note == note


def test_an_aborted_stream_has_the_tokens_of_its_chunks_and_its_time(
    chat: Any, one_call: Any, t0: int
) -> None:
    chunks = [
        SpanEvent(name="llm.content.completion.chunk", at=t0 + (index + 1) * 10_000_000)
        for index in range(300)
    ]
    found: Call = one_call(
        chat(
            "c",
            None,
            (0, 4),
            attributes=NO_USAGE,
            events=chunks,
            status="error",
            status_message="client disconnected",
        )
    )
    assert (found.visible_output_tokens, found.tokens_source) == (300, "estimated")
    assert found.tokens_note == (
        "at least 300 output tokens: one for each streamed chunk; "
        "cancelled without usage: input tokens are unknown"
    )
    assert found.status == "cancelled"
    assert (found.timing_source, found.timing_quality) == ("stream", "ok")
    assert found.first_token_at == t0 + 10_000_000


def test_a_refused_call_used_no_token_and_no_time_in_service(
    chat: Any, one_call: Any, t0: int
) -> None:
    found: Call = one_call(
        chat("c", None, (0, 1), attributes={**NO_USAGE, "http.response.status_code": 429})
    )
    assert (found.uncached_input_tokens, found.visible_output_tokens) == (0, 0)
    assert found.tokens_note == "refused with HTTP 429: no token was processed"
    assert (found.arrived_at, found.started_at, found.first_token_at) == (t0, None, None)
    assert found.ended_at == t0 + 1_000_000_000
    assert found.timing_quality == "ok"


def test_impossible_times_keep_the_row(chat: Any, one_call: Any, t0: int) -> None:
    found: Call = one_call(chat("c", None, (1, 0.96)))
    assert (found.timing_quality, found.uncached_input_tokens) == ("invalid", 1000)
    assert (found.arrived_at, found.ended_at) == (t0 + 1_000_000_000, t0 + 960_000_000)


def test_a_call_without_times_has_only_tokens(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", None, (None, None)))
    assert (found.timing_source, found.timing_quality) == ("tokens", "unknown")


def test_the_request_is_read_from_attributes_and_invocation_parameters(
    chat: Any, one_call: Any
) -> None:
    semantic: Call = one_call(
        chat(
            "c",
            attributes={
                "gen_ai.request.max_tokens": "256",
                "gen_ai.request.temperature": 0,
                "gen_ai.request.top_p": 0.9,
                "gen_ai.request.stream": "true",
                "gen_ai.request.stop_sequences": ["\n", "END"],
                "gen_ai.output.type": "json",
                "gen_ai.request.choice.count": 4,
            },
        )
    )
    assert (semantic.max_tokens, semantic.temperature, semantic.top_p) == (256, 0.0, 0.9)
    assert (semantic.stream, semantic.stop) == (True, '["\\n","END"]')
    assert (semantic.response_format, semantic.n_choices) == ("json", 4)
    inference: Call = one_call(
        chat(
            "c",
            attributes={
                "llm.invocation_parameters": (
                    '{"max_completion_tokens": 256, "temperature": 0.5, "stream": false,'
                    ' "response_format": {"type": "json_object"}}'
                )
            },
        )
    )
    assert (inference.max_tokens, inference.temperature, inference.stream) == (256, 0.5, False)
    assert inference.response_format == '{"type":"json_object"}'


def test_choices_share_one_prompt(chat: Any, one_call: Any) -> None:
    found: Call = one_call(
        chat(
            "c",
            attributes={
                "gen_ai.request.choice.count": 4,
                "gen_ai.usage.input_tokens": 500,
                "gen_ai.usage.output_tokens": 400,
            },
        )
    )
    assert (found.uncached_input_tokens, found.visible_output_tokens, found.n_choices) == (
        500,
        400,
        4,
    )
