"""Cases about retries and caches."""

from decimal import Decimal
from typing import Any

from analysis.operations import operations
from analysis.window import Window

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


def test_case_27_cache_hit_costs_nothing_and_its_guard_does(case: Any, make_chat: Any) -> None:
    case.take(
        make_chat("1", (1000, 200), {"gen_ai.cache.hit": True}, at_s=(0, 1)),
        make_chat("2", (50, 1), parent="1", at_s=(0, 0.5)),
    )
    priced = "call_rows r join token_charges t using (call_no)"
    assert case.rows("input_tokens, output_tokens, token_cost", priced) == [
        (0, 0, Decimal(0)),
        (50, 1, Decimal("0.000165")),
    ]
    avoided = "reported_input_tokens * 3 + reported_output_tokens * 15"
    assert case.rows(avoided, "call_rows where input_tokens = 0") == [(6000,)]
