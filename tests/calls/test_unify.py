"""One call, once: views, wrappers, retries, agents."""

from typing import Any

from ingest.records import Call


def test_the_engine_gives_the_timings_and_the_client_the_endpoint_and_team(
    span: Any, chat: Any, engine: Any, one_call: Any, t0: int
) -> None:
    found: Call = one_call(
        span("web", kind="server", attributes={"http.route": "/answer"}),
        chat("client", "web", (0, 9.5), service="shop", resource={"team": "support"}),
        span("http", "client", (0.5, 9.4), kind="client", attributes={"http.method": "POST"}),
        engine("vllm", "http", (1, 9), service="vllm", resource={"service.instance.id": "gpu-0"}),
    )
    assert found.identity == f"span:{'a' * 32}:vllm"
    assert found.pairing == "ancestor"
    assert found.timing_source == "engine"
    assert (found.arrived_at, found.started_at) == (t0 + 1_000_000_000, t0 + 2_000_000_000)
    assert (found.first_token_at, found.ended_at) == (t0 + 4_000_000_000, t0 + 8_000_000_000)
    assert (found.endpoint, found.endpoint_source) == ("/answer", "route")
    assert (found.service, found.team, found.replica) == ("shop", "support", "gpu-0")
    assert (found.model, found.model_requested) == ("model-a", "model-a")


def test_three_observers_of_one_call_are_one_call(chat: Any, engine: Any, one_call: Any) -> None:
    found: Call = one_call(
        chat("app", None, (0, 10), service="shop"),
        chat("gateway", "app", (0.5, 9.5), service="gateway", resource={"team": "support"}),
        engine("vllm", "gateway", (1, 9)),
    )
    assert (found.uncached_input_tokens, found.visible_output_tokens) == (1000, 200)
    assert (found.service, found.team) == ("shop", "support")
    assert found.timing_source == "engine"
    assert found.tokens_note is None


def test_what_only_the_client_knows_of_the_tokens_is_kept(
    chat: Any, engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        chat("client", attributes={"gen_ai.usage.cache_read.input_tokens": 600}),
        engine("vllm", "client"),
    )
    assert (found.uncached_input_tokens, found.cache_read_tokens) == (400, 600)


def test_cache_counts_of_the_client_that_do_not_fit_the_engine_are_left_out(
    chat: Any, engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        chat(
            "client",
            attributes={
                "gen_ai.usage.input_tokens": 19,
                "gen_ai.usage.cache_read.input_tokens": 39_000,
            },
        ),
        engine("vllm", "client"),
    )
    assert (found.uncached_input_tokens, found.cache_read_tokens) == (1000, None)
    assert found.tokens_note == (
        "cache_read_tokens of another view exceed input_tokens, left out; "
        "views disagree on input_tokens: 1000, 39019"
    )


def test_an_agent_span_does_not_repeat_its_children(span: Any, chat: Any, derived: Any) -> None:
    usage = {"gen_ai.usage.input_tokens": 29_899, "gen_ai.usage.output_tokens": 300}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    calls = derived(
        span("agent", attributes={**agent, **usage}),
        chat("one", "agent", (0, 4), attributes={"gen_ai.usage.input_tokens": 20_000}),
        chat("two", "agent", (4, 9), attributes={"gen_ai.usage.input_tokens": 9_899}),
    ).calls
    assert sum(call.uncached_input_tokens for call in calls) == 29_899
    assert [(call.endpoint, call.endpoint_source) for call in calls] == [
        ("planner", "workflow"),
        ("planner", "workflow"),
    ]
    assert [call.attempt for call in calls] == [None, None]


def test_a_call_inside_a_tool_is_a_call_of_its_own(span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        chat("outer"),
        span("tool", "outer", attributes={"gen_ai.operation.name": "execute_tool"}),
        chat("inner", "tool"),
    ).calls
    assert {call.span_id for call in calls} == {"outer", "inner"}
    assert {call.pairing for call in calls} == {"single"}


def test_an_embedding_below_a_chat_is_no_view_of_it(span: Any, chat: Any, derived: Any) -> None:
    embedding = {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 12}
    calls = derived(chat("chat"), span("embed", "chat", attributes=embedding)).calls
    assert {call.operation: call.visible_output_tokens for call in calls} == {
        "chat": 200,
        "embeddings": 0,
    }


