"""Unusual days: found among days that are alike, with the letter that moved."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from analysis.anomalies import anomalies
from analysis.answer import Answer
from analysis.errors import NoDataError, WrongQuestionError
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
DAY = 86_400 * S
MIDNIGHT = 1_791_158_400 * S  # Monday, 2026-10-05T00:00:00Z
MONDAY = date(2026, 10, 5)
TERMS = Configuration(
    pools=(Pool(name="p", models=("m",), replicas=1, price_per_gpu_hour=Decimal("3.60")),)
)
USUAL = {"calls": 100, "prefill_s": 2, "tokens": 11, "token_s": 1, "at_once": 1}


def day_of(number: int, changed: Mapping[str, int]) -> list[dict[str, Any]]:
    """Day `number`: calls one after another, each of 2 s of prefill and 10 more tokens of 1 s."""
    shape = USUAL | changed
    seconds = shape["prefill_s"] + (shape["tokens"] - 1) * shape["token_s"]
    return [
        {
            "call_id": f"{number} {n}",
            "endpoint": "/chat",
            "model": "m",
            "replica": "r0",
            "timing_source": "engine",
            "arrived_at": (at := MIDNIGHT + number * DAY + n // shape["at_once"] * 100 * S),
            "started_at": at,
            "first_token_at": at + shape["prefill_s"] * S,
            "ended_at": at + seconds * S,
            "uncached_input_tokens": 100,
            "visible_output_tokens": shape["tokens"],
        }
        for n in range(shape["calls"])
    ]


def found_in(
    ledger_of: LedgerOf, days: int, changed: Mapping[int, Mapping[str, int]], **asked: Any
) -> Answer:
    calls = [one for number in range(days) for one in day_of(number, changed.get(number, {}))]
    window = Window(since=MIDNIGHT, until=MIDNIGHT + days * DAY)
    return anomalies(ledger_of(calls, TERMS), TERMS, window=window, **asked)


@pytest.mark.parametrize(
    ("change", "letter"),
    [
        ({"calls": 200}, "N"),
        ({"tokens": 31}, "L"),
        ({"token_s": 3}, "Td"),
        ({"prefill_s": 20}, "Tp"),
        ({"at_once": 4}, "B"),
    ],
)
def test_an_unusual_day_is_found_with_the_letter_that_moved(
    ledger_of: LedgerOf, change: Mapping[str, int], letter: str
) -> None:
    frame = found_in(ledger_of, 20, {17: change}).frame
    assert frame.select("day", "last_day", "day_count", "endpoint", "letter").rows() == [
        (MONDAY + timedelta(17), MONDAY + timedelta(17), 1, "/chat", letter)
    ]


def test_usual_days_are_no_anomaly(ledger_of: LedgerOf) -> None:
    varied = {number: {"calls": 95 + number % 10} for number in range(20)}
    assert found_in(ledger_of, 20, varied).frame.is_empty()


def test_weekends_are_compared_with_weekends(ledger_of: LedgerOf) -> None:
    quiet = {n: {"calls": 10} for n in range(28) if n % 7 >= 5}
    assert found_in(ledger_of, 28, quiet).frame.is_empty()
    busy = quiet | {26: {"calls": 100}}
    assert found_in(ledger_of, 28, busy).frame["day"].to_list() == [MONDAY + timedelta(26)]


def test_days_that_differ_alike_are_one_anomaly_with_their_sums(ledger_of: LedgerOf) -> None:
    row = found_in(ledger_of, 12, {8: {"calls": 200}, 9: {"calls": 300}}).frame.row(0, named=True)
    assert (row["day_count"], row["last_day"]) == (2, MONDAY + timedelta(9))
    # A call is 12 s of a GPU at 3.60 an hour.
    assert row["cost"] == Decimal("0.012") * 500
    assert row["expected_cost"] == Decimal("0.012") * 200
    assert row["difference"] == row["cost"] - row["expected_cost"]


def test_a_day_without_calls_is_absent(ledger_of: LedgerOf) -> None:
    row = found_in(ledger_of, 10, {9: {"calls": 0}}).frame.row(0, named=True)
    assert (row["letter"], row["letter_effect"], row["cost"]) == ("absent", None, 0)


def test_a_day_that_is_not_whole_is_not_judged(ledger_of: LedgerOf) -> None:
    calls = [one for n in range(10) for one in day_of(n, {"calls": 5} if n == 9 else {})]
    ledger = ledger_of(calls, TERMS)
    assert anomalies(ledger, TERMS).frame.is_empty()
    until = Window(since=MIDNIGHT, until=MIDNIGHT + 10 * DAY)
    assert anomalies(ledger, TERMS, window=until).frame.height == 1


def test_too_few_days_are_no_answer(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match="3 whole days here"):
        found_in(ledger_of, 3, {})


@pytest.mark.parametrize("by", [("user_id",), ("day",), ("endpoint", "model"), ()])
def test_groups_must_be_shared_by_many_calls(ledger_of: LedgerOf, by: tuple[str, ...]) -> None:
    with pytest.raises(WrongQuestionError, match="their days are implied"):
        found_in(ledger_of, 5, {}, by=by)


def test_the_letters_effect_is_that_of_the_law_between_the_two_days(ledger_of: LedgerOf) -> None:
    answer = found_in(ledger_of, 6, {5: {"calls": 200}}, by=("model",))
    # Day 5 is a Saturday: alone of its kind, it is not judged.
    assert answer.frame.is_empty()
    answer = found_in(ledger_of, 8, {7: {"calls": 200}}, by=("model",))
    row = answer.frame.row(0, named=True)
    assert (row["letter"], row["letter_effect"]) == ("N", row["difference"])


def test_costs_are_those_of_the_law(ledger_of: LedgerOf) -> None:
    calls = [one for n in range(9) for one in day_of(n, {"calls": 150} if n == 8 else {})]
    ledger = ledger_of(calls, TERMS)
    window = Window(since=MIDNIGHT, until=MIDNIGHT + 9 * DAY)
    frame = law(ledger, TERMS, by=("day", "endpoint"), window=window).frame
    of_day = frame.filter(frame["day"] == MONDAY + timedelta(8), frame["endpoint"] == "/chat")
    assert (
        anomalies(ledger, TERMS, window=window).frame["cost"].to_list() == of_day["cost"].to_list()
    )
