"""What a million tokens cost on own GPUs, and what they would cost by the token."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from genai_prices import Usage

from analysis.errors import NoDataError, WrongQuestionError
from analysis.law import law
from analysis.prices import prices
from analysis.window import Window
from ingest.charging.catalogue import sellers_of
from ingest.charging.token_prices import offers_of
from ingest.config import Configuration, ExchangeRate, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
FIRST = datetime(2026, 11, 2, tzinfo=UTC)
BEGIN = int(FIRST.timestamp()) * S
HOUR = Window(since=BEGIN, until=BEGIN + 3600 * S)
OWN = Pool(name="p", models=("own", "qwen3-32b"), price_per_gpu_hour=Decimal(36))  # a cent a second


def listed(price: int, **more: Any) -> TokenPrice:
    """A price per million tokens of input; output costs ten times as much, cached a tenth."""
    return TokenPrice(
        model="own",
        input_per_mtok=Decimal(price),
        output_per_mtok=Decimal(10 * price),
        cache_read_per_mtok=Decimal(price) / 10,
        **more,
    )


def terms(*token_prices: TokenPrice, **more: Any) -> Configuration:
    return Configuration(pools=(OWN,), token_prices=token_prices, **more)


def call(number: int, **columns: Any) -> dict[str, Any]:
    """Ten seconds alone, one of them prefill: 600 tokens in, 400 of them cached, and 200 out."""
    at = BEGIN + number * 60 * S
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "model": "own",
        "replica": "r0",
        "timing_source": "engine",
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 10 * S,
        "uncached_input_tokens": 200,
        "cache_read_tokens": 400,
        "visible_output_tokens": 150,
        "reasoning_tokens": 50,
    } | columns


def rented(number: int, model: str = "r") -> dict[str, Any]:
    return call(number, model=model, replica=None, timing_source="stream")


def rows(ledger: Ledger, configuration: Configuration, **asked: Any) -> list[dict[str, Any]]:
    found = prices(ledger, configuration, window=HOUR, **asked).frame
    return found.to_dicts()


def test_own_gpus_have_a_price_per_million_tokens_with_and_without_idle_time(
    ledger_of: LedgerOf,
) -> None:
    configuration = terms(listed(1))
    (row,) = rows(ledger_of([call(0), call(1)], configuration), configuration)
    assert (row["model"], row["basis"], row["call_count"], row["cost"]) == (
        "own", "gpu", 2, Decimal("0.2"),
    )  # fmt: skip
    assert (row["input_tokens"], row["output_tokens"]) == (1200, 400)
    assert (row["cost_per_mtok"], row["cost_with_idle"]) == (Decimal(125), Decimal(36))
    assert row["cost_with_idle_per_mtok"] == Decimal(22_500)
    # Two seconds of prefill for 1,200 tokens, eighteen of decode for 400.
    assert row["prefill_cost_per_mtok"] == pytest.approx(Decimal("0.02") * 1_000_000 / 1200)
    assert row["decode_cost_per_mtok"] == Decimal("0.18") * 1_000_000 / 400


def test_the_same_tokens_cost_what_the_configuration_says_of_their_model(
    ledger_of: LedgerOf,
) -> None:
    configuration = terms(listed(1))
    (row,) = rows(ledger_of([call(0), call(1)], configuration), configuration)
    # Each: 200 at 1, 400 at 0.1 and 200 at 10 a million.
    assert row["token_cost"] == row["dearest_token_cost"] == 2 * Decimal("0.00224")
    assert (row["seller"], row["token_currency"]) == ("configuration", "USD")
    assert row["token_cost_per_mtok"] == Decimal("2.8")
    assert row["cost_ratio"] == pytest.approx(36 / 0.00448)
    assert (row["listed_count"], row["unlisted_count"]) == (2, 0)


def test_prices_are_those_of_the_day_and_money_is_converted_at_its_rate(
    ledger_of: LedgerOf,
) -> None:
    later = FIRST + timedelta(minutes=15)
    configuration = terms(
        listed(1, currency="EUR"),
        listed(3, currency="EUR", effective_from=later),
        exchange_rates=(
            ExchangeRate(source="EUR", target="USD", rate=Decimal(2), effective_from=FIRST),
        ),
    )
    (row,) = rows(ledger_of([call(0), call(20)], configuration), configuration)
    assert (row["token_cost"], row["token_currency"]) == (Decimal("0.01792"), "USD")


def test_what_has_no_list_price_is_unlisted_and_never_free(ledger_of: LedgerOf) -> None:
    configuration = terms()
    answer = prices(ledger_of([call(0)], configuration), configuration, window=HOUR)
    (row,) = answer.frame.to_dicts()
    assert (row["token_cost"], row["seller"], row["cost_ratio"]) == (None, None, None)
    assert (row["listed_count"], row["unlisted_count"]) == (0, 1)
    assert "or of a model that nobody sells: the tokens of 1 call on own GPUs" in answer.notes[-1]
    partly = terms(listed(1))
    untold = call(1, visible_output_tokens=None, reasoning_tokens=None)
    (row,) = rows(ledger_of([call(0), untold], partly), partly)
    assert (row["token_cost"], row["unlisted_count"]) == (Decimal("0.00224"), 1)
    assert (row["token_cost_per_mtok"], row["cost_ratio"]) == (None, None)


def test_models_sold_in_other_currencies_are_in_no_sum_and_no_ratio(ledger_of: LedgerOf) -> None:
    abroad = TokenPrice(
        model="other", input_per_mtok=Decimal(1), output_per_mtok=Decimal(10), currency="EUR"
    )
    both = Pool(name="p", models=("own", "other"), price_per_gpu_hour=Decimal(36))
    configuration = Configuration(pools=(both,), token_prices=(listed(1), abroad))
    ledger = ledger_of([call(0), call(1, model="other")], configuration)
    (row,) = rows(ledger, configuration, by=("endpoint",))
    assert (row["token_cost"], row["token_currency"]) == (Decimal("0.00224"), "USD")
    assert (row["listed_count"], row["unlisted_count"]) == (1, 1)
    assert (row["token_cost_per_mtok"], row["cost_ratio"]) == (None, None)


def test_a_model_of_the_catalogue_costs_between_its_cheapest_and_its_dearest_seller(
    ledger_of: LedgerOf,
) -> None:
    configuration = terms()
    one = call(0, model="qwen3-32b", cache_read_tokens=0, reasoning_tokens=0)
    (row,) = rows(ledger_of([one], configuration), configuration)
    offers = offers_of("qwen3-32b", (), "USD")
    assert len(offers) > 2
    costs = [
        entry.model.calc_price(
            Usage(input_tokens=200, output_tokens=150),
            entry.provider,
            genai_request_timestamp=FIRST,
            auto_update_timestamp=None,
        ).total_price
        for entry in sellers_of("qwen3-32b")
        if entry.rule in offers
    ]
    assert (row["token_cost"], row["dearest_token_cost"]) == (min(costs), max(costs))
    assert {row["seller"], row["dearest_seller"]} <= set(offers)


def test_names_that_say_another_model_are_no_sellers_of_it() -> None:
    names = {entry.model.id.lower().rpartition("/")[2] for entry in sellers_of("Qwen/Qwen3-32B")}
    assert "qwen3-32b" in names
    assert not {name for name in names if "awq" in name or "free" in name or "30b" in name}
    assert sellers_of("no-such-model") == []


def test_what_is_rented_has_its_price_per_million_tokens(ledger_of: LedgerOf) -> None:
    configuration = terms(
        TokenPrice(model="r", input_per_mtok=Decimal(1), output_per_mtok=Decimal(4))
    )
    answer = prices(
        ledger_of([rented(0), rented(1, "none")], configuration), configuration, window=HOUR
    )
    one, unpriced = answer.frame.to_dicts()
    assert (one["basis"], one["cost"], one["cost_per_mtok"]) == (
        "token", Decimal("0.0014"), Decimal("1.75"),
    )  # fmt: skip
    assert (one["cost_with_idle"], one["token_cost"]) == (one["cost"], None)
    assert (unpriced["basis"], unpriced["cost"], unpriced["cost_per_mtok"]) == (
        "unpriced", None, None,
    )  # fmt: skip


@pytest.mark.parametrize("by", ["model", "endpoint", "team", "pool"])
def test_by_any_column_the_lines_add_up_to_the_bill(ledger_of: LedgerOf, by: str) -> None:
    configuration = terms(listed(1), TokenPrice(
        model="r", input_per_mtok=Decimal(1), output_per_mtok=Decimal(4)
    ))  # fmt: skip
    calls = [
        call(n, endpoint=f"/{n % 3}", team=[None, "a"][n % 2]) if n % 4 else rented(n)
        for n in range(20)
    ]
    ledger = ledger_of(calls, configuration)
    frame = prices(ledger, configuration, by=(by,), window=HOUR).frame
    bill = law(ledger, configuration, by=(by,), window=HOUR).frame
    assert frame["cost_with_idle"].sum() == bill["cost"].sum()
    assert frame["cost"].sum() == bill.filter(pl.col("line") != "idle")["cost"].sum()
    assert frame["token_cost"].sum() == 15 * Decimal("0.00224")


def test_of_a_part_of_a_pool_idle_time_is_nobody_knows_whose(ledger_of: LedgerOf) -> None:
    configuration = terms(listed(1))
    (row,) = rows(ledger_of([call(0)], configuration), configuration, where={"endpoint": "/chat"})
    assert (row["cost"], row["cost_with_idle"], row["cost_ratio"]) == (Decimal("0.1"), None, None)
    assert row["token_cost"] == Decimal("0.00224")


def test_what_cannot_be_asked_is_refused(ledger_of: LedgerOf) -> None:
    configuration = terms()
    ledger = ledger_of([call(0)], configuration)
    for by in (("day",), ("model", "team"), ("user_id",)):
        with pytest.raises(WrongQuestionError, match="prices are by one of origin"):
            prices(ledger, configuration, by=by)
    with pytest.raises(NoDataError, match="no calls with origin=production, team=x"):
        prices(ledger, configuration, where={"team": "x"})
