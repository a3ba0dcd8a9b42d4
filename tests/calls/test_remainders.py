"""What an agent tells beyond its calls is a line of its own, and nothing is counted twice."""

from typing import Any

from ingest.records import Call

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}


def used(input_tokens: int | None, output_tokens: int | None, **more: Any) -> dict[str, Any]:
    """Usage attributes; None leaves one out."""
    said = {
        "gen_ai.usage.input_tokens": input_tokens,
        "gen_ai.usage.output_tokens": output_tokens,
        **more,
    }
    return {name: value for name, value in said.items() if value is not None}


NO_USAGE = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}


def lines(calls: Any) -> list[Call]:
    return [call for call in calls if call.operation == "not_itemised"]


def test_what_the_calls_of_an_agent_explain_is_no_line(span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        span("agent", attributes={**AGENT, **used(29_899, 400)}),
        chat("one", "agent", (0, 4), attributes=used(20_000, 200)),
        chat("two", "agent", (4, 9), attributes=used(9_899, 200)),
    ).calls
    assert [call.span_id for call in calls] == ["one", "two"]


def test_what_they_do_not_explain_is_a_line_of_its_own(
    span: Any, chat: Any, derived: Any, t0: int
) -> None:
    calls = derived(
        span("web", kind="server", attributes={"http.route": "/plan"}, resource={"team": "ops"}),
        span("agent", "web", attributes={**AGENT, **used(30_000, 500)}),
        chat("one", "agent", (0, 4), attributes=used(20_000, 200)),
        chat("two", "agent", (4, 9), attributes=used(9_899, 200)),
    ).calls
    (line,) = lines(calls)
    assert (line.uncached_input_tokens, line.visible_output_tokens) == (101, 100)
    assert (line.endpoint, line.team, line.model) == ("/plan", "ops", "model-a")
    assert (line.timing_source, line.arrived_at, line.ended_at) == ("tokens", t0, None)
    assert line.tokens_note == "not itemised: beyond the 2 calls below"
    assert sum(call.uncached_input_tokens or 0 for call in calls) == 30_000


def test_calls_without_usage_leave_it_all_to_the_line(span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        span("agent", attributes={**AGENT, **used(700, 90)}),
        chat("one", "agent", (0, 4), attributes=used(500, 40)),
        chat("two", "agent", (4, 9), attributes=NO_USAGE),
    ).calls
    (line,) = lines(calls)
    assert (line.uncached_input_tokens, line.visible_output_tokens) == (200, 50)
    assert line.tokens_note == ("not itemised: beyond the 2 calls below, 1 of which tell no usage")


def test_an_agent_whose_calls_nobody_told_is_a_line(span: Any, derived: Any) -> None:
    (line,) = derived(
        span("agent", attributes={**AGENT, "gen_ai.request.model": "m", **used(700, 90)})
    ).calls
    assert (line.operation, line.model) == ("not_itemised", "m")
    assert (line.uncached_input_tokens, line.visible_output_tokens) == (700, 90)
    assert line.identity == f"not-itemised:{'a' * 32}:agent"
    assert line.tokens_note == "not itemised: no call below tells of it"


def test_nested_agents_tell_the_rest_once(span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        span("outer", attributes={**AGENT, **used(1_000, 100)}),
        span("inner", "outer", attributes={**AGENT, **used(800, 100)}),
        span("tool", "inner", attributes={"gen_ai.operation.name": "execute_tool"}),
        chat("one", "tool", (0, 4), attributes=used(500, 100)),
    ).calls
    assert {line.span_id: line.uncached_input_tokens for line in lines(calls)} == {
        "inner": 300,
        "outer": 200,
    }
    assert sum(call.uncached_input_tokens or 0 for call in calls) == 1_000


def test_an_agent_that_tells_no_cache_takes_no_cached_token_twice(
    span: Any, chat: Any, derived: Any
) -> None:
    cached = {"gen_ai.usage.cache_read.input_tokens": 900}
    calls = derived(
        span("agent", attributes={**AGENT, **used(1_050, 10)}),
        chat("one", "agent", attributes=used(1_000, 10, **cached)),
    ).calls
    (line,) = lines(calls)
    assert (line.uncached_input_tokens, line.cache_read_tokens) == (50, None)


def test_parts_of_the_rest_are_told_where_the_agent_tells_them(
    span: Any, chat: Any, derived: Any
) -> None:
    def parts(read: int, reasoning: int) -> dict[str, int]:
        return {
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.reasoning.output_tokens": reasoning,
        }

    calls = derived(
        span("agent", attributes={**AGENT, **used(1_500, 60, **parts(950, 30))}),
        chat("one", "agent", attributes=used(1_000, 20, **parts(900, 5))),
    ).calls
    (line,) = lines(calls)
    assert (line.uncached_input_tokens, line.cache_read_tokens) == (450, 50)
    assert (line.visible_output_tokens, line.reasoning_tokens) == (15, 25)


def test_an_agent_that_tells_less_takes_nothing_away(span: Any, chat: Any, derived: Any) -> None:
    calls = derived(
        span("agent", attributes={**AGENT, **used(100, 10)}),
        chat("one", "agent", (0, 4), attributes=used(500, 40)),
    ).calls
    assert lines(calls) == []


def test_a_wrapper_around_calls_without_usage_is_a_line(chat: Any, derived: Any) -> None:
    calls = derived(
        chat("steps", None, (0, 9), attributes=used(2_000, 300)),
        chat("one", "steps", (0, 4), attributes=NO_USAGE),
        chat("two", "steps", (4, 9), attributes=used(900, 100)),
    ).calls
    (line,) = lines(calls)
    assert (line.span_id, line.uncached_input_tokens) == ("steps", 1_100)
