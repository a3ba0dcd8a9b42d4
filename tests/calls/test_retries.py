"""Attempts of one operation: under a wrapper, beside each other, and while the engine goes on."""

from typing import Any

import pytest

NO_USAGE = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
FAILED = {"status": "error", "status_message": "overloaded"}


def text(words: str) -> dict[str, str]:
    """The attribute that carries the prompt `words`."""
    return {"gen_ai.input.messages": f'[{{"role": "user", "content": "{words}"}}]'}


def numbers(calls: Any) -> dict[str, int | None]:
    """Span id to attempt number."""
    return {call.span_id: call.attempt for call in calls}


@pytest.fixture
def request_span(span: Any) -> Any:
    """An HTTP request that the product answers."""
    return span("web", None, (0, 100), kind="server", attributes={"http.route": "/ask"})


def test_a_failed_call_and_the_next_one_of_the_same_request_are_attempts(
    request_span: Any, chat: Any, derived: Any
) -> None:
    first, second, third = derived(
        request_span,
        chat("a", "web", (0, 1), **FAILED, attributes={**NO_USAGE, **text("hello")}),
        chat("b", "web", (2, 3), **FAILED, attributes={**NO_USAGE, **text("hello")}),
        chat("c", "web", (4, 5), attributes=text("hello")),
    ).calls
    assert (first.attempt, second.attempt, third.attempt) == (1, 2, 3)
    assert (first.retry_of, second.retry_of, third.retry_of) == (
        None,
        first.identity,
        first.identity,
    )


def test_the_hash_of_a_text_that_was_not_stored_tells_the_same(
    request_span: Any, chat: Any, derived: Any
) -> None:
    def asked(digit: str) -> dict[str, str]:
        return {"gpuledger.input_hash": f"v1:{digit * 64}"}

    calls = derived(
        request_span,
        chat("a", "web", (0, 1), **FAILED, attributes=asked("a")),
        chat("b", "web", (2, 3), attributes=asked("b")),
        chat("c", "web", (4, 5), attributes=asked("a")),
    ).calls
    assert numbers(calls) == {"a": 1, "b": None, "c": 2}


@pytest.mark.parametrize(
    ("later", "is_retry"),
    [
        ({}, True),
        ({"at_s": (1, 2)}, True),
        ({"at_s": (0.9, 2)}, False),
        ({"parent": "elsewhere"}, False),
        ({"attributes": text("bye")}, False),
        ({"attributes": {**text("hello"), "gen_ai.request.model": "model-b"}}, False),
        ({"attributes": {**text("hello"), "gen_ai.operation.name": "text_completion"}}, False),
    ],
)
def test_a_retry_asks_the_same_of_the_same_model_after_the_failure(
    chat: Any, span: Any, derived: Any, later: dict[str, Any], is_retry: bool
) -> None:
    given = {"parent": "here", "at_s": (3, 4), "attributes": text("hello"), **later}
    calls = derived(
        span("here", None, (0, 9)),
        span("elsewhere", None, (0, 9)),
        chat("a", "here", (0, 1), **FAILED, attributes=text("hello")),
        chat("b", **given),
    ).calls
    assert numbers(calls) == ({"a": 1, "b": 2} if is_retry else {"a": None, "b": None})


@pytest.mark.parametrize(
    ("tokens", "is_retry"),
    [((1000, 1000), True), ((1000, 1001), False), ((None, 1000), True), ((None, None), True)],
)
def test_without_a_text_the_lengths_of_the_prompts_decide(
    request_span: Any,
    chat: Any,
    derived: Any,
    tokens: tuple[int | None, int | None],
    is_retry: bool,
) -> None:
    failed, following = ({**NO_USAGE, "gen_ai.usage.input_tokens": count} for count in tokens)
    calls = derived(
        request_span,
        chat("a", "web", (0, 1), **FAILED, attributes=failed),
        chat("b", "web", (2, 3), attributes=following),
    ).calls
    assert numbers(calls) == ({"a": 1, "b": 2} if is_retry else {"a": None, "b": None})


def test_two_answers_to_one_prompt_are_no_retry(request_span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        request_span,
        chat("a", "web", (0, 1), attributes=text("hello")),
        chat("b", "web", (2, 3), attributes=text("hello")),
    ).calls
    assert numbers(calls) == {"a": None, "b": None}


def test_a_retry_that_failed_is_followed_by_a_new_operation_only_after_an_answer(
    request_span: Any, chat: Any, derived: Any
) -> None:
    calls = derived(
        request_span,
        chat("a", "web", (0, 1), **FAILED, attributes=text("hello")),
        chat("b", "web", (2, 3), attributes=text("hello")),
        chat("c", "web", (4, 5), **FAILED, attributes=text("hello")),
        chat("d", "web", (6, 7), attributes=text("hello")),
    ).calls
    assert numbers(calls) == {"a": 1, "b": 2, "c": 1, "d": 2}


def test_attempts_at_work_beside_each_other_are_told_apart_by_their_prompts(
    request_span: Any, chat: Any, derived: Any
) -> None:
    calls = derived(
        request_span,
        chat("a1", "web", (0, 4), **FAILED, attributes=text("first")),
        chat("b1", "web", (1, 5), **FAILED, attributes=text("second")),
        chat("a2", "web", (5, 9), attributes=text("first")),
        chat("b2", "web", (6, 9), attributes=text("second")),
    ).calls
    by_span = {call.span_id: call for call in calls}
    assert numbers(calls) == {"a1": 1, "b1": 1, "a2": 2, "b2": 2}
    assert by_span["a2"].retry_of == by_span["a1"].identity
    assert by_span["b2"].retry_of == by_span["b1"].identity


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "invoke_agent"},
        {"openinference.span.kind": "CHAIN"},
        {"http.route": "/ask"},
    ],
)
def test_attempts_may_lie_at_any_depth_of_one_workflow(
    span: Any, chat: Any, derived: Any, attributes: dict[str, str]
) -> None:
    calls = derived(
        span("root", None, (0, 9), kind="server", attributes=attributes),
        span("try 1", "root", (0, 2)),
        chat("a", "try 1", (0, 1), **FAILED),
        span("try 2", "root", (2, 9)),
        span("inside", "try 2", (3, 9)),
        chat("b", "inside", (4, 5)),
    ).calls
    assert numbers(calls) == {"a": 1, "b": 2}


