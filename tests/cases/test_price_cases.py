"""Cases about prices: what is not known is a dash, and no name matches by its beginning."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.budget import budget
from analysis.calls import calls as asked_calls
from analysis.law import law
from analysis.window import Window
from dashboard.monthly.gather import monthly_figures
from gpuledger.output import write_frame
from ingest.config import Budget, Configuration, Pool, TokenPrice
from ingest.config_plans import Plan

NOV_15 = 1_794_700_800_000_000_000
"""2026-11-15T00:00:00Z in nanoseconds."""


def record(number: int, at: int, **columns: Any) -> dict[str, Any]:
    """A call of five seconds that somebody else's GPUs served."""
    return {
        "call_id": f"{number:032x}",
        "timing_source": "span",
        "arrived_at": at,
        "started_at": at,
        "ended_at": at + 5_000_000_000,
        "uncached_input_tokens": 1_000,
        "visible_output_tokens": 100,
        **columns,
    }


def prices(case: Any) -> Any:
    """Model, cost, source and rule of every call that has a price."""
    return case.rows(
        "r.model, t.token_cost, t.price_source, t.price_rule",
        "token_charges t join calls r using (call_no)",
    )


def test_case_11_unknown_model_is_unpriced_and_not_free(case: Any, t0: int) -> None:
    price = TokenPrice(model="m", input_per_mtok=Decimal(100), output_per_mtok=Decimal(0))
    terms = Configuration(token_prices=(price,))
    models = ["m"] * 90 + ["new-model-x"] * 10
    calls = [record(n, t0, model=model, endpoint="/a") for n, model in enumerate(models)]
    case.take(records=calls, configuration=terms)
    answer = law(case.ledger, terms)
    found = [(row["line"], row["N"], row["cost"]) for row in answer.frame.to_dicts()]
    assert found == [("calls", 90, Decimal(9)), ("unpriced", 10, None)]
    (note,) = [note for note in answer.notes if "coverage" in note]
    assert note == (
        "9.00 USD + 10 unpriced calls, coverage 90.0%: 90 of 100 have a price; "
        "`gpuledger check` says why"
    )


def test_case_11_an_unpriced_row_shows_a_dash_and_a_budget_warns(
    case: Any, t0: int, capsys: pytest.CaptureFixture[str]
) -> None:
    price = TokenPrice(model="m", input_per_mtok=Decimal(100), output_per_mtok=Decimal(0))
    limit = Budget(scope={"endpoint": "/a"}, month="2026-11", amount=Decimal(10))
    terms = Configuration(token_prices=(price,), budgets=(limit,))
    models = ["m"] * 90 + ["new-model-x"] * 10
    calls = [record(n, t0, model=model, endpoint="/a") for n, model in enumerate(models)]
    case.take(records=calls, configuration=terms)
    write_frame(law(case.ledger, terms).frame.select("line", "N", "cost"), "table")
    table = capsys.readouterr().out.split()
    assert table[table.index("unpriced") :] == ["unpriced", "10", "–"]
    (row,) = budget(case.ledger, terms).frame.to_dicts()
    assert (row["spent"], row["used_ratio"], row["N"]) == (Decimal(9), 0.9, 100)
    assert (row["unpriced_count"], row["coverage_ratio"]) == (10, 0.9)
    assert row["warning"] == (
        "10 of 100 calls have no price, coverage 90.0%: more is spent than this"
    )


@pytest.mark.parametrize(
    ("provider", "model", "rule"),
    [
        ("openai", "gpt-4.1", "openai/gpt-4.1: exact name"),
        ("openai", "gpt-4.1@20260101", "openai/gpt-4.1: date stripped"),
        ("openai", "gpt-4.9", None),
        (
            "anthropic",
            "claude-sonnet-4-5[1m]",
            "anthropic/claude-sonnet-4-5: context size stripped",
        ),
        (
            None,
            "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0: version stripped",
        ),
    ],
)
def test_case_12_a_name_is_matched_whole_and_says_by_which_rule(
    case: Any, t0: int, provider: str | None, model: str, rule: str | None
) -> None:
    named = {"model": model} | ({} if provider is None else {"provider": provider})
    case.take(records=[record(1, t0, **named)])
    assert [row[3] for row in prices(case)] == ([] if rule is None else [rule])


def test_case_13_a_deployment_of_azure_is_priced_by_the_model_that_answered(
    case: Any, make_chat: Any
) -> None:
    asked = {"gen_ai.request.model": "prod-chat-eu", "gen_ai.provider.name": "azure.ai.openai"}
    answered = asked | {"gen_ai.response.model": "gpt-4o-2024-08-06"}
    case.take(make_chat("1", more=answered), make_chat("2", more=asked, trace="b" * 32))
    assert case.rows("model_requested, model") == [
        ("prod-chat-eu", "gpt-4o-2024-08-06"),
        ("prod-chat-eu", None),
    ]
    assert [(row[0], row[3]) for row in prices(case)] == [
        ("gpt-4o-2024-08-06", "openai/gpt-4o: exact name")
    ]


