"""Which view of a call that was told apart gives which column."""

from dataclasses import replace
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from ingest.calls.joining import joined_call
from ingest.records import Call

S = 1_000_000_000


def view(name: str, at_s: tuple[float, float], **columns: Any) -> Call:
    """A view with its times and 1,000 tokens in and 200 out."""
    begun, ended = (round(at * S) for at in at_s)
    told = {
        "timing_source": "span",
        "arrived_at": begun,
        "started_at": begun,
        "ended_at": ended,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 200,
    }
    return Call(identity=f"call_id:{name}", **{**told, **columns})


APP = view("app", (0, 10), endpoint="/ask", endpoint_source="route", service="shop", team="web")
GATEWAY = view(
    "gateway",
    (0.5, 9.5),
    team="support",
    endpoint="gateway chat",
    endpoint_source="service",
    model_requested="large",
    reported_cost=Decimal("0.006"),
    reported_currency="USD",
)
ENGINE = view(
    "engine", (1, 9), timing_source="engine", replica="gpu-0", team="inference", model="m"
)
VIEWS = (APP, GATEWAY, ENGINE)


def test_any_order_of_views_gives_the_same_call() -> None:
    assert len({joined_call(order, "probable") for order in permutations(VIEWS)}) == 1


def test_time_is_the_engines_the_endpoint_the_applications_the_team_the_gateways() -> None:
    found = joined_call(VIEWS, "response_id")
    assert (found.identity, found.pairing) == ("call_id:engine", "response_id")
    assert (found.arrived_at, found.ended_at, found.replica) == (1 * S, 9 * S, "gpu-0")
    assert (found.endpoint, found.endpoint_source, found.service) == ("/ask", "route", "shop")
    assert (found.team, found.model, found.model_requested) == ("support", "m", "large")
    assert (found.reported_cost, found.reported_currency) == (Decimal("0.006"), "USD")


def test_a_mapped_endpoint_wins_wherever_it_stands() -> None:
    mapped = view("gateway", (0.5, 9.5), endpoint="/mapped", endpoint_source="map")
    found = joined_call((APP, mapped, ENGINE), "probable")
    assert (found.endpoint, found.endpoint_source) == ("/mapped", "map")


def test_an_endpoint_named_after_the_service_gives_way_to_one_of_a_trace_with_the_engine() -> None:
    traced = replace(ENGINE, endpoint="/ask", endpoint_source="route")
    for order in permutations((traced, GATEWAY)):
        found = joined_call(order, "response_id")
        assert (found.endpoint, found.endpoint_source) == ("/ask", "route")


@pytest.mark.parametrize("source", ["route", "root", "record", "map"])
def test_the_route_of_an_llm_api_gives_way_to_any_name_of_the_application(source: str) -> None:
    gateway = replace(GATEWAY, endpoint="POST /v1/messages", endpoint_source=source)
    traced = replace(ENGINE, endpoint="answer", endpoint_source="prompt", service="shop")
    for order in permutations((traced, replace(gateway, service="gateway"))):
        found = joined_call(order, "response_id")
        assert (found.endpoint, found.service) == ("answer", "shop")
    serving = replace(ENGINE, endpoint="/v1/messages", endpoint_source="route", service="vllm")
    asking = replace(APP, endpoint="shop chat", endpoint_source="service")
    found = joined_call((serving, asking), "response_id")
    assert (found.endpoint, found.service) == ("shop chat", "shop")
    alone = joined_call((gateway, ENGINE), "response_id")
    assert alone.endpoint == "POST /v1/messages"


def test_the_outermost_failure_is_the_outcome() -> None:
    late = view("app", (0, 10), status="timeout", error_type="TimeoutError")
    broken = view("gateway", (0.5, 9.5), status="error", http_status=500)
    found = joined_call((late, broken, ENGINE), "probable")
    assert (found.status, found.error_type, found.http_status) == ("timeout", "TimeoutError", 500)


def test_token_counts_are_those_of_the_view_that_tells_most() -> None:
    cached = view(
        "app", (0, 10), uncached_input_tokens=400, cache_read_tokens=600, reasoning_tokens=0
    )
    found = joined_call((cached, ENGINE), "probable")
    assert (found.uncached_input_tokens, found.cache_read_tokens) == (400, 600)
    assert found.tokens_note is None


def test_a_call_has_a_trace_where_any_of_its_views_has_one() -> None:
    traced = view("app", (0, 10), trace_id="a" * 32, span_id="1" * 16)
    found = joined_call((traced, GATEWAY), "probable")
    assert (found.identity, found.trace_id, found.span_id) == (
        "call_id:gateway",
        "a" * 32,
        "1" * 16,
    )


@pytest.mark.parametrize("counts", [(1010, 200), (1000, 201)])
def test_counts_that_differ_are_noted(counts: tuple[int, int]) -> None:
    other = view("app", (0, 10), uncached_input_tokens=counts[0], visible_output_tokens=counts[1])
    note = joined_call((other, ENGINE), "response_id").tokens_note
    which = "input_tokens: 1000, 1010" if counts[0] == 1010 else "output_tokens: 200, 201"
    assert note == f"views disagree on {which}"


def test_hashes_and_places_of_a_prompt_are_those_of_one_view() -> None:
    own = replace(ENGINE, prefix_hashes=(1, 2), prefix_block_tokens=16)
    other = replace(
        APP,
        prefix_hashes=(3, 4),
        prefix_block_tokens=32,
        volatile_spans=(2, 4, 1),
        stable_prefix_hashes=(5, 6),
    )
    found = joined_call([other, GATEWAY, own], "response_id")
    assert (found.prefix_hashes, found.prefix_block_tokens) == ((1, 2), 16)
    assert (found.volatile_spans, found.stable_prefix_hashes) == (None, None)
    alone = joined_call([other, GATEWAY, ENGINE], "response_id")
    assert (alone.volatile_spans, alone.stable_prefix_hashes) == ((2, 4, 1), (5, 6))