def test_nested_retries_of_a_job_that_no_request_began_are_one_operation(
    span: Any, chat: Any, derived: Any
) -> None:
    failed = [
        chat(
            f"{outer}{inner}",
            f"try {outer}",
            (outer * 10 + inner, outer * 10 + inner + 1),
            **FAILED,
        )
        for outer in (1, 2)
        for inner in (1, 2, 3)
    ]
    calls = derived(
        span("job", None, (0, 99)),
        *(span(f"try {outer}", "job", (outer * 10, outer * 10 + 9)) for outer in (1, 2, 3)),
        *failed,
        chat("31", "try 3", (31, 32)),
    ).calls
    assert sorted(numbers(calls).values()) == [1, 2, 3, 4, 5, 6, 7]


def test_calls_of_two_tools_are_not_attempts_of_each_other(
    span: Any, chat: Any, derived: Any
) -> None:
    tool = {"gen_ai.operation.name": "execute_tool"}
    calls = derived(
        span("agent", None, (0, 9), attributes={"gen_ai.operation.name": "invoke_agent"}),
        span("t1", "agent", (0, 2), attributes=tool),
        chat("a", "t1", (0, 1), **FAILED),
        span("t2", "agent", (2, 9), attributes=tool),
        chat("b", "t2", (3, 4)),
    ).calls
    assert numbers(calls) == {"a": None, "b": None}


def test_roots_without_a_common_parent_are_no_attempts(chat: Any, derived: Any) -> None:
    calls = derived(chat("a", None, (0, 1), **FAILED), chat("b", None, (2, 3))).calls
    assert numbers(calls) == {"a": None, "b": None}


def test_an_operation_that_failed_with_its_retries_may_be_tried_again(
    request_span: Any, chat: Any, derived: Any
) -> None:
    calls = derived(
        request_span,
        chat("sdk", "web", (0, 4), attributes=text("hello")),
        chat("a", "sdk", (0, 1), **FAILED, attributes=text("hello")),
        chat("b", "sdk", (2, 4), **FAILED, attributes={**NO_USAGE, **text("hello")}),
        chat("c", "web", (5, 6), attributes=text("hello")),
    ).calls
    by_span = {call.span_id: call for call in calls}
    assert numbers(calls) == {"a": 1, "b": 2, "c": 3}
    assert by_span["c"].retry_of == by_span["a"].identity
    assert by_span["b"].uncached_input_tokens == 1000


def test_an_engine_that_goes_on_after_a_timeout_is_the_first_attempt(
    request_span: Any, chat: Any, engine: Any, derived: Any
) -> None:
    calls = derived(
        request_span,
        chat("c1", "web", (0, 5), status="error", status_message="Request timed out."),
        engine("e1", "c1", (1, 9)),
        chat("c2", "web", (6, 16)),
        engine("e2", "c2", (7, 15)),
    ).calls
    assert numbers(calls) == {"e1": 1, "e2": 2}
    assert [call.status for call in calls] == ["timeout", "ok"]


def test_http_requests_tell_how_the_client_saw_the_engine_s_calls(
    span: Any, chat: Any, engine: Any, derived: Any, t0: int
) -> None:
    def post(span_id: str, at_s: tuple[float, float], **fields: Any) -> Any:
        attributes = {"http.request.method": "POST", **fields.pop("attributes", {})}
        return span(span_id, "sdk", at_s, kind="client", attributes=attributes, **fields)

    first, second = derived(
        chat("sdk", None, (0, 20)),
        post("h1", (0, 5), status="error", attributes={"error.type": "httpx.ReadTimeout"}),
        engine("e1", "h1", (1, 9)),
        post("h2", (6, 20), attributes={"http.response.status_code": 200}),
        engine("e2", "h2", (7, 15)),
    ).calls
    assert (first.attempt, first.status, first.error_type) == (1, "timeout", "httpx.ReadTimeout")
    assert (second.attempt, second.status, second.http_status) == (2, "ok", 200)
    assert second.retry_of == first.identity
    assert first.ended_at == t0 + 8_000_000_000


def test_the_request_of_another_service_says_nothing_about_the_engine(
    span: Any, engine: Any, one_call: Any
) -> None:
    post = {"http.request.method": "POST", "http.response.status_code": 500}
    found = one_call(
        span("post", None, (0, 20), kind="client", status="error", attributes=post),
        span("service", "post", (0, 19), kind="server", attributes={"http.route": "/ask"}),
        engine("vllm", "service", (1, 9)),
    )
    assert (found.status, found.http_status) == ("ok", None)


def test_a_thousand_failures_in_one_place_are_one_operation(
    request_span: Any, chat: Any, derived: Any
) -> None:
    failures = [chat(f"{n:04}", "web", (n, n + 1), **FAILED) for n in range(1000)]
    calls = derived(request_span, *failures).calls
    assert [call.attempt for call in calls] == list(range(1, 1001))
    assert {call.retry_of for call in calls[1:]} == {calls[0].identity}