def test_failed_attempts_of_one_operation_are_linked(
    span: Any, chat: Any, derived: Any, t0: int
) -> None:
    no_usage = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    first, second, third = derived(
        chat("operation", None, (0, 40), attributes=no_usage),
        chat(
            "refused",
            "operation",
            (0, 1),
            status="error",
            attributes={**no_usage, "error.type": "429"},
        ),
        chat(
            "late",
            "operation",
            (2, 12),
            status="error",
            status_message="Request timed out.",
            attributes={**no_usage, "gen_ai.response.chunk_count": 400},
        ),
        chat(
            "good",
            "operation",
            (13, 20),
            attributes={"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 300},
        ),
    ).calls
    assert [call.attempt for call in (first, second, third)] == [1, 2, 3]
    assert first.retry_of is None
    assert second.retry_of == third.retry_of == first.identity
    assert [call.status for call in (first, second, third)] == ["error", "timeout", "ok"]
    assert (first.http_status, first.uncached_input_tokens, first.visible_output_tokens) == (
        429,
        0,
        0,
    )
    assert (first.started_at, first.ended_at) == (None, t0 + 1_000_000_000)
    assert (second.visible_output_tokens, second.tokens_source) == (400, "estimated")
    assert (third.uncached_input_tokens, third.visible_output_tokens) == (1000, 300)


def test_nested_retries_are_one_operation(chat: Any, derived: Any) -> None:
    def attempt(number: int, parent: str, begin_s: float, *, is_good: bool) -> Any:
        status = {} if is_good else {"status": "error", "status_message": "overloaded"}
        return chat(f"a{number}", parent, (begin_s, begin_s + 1), **status)

    spans = [chat("operation", None, (0, 60))]
    for outer in range(3):
        spans.append(chat(f"w{outer}", "operation", (outer * 20, outer * 20 + 15)))
        for inner in range(3):
            number = outer * 3 + inner
            begin_s = outer * 20 + inner * 5
            spans.append(attempt(number, f"w{outer}", begin_s, is_good=number == 8))
    calls = derived(*spans).calls
    assert [call.attempt for call in calls] == list(range(1, 10))
    assert {call.retry_of for call in calls[1:]} == {calls[0].identity}


def test_the_usage_that_only_the_wrapper_has_belongs_to_the_last_attempt(
    chat: Any, derived: Any
) -> None:
    no_usage = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    first, second = derived(
        chat("operation", None, (0, 9)),
        chat("one", "operation", (0, 4), status="error", attributes=no_usage),
        chat("two", "operation", (4, 9), attributes=no_usage),
    ).calls
    assert first.uncached_input_tokens is None
    assert second.uncached_input_tokens == 1000


def test_two_good_calls_of_one_wrapper_are_no_retry(chat: Any, derived: Any) -> None:
    first, second = derived(
        chat("steps", None, (0, 9), attributes={"gen_ai.usage.input_tokens": 2000}),
        chat("one", "steps", (0, 4)),
        chat("two", "steps", (4, 9)),
    ).calls
    assert (first.attempt, second.attempt) == (None, None)
    assert first.uncached_input_tokens + second.uncached_input_tokens == 2000


def test_overlapping_failures_are_no_retry(chat: Any, derived: Any) -> None:
    calls = derived(
        chat("race", None, (0, 9)),
        chat("one", "race", (0, 5), status="error"),
        chat("two", "race", (4, 9)),
    ).calls
    assert [call.attempt for call in calls] == [None, None]


def test_two_choices_are_two_engine_calls_and_no_retry(
    chat: Any, engine: Any, derived: Any
) -> None:
    request = {"gen_ai.request.id": "cmpl-1", "gen_ai.request.n": 2}
    calls = derived(
        chat("client", attributes={"gen_ai.request.choice.count": 2}),
        engine("e1", "client", attributes=request),
        engine("e2", "client", attributes=request),
    ).calls
    assert [call.attempt for call in calls] == [None, None]
    assert [call.uncached_input_tokens for call in calls] == [1000, 1000]
    assert [call.n_choices for call in calls] == [2, 2]
    assert {call.model for call in calls} == {"model-a"}


def test_a_cancelled_client_is_charged_to_the_engine_s_end(
    chat: Any, engine: Any, one_call: Any, t0: int
) -> None:
    found: Call = one_call(
        chat("client", None, (0, 2), status="error", attributes={"error.type": "CancelledError"}),
        engine("vllm", "client", (1, 9)),
    )
    assert found.status == "cancelled"
    assert found.ended_at == t0 + 8_000_000_000
    assert found.timing_quality == "ok"


def test_the_next_attempt_may_start_while_the_engine_still_runs(
    chat: Any, engine: Any, derived: Any
) -> None:
    calls = derived(
        chat("operation", None, (0, 20)),
        chat("c1", "operation", (0, 5), status="error", status_message="deadline exceeded"),
        engine("e1", "c1", (1, 9)),
        chat("c2", "operation", (6, 16)),
        engine("e2", "c2", (7, 15)),
    ).calls
    assert [(call.span_id, call.attempt, call.status) for call in calls] == [
        ("e1", 1, "timeout"),
        ("e2", 2, "ok"),
    ]


def test_an_orphan_is_a_call_as_well(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", "never-seen", service="shop"))
    assert found.parent_span_id == "never-seen"
    assert (found.endpoint, found.endpoint_source) == ("shop chat", "service")


def test_a_cycle_of_parents_is_cut_and_every_span_is_kept(
    span: Any, chat: Any, derived: Any
) -> None:
    spans = [span("a", "c"), chat("b", "a"), chat("c", "b"), chat("d", "c"), chat("self", "self")]
    found = derived(*spans).calls
    assert [call.span_id for call in found] == [
        call.span_id for call in derived(*reversed(spans)).calls
    ]
    assert {call.span_id for call in found} == {"d", "self"}


def test_of_two_versions_of_a_span_the_later_end_counts(chat: Any, derived: Any) -> None:
    early = chat("c", None, (0, 5), attributes={"gen_ai.usage.output_tokens": None})
    late = chat("c", None, (0, 9))
    for order in ((early, late), (late, early)):
        (call,) = derived(*order).calls
        assert call.visible_output_tokens == 200


def test_start_up_spans_of_the_engine_are_nothing(span: Any, derived: Any) -> None:
    found = derived(span("load", name="Load model", scope="vllm.tracing.otel", kind="internal"))
    assert (found.calls, found.tool_runs, found.retrievals) == ((), (), ())


def test_a_server_span_with_usage_is_a_view_and_a_plain_one_is_not(
    span: Any, one_call: Any, derived: Any
) -> None:
    http = {"http.route": "/v1/chat/completions", "http.request.method": "POST"}
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    found: Call = one_call(span("gateway", kind="server", attributes={**http, **usage}))
    assert found.uncached_input_tokens == 10
    assert derived(span("plain", kind="server", attributes=http)).calls == ()


def test_an_answer_out_of_a_cache_used_nothing_and_its_guard_is_a_call(
    chat: Any, derived: Any, t0: int
) -> None:
    main, guard = derived(
        chat("gateway", None, (0, 1), attributes={"gen_ai.cache.hit": True}),
        chat(
            "guard",
            "gateway",
            (0, 0.5),
            attributes={"gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 1},
        ),
    ).calls
    assert (guard.uncached_input_tokens, guard.visible_output_tokens) == (50, 1)
    assert (main.uncached_input_tokens, main.visible_output_tokens) == (0, 0)
    assert (main.reported_input_tokens, main.reported_output_tokens) == (1000, 200)
    assert main.tokens_note == (
        "out of a gateway's cache: the usage is of an earlier answer, no token was processed"
    )
    assert (main.arrived_at, main.started_at, main.ended_at) == (t0, None, None)
    assert (main.timing_source, main.timing_quality) == ("tokens", "ok")


def test_a_cache_that_did_not_know_the_answer_changes_nothing(
    chat: Any, engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        chat("gateway", attributes={"cache_hit": "False"}), engine("vllm", "gateway")
    )
    assert (found.uncached_input_tokens, found.timing_source) == (1000, "engine")