def test_case_15_route_and_reported_cost_decide_the_price(case: Any, t0: int) -> None:
    def grok(provider: str, cost: int) -> TokenPrice:
        return TokenPrice(
            model="x-ai/grok-3",
            provider=provider,
            input_per_mtok=Decimal(cost),
            output_per_mtok=Decimal(5 * cost),
        )

    terms = Configuration(token_prices=(grok("a", 3), grok("a-fast", 5)))
    routes = ["a", "a-fast", "broker"]
    reported = {"reported_cost": "0.0042", "reported_currency": "USD"}
    calls = [
        record(n, t0, model="x-ai/grok-3", provider=provider, **reported)
        for n, provider in enumerate(routes)
    ]
    case.take(records=calls, configuration=terms)
    assert [row[1:3] for row in prices(case)] == [
        (Decimal("0.0042"), "reported"),
        (Decimal("0.0045"), "configuration"),
        (Decimal("0.0075"), "configuration"),
    ]


def test_case_16_each_call_has_the_price_of_its_instant(case: Any) -> None:
    def price(cost: int, since: datetime | None) -> TokenPrice:
        return TokenPrice(
            model="m",
            input_per_mtok=Decimal(cost),
            output_per_mtok=Decimal(0),
            effective_from=since,
        )

    terms = Configuration(
        token_prices=(price(3, None), price(2, datetime(2026, 11, 15, tzinfo=UTC)))
    )
    million = {"model": "m", "uncached_input_tokens": 1_000_000, "visible_output_tokens": 0}
    calls = [record(1, NOV_15 - 1_000_000_000, **million), record(2, NOV_15, **million)]
    case.take(records=calls, configuration=terms)
    assert case.cost() == Decimal(5)


def test_case_17_currencies_are_never_added(case: Any, t0: int) -> None:
    terms = Configuration(
        currency="EUR",
        pools=(Pool(name="own", models=("m",), price_per_gpu_hour=Decimal("3.60")),),
    )
    own = record(1, t0, model="m", endpoint="/a")
    rented = record(2, t0, model="gpt-4o", provider="openai", endpoint="/a")
    case.take(records=[own, rented], configuration=terms)
    lines = [row for row in law(case.ledger, terms).frame.to_dicts() if row["line"] == "calls"]
    assert {(row["currency"], row["basis"], row["cost"]) for row in lines} == {
        ("EUR", "gpu", Decimal("0.005")),
        ("USD", "token", Decimal("0.0035")),
    }


def test_case_18_a_flat_plan_is_spread_by_use_beside_its_list_price(case: Any, t0: int) -> None:
    seat = Plan(name="seat", scope={"service": "coder"}, price_per_month=Decimal(100))
    price = TokenPrice(model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(0))
    terms = Configuration(token_prices=(price,), plans=(seat,))
    used = {"/edit": 32_370_000, "/review": 10_790_000}
    calls = [
        record(
            number,
            t0,
            model="m",
            service="coder",
            endpoint=endpoint,
            uncached_input_tokens=tokens,
        )
        for number, (endpoint, tokens) in enumerate(used.items())
    ]
    case.take(records=calls, configuration=terms)
    november = Window.month("2026-11", "UTC")
    answer = law(case.ledger, terms, window=november)
    found = answer.frame.select("endpoint", "basis", "cost", "list_cost").rows()
    assert found == [
        ("/edit", "plan", Decimal(75), Decimal("32.37")),
        ("/review", "plan", Decimal(25), Decimal("10.79")),
    ]
    said = "paid by plans: 100.00 USD, spread by list price; the same calls would cost 43.16 USD"
    assert any(note.startswith(said) for note in answer.notes)
    listed = asked_calls(case.ledger, terms).frame
    assert (listed["cost"].sum(), listed["list_cost"].sum()) == (Decimal(100), Decimal("43.16"))
    figures = monthly_figures(case.ledger, terms, "2026-11", "UTC")
    assert figures.summary.cost == Decimal(100)


def test_case_19_a_self_hosted_model_costs_its_gpus(case: Any, t0: int) -> None:
    terms = Configuration(
        pools=(
            Pool(name="own", models=("hosted_vllm/llama-70b",), price_per_gpu_hour=Decimal("3.60")),
        )
    )
    hosted = record(
        1,
        t0,
        model="hosted_vllm/llama-70b",
        endpoint="/a",
        uncached_input_tokens=1_000_000,
        ended_at=t0 + 600_000_000_000,
    )
    case.take(records=[hosted], configuration=terms)
    (line,) = [row for row in law(case.ledger, terms).frame.to_dicts() if row["line"] == "calls"]
    assert (line["basis"], line["cost"], line["gpu_seconds"]) == ("gpu", Decimal("0.6"), 600.0)
    assert case.cost() is None
