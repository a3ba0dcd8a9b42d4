"""What a call, 1,000 tokens, a conversation and a resolved workflow cost."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.errors import NoDataError
from analysis.law import law
from analysis.unit_costs import UNITS, unit_costs
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
BEGIN = 1_793_491_200 * S  # 2026-11-01T00:00:00Z
NOVEMBER = Window.month("2026-11", "UTC")
TERMS = Configuration(
    pools=(
        Pool(name="p", models=("own",), price_per_gpu_hour=Decimal(36)),  # a cent a second
        Pool(name="free", models=("nobody",)),
    ),
    token_prices=(TokenPrice(model="r", input_per_mtok=Decimal(1), output_per_mtok=Decimal(10)),),
)


def call(number: int, model: str = "own", **columns: Any) -> dict[str, Any]:
    """Call `number`: ten seconds alone, 500 tokens in and 200 out; by the token 0.0025 USD."""
    at = BEGIN + number * 60 * S
    own = {"replica": "r0", "timing_source": "engine"}
    return (
        {
            "call_id": str(number),
            "endpoint": "/chat",
            "model": model,
            "started_at": at,
            "first_token_at": at + S,
            "ended_at": at + 10 * S,
            "uncached_input_tokens": 500,
            "visible_output_tokens": 200,
            "timing_source": "stream",
        }
        | (own if model in ("own", "nobody") else {})
        | columns
    )


def with_root(ledger: Ledger, trace: str, status: str) -> None:
    """Adds the root span of a trace."""
    ledger.connection.execute(
        "insert into spans values (?, 'root', null, 'POST', 'server', ?, ?, ?, null, null, null,"
        " '{}', '{}', '[]', 0, '', 0)",
        [trace, BEGIN, BEGIN + S, status],
    )


def rows(ledger: Ledger, **asked: Any) -> list[dict[str, Any]]:
    found = unit_costs(ledger, TERMS, window=NOVEMBER, **asked).frame
    return found.to_dicts()


def test_the_bill_of_a_group_is_divided_by_what_it_paid_for(ledger_of: LedgerOf) -> None:
    talks = [{"conversation_id": "c1"}, {"conversation_id": "c1"}, {"conversation_id": "c2"}, {}]
    (row,) = rows(ledger_of([call(n, **talk) for n, talk in enumerate(talks)], TERMS))
    assert (row["cost"], row["gpu_seconds"], row["currency"]) == (Decimal("0.4"), 40, "USD")
    assert (row["call_count"], row["cost_per_call"]) == (4, Decimal("0.1"))
    assert (row["gpu_seconds_per_call"], row["gpu_seconds_per_conversation"]) == (10, 15)
    assert (row["cost_per_1k_input_tokens"], row["cost_per_1k_output_tokens"]) == (
        Decimal("0.2"), Decimal("0.5"),
    )  # fmt: skip
    # The three calls of the two conversations cost 0.30; the fourth is of none that is known.
    assert (row["conversation_cost"], row["cost_per_conversation"]) == (
        Decimal("0.3"), Decimal("0.15"),
    )  # fmt: skip
    assert (row["conversation_count"], row["no_conversation_count"]) == (2, 1)
    # Without a trace a conversation is a workflow, and a call that has none of both.
    assert (row["workflow_count"], row["resolved_count"]) == (3, 3)
    assert row["cost_per_resolved_workflow"] == pytest.approx(Decimal("0.4") / 3)


def test_a_workflow_is_resolved_by_its_root_else_by_its_last_call(ledger_of: LedgerOf) -> None:
    failed = {"status": "error"}
    ledger = ledger_of(
        [
            call(0, trace_id="good", span_id="a"),
            call(1, trace_id="good", span_id="b", **failed),
            call(2, trace_id="bad", span_id="c"),
            call(3, trace_id="no root", span_id="d", **failed),
            call(4, trace_id="no root", span_id="e"),
            call(5, conversation_id="given up"),
            call(6, conversation_id="given up", **failed),
            call(7, **failed),
        ],
        TERMS,
    )
    with_root(ledger, "good", "unset")
    with_root(ledger, "bad", "error")
    (row,) = rows(ledger)
    # Resolved are "good", whose root is no error, and "no root", whose last call is ok.
    assert (row["workflow_count"], row["resolved_count"]) == (5, 2)
    assert (row["cost"], row["cost_per_resolved_workflow"]) == (Decimal("0.8"), Decimal("0.4"))


def test_calls_without_a_price_stand_apart(ledger_of: LedgerOf) -> None:
    calls = [call(0), call(1, "nobody"), call(2, "unknown"), call(3, "r")]
    answer = unit_costs(ledger_of(calls, TERMS), TERMS, window=NOVEMBER)
    priced, unpriced = answer.frame.to_dicts()
    assert (priced["call_count"], priced["cost"], priced["unpriced_count"]) == (
        2, Decimal("0.1025"), 2,
    )  # fmt: skip
    assert (unpriced["call_count"], unpriced["cost"], unpriced["cost_per_call"]) == (2, None, None)
    assert (unpriced["gpu_seconds"], unpriced["currency"]) == (10, None)
    assert "without a price, hence in no cost: 2 calls" in answer.notes


def test_what_is_not_on_a_pool_has_no_gpu_seconds_and_no_output_is_told(
    ledger_of: LedgerOf,
) -> None:
    embedded = {"visible_output_tokens": None, "operation": "embeddings"}
    calls = [call(0, "r"), call(1, "r", **embedded)]
    answer = unit_costs(ledger_of(calls, TERMS), TERMS, window=NOVEMBER)
    (row,) = answer.frame.to_dicts()
    assert (row["gpu_seconds"], row["gpu_seconds_per_call"]) == (None, None)
    assert (row["output_tokens"], row["unknown_output_count"]) == (200, 1)
    assert row["cost_per_1k_output_tokens"] == Decimal("0.015")
    assert "output not told, hence in no 1,000 tokens but in the cost: 1 call" in answer.notes


def traffic() -> list[dict[str, Any]]:
    dice = np.random.default_rng(2)
    return [
        call(
            n * 7,
            str(dice.choice(["own", "r", "nobody", "unknown"])),
            endpoint=f"/{n % 3}",
            team=[None, "a", "b"][n % 3 - n % 2],
            conversation_id=[None, f"c{n % 5}"][n % 2],
            user_id=f"u{n % 4}",
            ended_at=BEGIN + n * 420 * S + int(dice.integers(2, 900)) * S,
        )
        for n in range(90)
    ]


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    """Ninety calls, paid in every way."""
    return ledger_of(traffic(), TERMS)


@pytest.mark.parametrize(
    "by", [(), ("endpoint",), ("team", "day"), ("user_id",), ("conversation_id",), ("hour",)]
)
def test_unit_times_count_is_what_the_law_says(ledger: Ledger, by: tuple[str, ...]) -> None:
    frame = unit_costs(ledger, TERMS, by=by, window=NOVEMBER).frame
    lines = law(ledger, TERMS, by=by, window=NOVEMBER).frame.filter(pl.col("line") != "idle")
    assert frame["cost"].sum() == lines["cost"].sum()
    assert frame["call_count"].sum() == lines["N"].sum() == 90
    assert frame["gpu_seconds"].sum() == pytest.approx(float(lines["gpu_seconds"].sum()))
    for row in frame.to_dicts():
        for unit, (column, size) in UNITS.items():
            if row[f"cost_per_{unit}"] is not None:
                whole = "conversation_cost" if unit == "conversation" else "cost"
                product = row[f"cost_per_{unit}"] * row[column] / size
                assert product == pytest.approx(row[whole], abs=Decimal("1e-9"))


def test_a_filter_by_conversation_is_all_of_it(ledger: Ledger) -> None:
    (row,) = rows(ledger, by=(), where={"conversation_id": "c1", "model": "own"})
    assert row["conversation_cost"] == row["cost"]
    (row,) = rows(ledger, by=(), where={"conversation_id": None, "model": "own"})
    assert (row["conversation_cost"], row["cost_per_conversation"]) == (0, None)


def test_no_call_is_said(ledger: Ledger) -> None:
    with pytest.raises(NoDataError, match="no calls with origin=production, team=x"):
        rows(ledger, where={"team": "x"})
