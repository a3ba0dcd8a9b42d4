"""Simple work on dear models: which calls, and what they would cost on the cheapest other model."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.errors import NoDataError, WrongQuestionError
from analysis.routing import routing, routing_claims
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(
        Pool(name="large", gpus_per_replica=1, replicas=9, price_per_gpu_hour=Decimal("3.6")),
        Pool(name="small", gpus_per_replica=1, replicas=9, price_per_gpu_hour=Decimal("0.36")),
    ),
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(1), output_per_mtok=Decimal(20)),
    ),
)
ALL_TIME = Window()
LONG = "The station is in the west of the town. It opens at five in the morning, every day."


def call(number: int, model: str = "large", **columns: Any) -> dict[str, Any]:
    """Alone on its replica: a second of prefill for 100 tokens, a second of decode for two."""
    begun = MIDNIGHT + number * 60 * S
    told = {
        "call_id": f"{model}{number}",
        "endpoint": "/classify",
        "model": model,
        "pool": model,
        "replica": f"{model}{number % 9}",
        "timing_source": "engine",
        "arrived_at": begun,
        "started_at": begun,
        "first_token_at": begun + S,
        "ended_at": begun + 2 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 2,
        "completion": ("spam", "ham")[number % 2],
    }
    return told | columns


def spoken(number: int, model: str = "small") -> dict[str, Any]:
    """A call of another endpoint that is no simple work."""
    return call(number, model, endpoint="/talk", completion=f"{LONG} {number}.")


def row(ledger: Ledger, model: str = "large") -> dict[str, Any]:
    frame = routing(ledger, CONFIGURATION).frame
    return frame.row(by_predicate=pl.col("model") == model, named=True)


# 20 calls of two GPU-seconds at 3.6 an hour are 0.04; the small model's GPUs cost a tenth.
def test_simple_work_is_priced_on_the_cheapest_other_model(ledger_of: LedgerOf) -> None:
    calls = [*(call(n) for n in range(20)), *(spoken(n) for n in range(20))]
    ledger = ledger_of(calls, CONFIGURATION)
    found = row(ledger)
    assert (found["call_count"], found["simple_count"], found["simple_ratio"]) == (20, 20, 1.0)
    assert (found["label_count"], found["distinct_ratio"]) == (20, 0.1)
    assert (found["simple_gpu_seconds"], found["simple_cost"]) == (40, Decimal("0.04"))
    assert (found["other_model"], found["other_cost"]) == ("small", Decimal("0.004"))
    assert found["saved_cost"] == Decimal("0.036")
    claims = routing_claims(ledger, CONFIGURATION, window=ALL_TIME)
    assert claims.height == 20
    assert claims["prefill_ratio"].to_list() == pytest.approx([0.9] * 20)
    assert claims["decode_ratio"].to_list() == pytest.approx([0.9] * 20)


def test_what_is_claimed_of_one_user_is_judged_over_all(ledger_of: LedgerOf) -> None:
    calls = [
        *(call(n, user_id=("u1", "u2")[n % 2]) for n in range(20)),
        *(spoken(n) for n in range(20)),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    claims = routing_claims(ledger, CONFIGURATION, window=ALL_TIME, where={"user_id": "u1"})
    assert claims.height == 10


# A hundred tokens of input are 0.0001 and two of output 0.00004, against 0.002 a call.
def test_a_model_that_is_rented_has_the_price_that_was_paid(ledger_of: LedgerOf) -> None:
    rented = {"pool": None, "replica": None, "timing_source": "stream", "endpoint": "/talk"}
    calls = [*(call(n) for n in range(20)), *(call(n, "rented", **rented) for n in range(20))]
    found = row(ledger_of(calls, CONFIGURATION))
    assert (found["other_model"], found["other_cost"]) == ("rented", Decimal("0.0028"))


def test_a_model_that_costs_more_is_no_other(ledger_of: LedgerOf) -> None:
    calls = [
        *(call(n, "small") for n in range(20)),
        *(spoken(n, "large") for n in range(20)),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    found = row(ledger, "small")
    assert (found["simple_count"], found["other_model"], found["saved_cost"]) == (20, None, None)
    assert routing_claims(ledger, CONFIGURATION, window=ALL_TIME).is_empty()
    notes = routing(ledger, CONFIGURATION).notes
    assert any("no other model of the ledger has a lower price" in note for note in notes)


@pytest.mark.parametrize(
    "columns",
    [
        {"completion": LONG},
        {"uncached_input_tokens": 2_001},
        {"visible_output_tokens": 65},
        {"reasoning_tokens": 40},
        {"tools_tokens": 9},
        {"status": "error"},
    ],
    ids=["prose", "long prompt", "long answer", "reasoning", "tools", "failed"],
)
def test_work_that_may_be_hard_is_not_simple(ledger_of: LedgerOf, columns: dict[str, Any]) -> None:
    calls = [*(call(n, **columns) for n in range(20)), *(spoken(n) for n in range(20))]
    ledger = ledger_of(calls, CONFIGURATION)
    assert row(ledger)["simple_count"] == 0
    assert routing_claims(ledger, CONFIGURATION, window=ALL_TIME).is_empty()


def test_an_endpoint_that_is_seldom_simple_is_left_alone(ledger_of: LedgerOf) -> None:
    mixed = [call(n) if n % 3 else call(n, completion=f"{LONG} {n}.") for n in range(60)]
    harder = [call(n) if n % 3 == 0 else call(n, completion=f"{LONG} {n}.") for n in range(60)]
    beside = [spoken(n) for n in range(20)]
    assert row(ledger_of([*mixed, *beside], CONFIGURATION))["simple_count"] == 40
    assert row(ledger_of([*harder, *beside], CONFIGURATION))["simple_count"] == 0


@pytest.mark.parametrize("by", [("model",), ("hour",), ("user_id",), ()])
def test_groups_of_any_kind_add_up_to_the_whole(ledger_of: LedgerOf, by: tuple[str, ...]) -> None:
    calls = [call(n * 7, user_id=f"u{n % 4}") for n in range(24)]
    ledger = ledger_of([*calls, *(spoken(n) for n in range(20))], CONFIGURATION)
    sums = [pl.col("call_count", "simple_count").sum(), pl.col("simple_cost").sum()]
    whole = routing(ledger, CONFIGURATION).frame.select(sums).row(0)
    assert routing(ledger, CONFIGURATION, by=by).frame.select(sums).row(0) == whole
    assert whole == (44, 24, Decimal("0.048"))


def test_the_model_takes_one_of_the_two_columns(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1)], CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="at most 2"):
        routing(ledger, CONFIGURATION, by=("endpoint", "team"))


def test_what_is_missing_is_said(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1)], Configuration(content="off"))
    with pytest.raises(NoDataError, match="no answer here was measured"):
        routing(ledger, CONFIGURATION)
