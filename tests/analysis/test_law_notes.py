"""What is said beside the lines of the law of exchange rates."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.explain import explain
from analysis.law import law
from analysis.window import Window
from analysis.wording import part_text
from ingest.config import Configuration, ExchangeRate, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
NOVEMBER = 1_793_491_200 * S  # 2026-11-01T00:00:00Z
CONFIGURATION = Configuration(
    currency="EUR",
    token_prices=(
        TokenPrice(
            model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(1), currency="USD"
        ),
        TokenPrice(
            model="own", input_per_mtok=Decimal(1), output_per_mtok=Decimal(1), currency="EUR"
        ),
    ),
    exchange_rates=tuple(
        ExchangeRate(
            source="USD",
            target="EUR",
            rate=Decimal(rate),
            effective_from=datetime(2026, month, 1, tzinfo=UTC),
        )
        for rate, month in (("0.92", 10), ("0.95", 11))
    ),
)
FIRST = "converted: the cost of 1 call, 1 USD = 0.92 EUR since 2026-10-01"
SECOND = "converted: the cost of 2 calls, 1 USD = 0.95 EUR since 2026-11-01"


def call(name: str, at: int, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": "/chat",
        "model": "m",
        "timing_source": "stream",
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 2 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


CALLS = (
    call("1", NOVEMBER - 86_400 * S),
    call("2", NOVEMBER + S, user_id="u"),
    call("3", NOVEMBER + 9 * S),
    call("4", NOVEMBER, model="own"),
)


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    return ledger_of(CALLS, CONFIGURATION)


def conversions(notes: tuple[str, ...]) -> list[str]:
    return [note for note in notes if "converted" in note]


def test_a_converted_cost_shows_its_rates_and_dates(ledger: Ledger) -> None:
    answer = law(ledger, CONFIGURATION)
    assert set(answer.frame["currency"]) == {"EUR"}
    assert conversions(answer.notes) == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("month", "where", "said"),
    [
        pytest.param("2026-10", {}, [FIRST], id="a month has the rate of that month"),
        pytest.param("2026-11", {"model": "own"}, [], id="nothing was converted"),
        pytest.param(
            "2026-11",
            {"user_id": "u"},
            ["converted: the cost of 1 call, 1 USD = 0.95 EUR since 2026-11-01"],
            id="one caller",
        ),
    ],
)
def test_only_rates_that_the_answer_rests_on_are_shown(
    ledger: Ledger, month: str, where: dict[str, str | None], said: list[str]
) -> None:
    answer = law(ledger, CONFIGURATION, window=Window.month(month, "UTC"), where=where)
    assert conversions(answer.notes) == said


def test_explain_shows_the_rates_of_both_months(ledger: Ledger) -> None:
    before, after = (Window.month(month, "UTC") for month in ("2026-10", "2026-11"))
    answer = explain(ledger, CONFIGURATION, before=before, after=after)
    assert conversions(answer.notes) == [f"before: {FIRST}", f"after: {SECOND}"]


def test_what_is_priced_in_two_currencies_is_joined_by_one_plus(ledger_of: LedgerOf) -> None:
    calls = [
        call("1", NOVEMBER + S),
        call("2", NOVEMBER + 2 * S, model="own"),
        call("3", NOVEMBER + 3 * S, model="neither"),
    ]
    terms = Configuration(token_prices=CONFIGURATION.token_prices)
    notes = law(ledger_of(calls, terms), terms).notes
    assert (
        "0.000110 EUR + 0.000110 USD + 1 unpriced call, coverage 66.7%: 2 of 3 have a price; "
        "`gpuledger check` says why"
    ) in notes


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(20, 30, "66.7%"), (9_999, 10_000, "99.9%"), (1, 10_000, "0.1%"), (0, 5, "0.0%")],
)
def test_a_part_is_never_called_all_or_nothing(part: int, whole: int, said: str) -> None:
    assert part_text(part, whole) == said
