"""Cases about structure: one call is one call, whoever tells of it and however often."""

from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from analysis.trace import trace
from ingest.config import Configuration, Pool
from ingest.ledger import open_for_writing

AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "planner",
    "gen_ai.usage.input_tokens": 29_899,
    "gen_ai.usage.output_tokens": 300,
}
LATENCY = {
    "gen_ai.latency.time_in_queue": 1.0,
    "gen_ai.latency.time_in_model_prefill": 2.0,
    "gen_ai.latency.time_in_model_decode": 4.0,
    "gen_ai.latency.time_to_first_token": 3.0,
    "gen_ai.latency.e2e": 7.0,
    "gen_ai.usage.prompt_tokens": 1000,
    "gen_ai.usage.completion_tokens": 200,
}
POOL = Configuration(pools=(Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6")),))


def agent_tree(make_span: Any, make_chat: Any) -> list[dict[str, Any]]:
    """An agent that repeats the usage of its two calls."""
    return [
        make_span("a", AGENT, kind=1),
        make_chat("1", (20_000, 200), parent="a", at_s=(0, 4)),
        make_chat("2", (9_899, 100), parent="a", at_s=(4, 9)),
    ]


def test_case_20_agent_span_repeats_its_children(case: Any, make_span: Any, make_chat: Any) -> None:
    case.take(*agent_tree(make_span, make_chat))
    assert case.rows("count(*), sum(input_tokens), sum(output_tokens)") == [(2, 29_899, 300)]


def test_case_22_tokens_and_cost_are_summed_over_the_same_calls(
    case: Any, make_span: Any, make_chat: Any
) -> None:
    case.take(*agent_tree(make_span, make_chat))
    ((input_tokens, output_tokens),) = case.rows("sum(input_tokens), sum(output_tokens)")
    price_of_sums = (input_tokens * Decimal(3) + output_tokens * Decimal(15)) / 1_000_000
    assert case.cost() == price_of_sums == Decimal("0.094197")


def observers(make_span: Any, make_chat: Any, answer: str | None) -> list[dict[str, Any]]:
    """An application and the engine that it calls without handing the trace on."""
    app = make_chat(
        "1",
        more={"gen_ai.response.id": answer, "gen_ai.prompt.name": "answer"},
        service="shop",
    )
    engine = make_span(
        "2", LATENCY, trace="e" * 32, at_s=(1, 9), kind=2, name="llm_request", service="vllm"
    )
    return [app, engine]


def gateway_log(t0: int, answer: str | None) -> dict[str, Any]:
    """The same call in the log of a gateway, which knows the team and the price."""
    record = {
        "call_id": "f" * 32,
        "model": "m",
        "operation": "chat",
        "team": "support",
        "reported_cost": "0.006",
        "reported_currency": "USD",
        "arrived_at": t0 + 500_000_000,
        "started_at": t0 + 500_000_000,
        "ended_at": t0 + 9_500_000_000,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 200,
        "response_id": answer,
    }
    return {name: value for name, value in record.items() if value is not None}


@pytest.mark.parametrize("answer", ["r1", None])
def test_case_23_one_call_of_three_observers(
    case: Any, make_span: Any, make_chat: Any, t0: int, answer: str | None
) -> None:
    spans = observers(make_span, make_chat, answer)
    for one in spans:
        case.take(one, configuration=POOL)
    case.take(records=[gateway_log(t0, answer)], configuration=POOL)
    columns = "pairing, timing_source, endpoint, team, input_tokens + output_tokens, reported_cost"
    assert case.call(columns) == (
        "probable",
        "engine",
        "answer",
        "support",
        1200,
        Decimal("0.006"),
    )
    assert case.rows("count(*)", "call_views") == [(3,)]
    charged = "round(sum(prefill_gpu_seconds + decode_gpu_seconds), 6)"
    assert case.rows(charged, "charges") == [(6.0,)]
    for trace_id in ("a" * 32, "e" * 32):
        (row,) = trace(case.ledger, POOL, trace_id).frame.to_dicts()
        assert (row["is_call"], row["gpu_seconds"], row["endpoint"]) == (True, 6.0, "answer")


@pytest.mark.parametrize("answer", ["r1", None])
def test_case_23_the_endpoint_is_the_applications_though_its_trace_holds_the_engine(
    case: Any, make_span: Any, make_chat: Any, tmp_path: Any, answer: str | None
) -> None:
    """The gateway's request has a route of its own, or is called after it."""
    request = {"http.route": "/v1/chat/completions"} if answer else {}
    told = {"gen_ai.response.id": answer}
    apart: dict[str, Any] = {"trace": "b" * 32, "service": "gateway"}
    seen = {
        "app": [
            make_span("9", {"http.route": "/answer"}, kind=2),
            make_chat("1", more=told, parent="9"),
        ],
        "engine": [make_span("2", LATENCY, parent="1", at_s=(1, 9), kind=2, name="llm_request")],
        "gateway": [
            make_span("8", request, kind=2, name="POST /v1/chat/completions", **apart),
            make_chat("7", more=told, parent="8", at_s=(0.5, 9.5), **apart),
        ],
    }
    columns = "pairing, timing_source, endpoint, endpoint_source, service"
    rule = "response_id" if answer else "probable"
    for order in permutations(seen):
        folder = tmp_path / "-".join(order)
        folder.mkdir()
        with open_for_writing(None) as ledger:
            one = type(case)(ledger, folder)
            for observer in order:
                one.take(*seen[observer])
            assert one.call(columns) == (rule, "engine", "/answer", "route", "shop")


def test_case_23_the_id_of_the_answer_alone_makes_it_sure(
    case: Any, make_chat: Any, t0: int
) -> None:
    case.take(make_chat("1", more={"gen_ai.response.id": "r1"}), records=[gateway_log(t0, "r1")])
    assert case.call("pairing, input_tokens, output_tokens") == ("response_id", 1000, 200)


def test_case_23_a_trace_in_common_needs_no_id(case: Any, make_span: Any, make_chat: Any) -> None:
    engine = make_span("2", LATENCY, parent="1", at_s=(1, 9), kind=2, name="llm_request")
    case.take(make_chat("1"), engine)
    assert case.call("pairing, timing_source, input_tokens, output_tokens") == (
        "ancestor",
        "engine",
        1000,
        200,
    )


def test_case_24_resent_and_conflicting_exports_are_one_row(
    case: Any, make_chat: Any, tmp_path: Any
) -> None:
    bare = make_chat("1", (None, None))
    versions = [bare, make_chat("1", (1000, 200)), make_chat("1", (1000, 210))]
    found = set()
    for number, order in enumerate(permutations([bare, *versions])):
        folder = tmp_path / str(number)
        folder.mkdir()
        with open_for_writing(None) as ledger:
            one = type(case)(ledger, folder)
            results = [result for version in order for result in one.take(version)]
            found.add(one.call("input_tokens, output_tokens"))
            assert sum(result.counts.new for result in results if result.counts) == 1
            assert sum(result.counts.conflict for result in results if result.counts) >= 2
    assert found == {(1000, 210)}
