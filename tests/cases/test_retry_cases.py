"""Cases about retries and caches."""

import json
from decimal import Decimal
from typing import Any

import pytest

from analysis.calls import calls
from analysis.law import law
from analysis.operations import operations
from analysis.window import Window
from ingest.config import Configuration, Pool

FAILED = {"status": {"code": 2, "message": "overloaded"}}


def test_case_25_retries_are_attempts_of_one_operation(case: Any, make_chat: Any) -> None:
    case.take(
        make_chat("f", (None, None), at_s=(0, 40)),
        make_chat(
            "1", (None, None), {"error.type": "429"}, parent="f", at_s=(0, 1), status={"code": 2}
        ),
        make_chat(
            "2",
            (None, None),
            {"gen_ai.response.chunk_count": 400},
            parent="f",
            at_s=(2, 12),
            status={"code": 2, "message": "Request timed out."},
        ),
        make_chat("3", (1000, 300), parent="f", at_s=(13, 20)),
    )
    columns = "attempt, status, input_tokens, output_tokens, tokens_source"
    assert case.rows(columns) == [
        (1, "error", 0, 0, "estimated"),
        (2, "timeout", None, 400, "estimated"),
        (3, "ok", 1000, 300, "reported"),
    ]
    (row,) = operations(case.ledger, window=Window()).frame.to_dicts()
    assert (row["attempt_count"], row["latency_s"], row["status"]) == (3, 20.0, "ok")
    assert row["wasted_output_tokens"] == 400
    refused = "token_charges t join call_rows r using (call_no) where r.attempt = 1"
    assert case.rows("token_cost", refused) == [(Decimal(0),)]


def test_case_25_nested_attempts_are_one_operation(case: Any, make_chat: Any) -> None:
    spans = [make_chat("f", at_s=(0, 60))]
    for outer in range(3):
        wrapper = f"{outer}a"
        spans.append(make_chat(wrapper, parent="f", at_s=(outer * 20, outer * 20 + 15)))
        for inner in range(3):
            begin_s = outer * 20 + inner * 5
            outcome = {} if (outer, inner) == (2, 2) else FAILED
            name = f"{outer}{inner}"
            at_s = (begin_s, begin_s + 1)
            spans.append(make_chat(name, parent=wrapper, at_s=at_s, **outcome))
    case.take(*spans)
    assert case.rows("attempt") == [(number,) for number in range(1, 10)]
    (row,) = operations(case.ledger, window=Window()).frame.to_dicts()
    assert (row["attempt_count"], row["failed_count"], row["latency_s"]) == (9, 8, 51.0)


def test_case_27_cache_hit_costs_nothing_and_its_guard_does(
    case: Any, make_chat: Any, priced: Configuration
) -> None:
    case.take(
        make_chat("1", (1000, 200), {"gen_ai.cache.hit": True}, at_s=(0, 1)),
        make_chat("2", (50, 1), parent="1", at_s=(0, 0.5)),
    )
    charged = "call_rows r join token_charges t using (call_no)"
    assert case.rows("input_tokens, output_tokens, token_cost", charged) == [
        (0, 0, Decimal(0)),
        (50, 1, Decimal("0.000165")),
    ]
    hit, guard = calls(case.ledger, priced).frame.sort("cost").to_dicts()
    assert (hit["is_cache_hit"], hit["cost"], hit["cost_status"]) == (True, Decimal(0), "priced")
    assert (hit["avoided_cost"], hit["gpu_seconds"]) == (Decimal("0.006"), None)
    assert (guard["cost"], guard["avoided_cost"]) == (Decimal("0.000165"), None)
    answer = law(case.ledger, priced, by=())
    (line,) = answer.frame.to_dicts()
    assert (line["N"], line["cost"], line["avoided_cost"]) == (
        2,
        Decimal("0.000165"),
        Decimal("0.006"),
    )
    (note,) = [note for note in answer.notes if note.startswith("avoided: 0.006000 USD, ")]
    assert note.endswith("answers out of a gateway's cache; it is in no cost")


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.cache.hit": True},
        {"gen_ai.response.cache_hit": "true"},
        {"llm.cache_hit": True},
        {"cache_hit": "True"},
        {"http.response.header.x-portkey-cache-status": ["SEMANTIC HIT"]},
    ],
)
def test_case_27_a_hit_costs_nothing_where_its_model_has_no_price(
    case: Any, make_chat: Any, said: dict[str, Any]
) -> None:
    terms = Configuration(currency="EUR")
    case.take(make_chat("1", (1000, 200), said), configuration=terms)
    (hit,) = calls(case.ledger, terms).frame.to_dicts()
    assert (hit["cost"], hit["currency"], hit["avoided_cost"]) == (Decimal(0), "EUR", None)


@pytest.mark.parametrize(("said", "cost"), [("HIT", "0"), ("MISS", "0.006")])
def test_case_27_the_header_of_the_answer_to_the_request_tells_a_hit(
    case: Any, make_chat: Any, make_span: Any, said: str, cost: str
) -> None:
    header = {"http.request.method": "POST", "http.response.header.cf-aig-cache-status": [said]}
    case.take(make_chat("1", (1000, 200)), make_span("2", header, parent="1", at_s=(0, 1)))
    assert case.cost() == Decimal(cost)


@pytest.mark.parametrize("times", [{}, {"started_at": 1, "first_token_at": 2, "ended_at": 3}])
def test_case_27_a_hit_occupies_no_gpu(case: Any, t0: int, times: dict[str, int]) -> None:
    pool = Pool(name="own", models=("m",), price_per_gpu_hour=Decimal("3.60"))
    terms = Configuration(pools=(pool,))
    hit = {
        "call_id": "1" * 32,
        "model": "m",
        "arrived_at": t0,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 200,
        "is_cache_hit": True,
        **{name: t0 + seconds * 1_000_000_000 for name, seconds in times.items()},
    }
    case.take(records=[hit], configuration=terms)
    (found,) = calls(case.ledger, terms).frame.to_dicts()
    assert (found["gpu_seconds"], found["cost"], found["output_tokens"]) == (0.0, Decimal(0), 0)
    told = "reported_input_tokens, reported_output_tokens"
    assert case.rows(told) == [(1000, 200)]


def test_case_27_a_spend_log_of_a_hit_avoids_its_list_price(
    case: Any, priced: Configuration
) -> None:
    log = {
        "request_id": "r_cache_hit",
        "call_type": "acompletion",
        "spend": 0,
        "startTime": "2026-11-10T10:00:00Z",
        "endTime": "2026-11-10T10:00:00Z",
        "model": "m",
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "cache_hit": "True",
    }
    case.take_text(json.dumps(log), priced)
    (hit,) = calls(case.ledger, priced).frame.to_dicts()
    assert (hit["cost"], hit["avoided_cost"]) == (Decimal(0), Decimal("0.006"))
