"""What is spent of a budget, how far its month is, and how much of the calls has a price."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.budget import budget
from analysis.columns import FILTER_COLUMNS
from analysis.errors import NoDataError
from analysis.law import law
from analysis.window import Window
from ingest.config import Budget, Configuration, Pool, TokenPrice
from ingest.config_scope import SCOPE_COLUMNS
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
DAY = 86_400 * S
NOVEMBER = 1_793_491_200 * S  # 2026-11-01T00:00:00Z
PRICES = tuple(
    TokenPrice(model=model, input_per_mtok=Decimal(1), output_per_mtok=Decimal(0), currency=money)
    for model, money in (("m", "USD"), ("euro", "EUR"))
)
POOL = Pool(name="p", replicas=1, price_per_gpu_hour=Decimal("3.60"))


def call(name: str, day: float, model: str = "m", **columns: Any) -> dict[str, Any]:
    """A call of ten seconds and a million tokens of input, so many days after November began."""
    at = NOVEMBER + round(day * DAY)
    return {
        "call_id": name,
        "team": "search",
        "model": model,
        "timing_source": "stream",
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 10 * S,
        "uncached_input_tokens": 1_000_000,
        "visible_output_tokens": 1,
    } | columns


def rows(ledger: Ledger, configuration: Configuration, **asked: Any) -> list[dict[str, Any]]:
    return budget(ledger, configuration, **asked).frame.to_dicts()


def of(month: str, amount: int, **scope: str) -> Budget:
    return Budget(scope=scope, month=month, amount=Decimal(amount))


def test_spent_is_what_the_calls_of_the_scope_cost_in_the_month(ledger_of: LedgerOf) -> None:
    terms = Configuration(
        token_prices=PRICES,
        budgets=(of("2026-11", 4, team="search"), of("2026-10", 5, team="search")),
    )
    calls = [call("1", -1), call("2", 1), call("3", 31), call("4", 2, team="chat")]
    now, before = rows(ledger_of(calls, terms), terms)
    assert (now["month"], now["spent"], now["used_ratio"]) == ("2026-11", Decimal(1), 0.25)
    assert (before["month"], before["spent"], before["used_ratio"]) == ("2026-10", Decimal(1), 0.2)
    assert (now["elapsed_ratio"], now["coverage_ratio"], now["warning"]) == (1.0, 1.0, None)


def test_a_running_month_is_compared_up_to_the_last_end(ledger_of: LedgerOf) -> None:
    terms = Configuration(pools=(POOL,), budgets=(of("2026-11", 4000),))
    calls = [call("1", 0, pool="p", replica="r"), call("2", 15 - 10 / 86_400, pool="p")]
    (row,) = rows(ledger_of(calls, terms), terms)
    assert row["elapsed_ratio"] == 0.5
    assert row["spent"] == Decimal("3.6") * 24 * 15  # idle or busy, of one GPU
    assert row["scope"] == "all calls and idle time"


def test_spent_of_everything_is_the_bill_of_the_law(ledger_of: LedgerOf) -> None:
    terms = Configuration(
        pools=(POOL,), token_prices=PRICES, budgets=(of("2026-10", 1), of("2026-11", 1))
    )
    calls = [call(str(n), n / 3 - 5, **({"pool": "p"} if n % 2 else {})) for n in range(120)]
    ledger = ledger_of(calls, terms)
    found = rows(ledger, terms)
    assert [(row["month"], row["elapsed_ratio"]) for row in found] == [
        ("2026-11", 1),
        ("2026-10", 1),
    ]
    for row in found:
        window = Window.month(row["month"], "UTC")
        assert row["spent"] == law(ledger, terms, window=window).frame["cost"].sum()


@pytest.mark.parametrize(
    ("month", "elapsed"), [("2026-12", 0.0), ("2026-09", None)], ids=["to come", "before all calls"]
)
def test_a_month_that_the_ledger_does_not_reach_has_no_amount_spent(
    ledger_of: LedgerOf, month: str, elapsed: float | None
) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of(month, 5),))
    (row,) = rows(ledger_of([call("1", 1)], terms), terms)
    assert (row["spent"], row["used_ratio"], row["N"]) == (None, None, None)
    assert row["elapsed_ratio"] == elapsed
    assert row["warning"] == "the ledger does not reach this month"


def test_a_scope_without_calls_has_spent_nothing(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-10", 5, team="chat"),))
    (row,) = rows(ledger_of([call("1", -2), call("2", 1)], terms), terms)
    assert (row["spent"], row["N"], row["coverage_ratio"]) == (Decimal(0), 0, None)


def test_calls_that_all_lack_a_price_are_not_free(ledger_of: LedgerOf) -> None:
    terms = Configuration(budgets=(of("2026-11", 5),))
    (row,) = rows(ledger_of([call("1", 1, "no-such-model")], terms), terms)
    assert (row["spent"], row["coverage_ratio"]) == (None, 0.0)
    assert row["warning"].startswith("1 of 1 call have no price, coverage 0.0%")


def daily(count: int) -> list[dict[str, Any]]:
    """A call of 1 USD on each of so many days, the last of which are in November."""
    return [call(str(day), day) for day in range(15 - count, 15)]


def test_a_running_month_is_forecast_and_compared_with_its_amount(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 40, team="search"),))
    # The last of 29 calls begins the 15th of November, whose 15 calls cost 15.
    (row,) = rows(ledger_of(daily(29), terms), terms)
    assert row["elapsed_ratio"] == pytest.approx(14 / 30, abs=1e-5)
    assert row["per_day_cost"] == pytest.approx(Decimal(15) / 14, abs=Decimal("1e-4"))
    assert (row["spent"], row["forecast_cost"], row["high_cost"]) == (15, 30, 30)
    assert (row["low_cost"], row["exceeds"]) == (30, "no")


@pytest.mark.parametrize(("amount", "exceeds"), [(14, "exceeded"), (29, "expected"), (30, "no")])
def test_whether_a_month_exceeds_its_amount_is_said_before_it_does(
    ledger_of: LedgerOf, amount: int, exceeds: str
) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", amount),))
    (row,) = rows(ledger_of(daily(29), terms), terms)
    assert row["exceeds"] == exceeds


def test_between_the_bounds_a_budget_is_likely_or_possibly_exceeded(ledger_of: LedgerOf) -> None:
    varied = [
        one | {"uncached_input_tokens": 1_000_000 + day * 7919 % 11 * 100_000}
        for day, one in enumerate(daily(29))
    ]
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 0),))
    ledger = ledger_of(varied, terms)
    (row,) = rows(ledger, terms)
    low, middle, high = (row[name] for name in ("low_cost", "forecast_cost", "high_cost"))
    assert low < middle < high
    for amount, exceeds in ((middle - 1, "likely"), (middle + 1, "possible")):
        asked = Configuration(
            token_prices=PRICES, budgets=(Budget(scope={}, month="2026-11", amount=amount),)
        )
        assert rows(ledger, asked)[0]["exceeds"] == exceeds


def test_a_month_that_is_over_is_forecast_as_spent(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-10", 5), of("2026-12", 5)))
    to_come, over = rows(ledger_of(daily(29), terms), terms)
    assert over["forecast_cost"] == over["low_cost"] == over["high_cost"] == over["spent"] == 14
    assert over["exceeds"] == "exceeded"
    assert (to_come["forecast_cost"], to_come["exceeds"]) == (None, None)


def test_two_days_are_no_forecast(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 5),))
    (row,) = rows(ledger_of([call("1", 1), call("2", 2)], terms), terms)
    assert (row["spent"], row["forecast_cost"], row["exceeds"]) == (2, None, None)
    assert row["per_day_cost"] == pytest.approx(Decimal(1), abs=Decimal("1e-3"))


def test_another_currency_is_told_and_not_added(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 5),))
    (row,) = rows(ledger_of([call("1", 1), call("2", 2, "euro")], terms), terms)
    assert (row["spent"], row["currency"]) == (Decimal(1), "USD")
    assert "1.000000000 EUR are spent besides" in row["warning"]


def test_the_month_is_that_of_the_zone(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 5), of("2026-10", 5)))
    ledger = ledger_of([call("1", -0.3), call("2", 35)], terms)
    assert [row["spent"] for row in rows(ledger, terms)] == [Decimal(0), Decimal(1)]
    tokyo = rows(ledger, terms, timezone="Asia/Tokyo")
    assert [row["spent"] for row in tokyo] == [Decimal(1), None]


def test_one_month_can_be_asked_for(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=PRICES, budgets=(of("2026-11", 5), of("2026-10", 5)))
    ledger = ledger_of([call("1", 1)], terms)
    assert [row["month"] for row in rows(ledger, terms, where={"month": "2026-10"})] == ["2026-10"]
    with pytest.raises(NoDataError, match="no budget of 2027-01 is configured"):
        budget(ledger, terms, where={"month": "2027-01"})


def test_no_budget_is_said(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match=r"no budget is configured; give one under \[\[budgets"):
        budget(ledger_of([call("1", 1)], Configuration()), Configuration())


def test_what_a_scope_names_is_what_the_law_filters_by() -> None:
    assert set(SCOPE_COLUMNS) <= set(FILTER_COLUMNS)
