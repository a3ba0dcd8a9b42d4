"""What the month will have cost: spent, expected in its rest, and bounds that hold."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.answer import Answer
from analysis.errors import NoDataError, WrongQuestionError
from analysis.forecast import forecast
from analysis.law import law
from analysis.resampling import alike_of, drawn, interval, levelled, tempered, uniform_draws
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.config_plans import Plan
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
DAY = 86_400 * S
MONDAY = 1_793_577_600 * S  # 2026-11-02T00:00:00Z
NOVEMBER = MONDAY - DAY
PRICE = TokenPrice(model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(0))
RENTED = Configuration(token_prices=(PRICE,))
POOL = Pool(name="p", models=("own",), replicas=2, price_per_gpu_hour=Decimal("3.60"))
OWNED = Configuration(token_prices=(PRICE,), pools=(POOL,))
TEAM = ("team",)


def call(at: int, **columns: Any) -> dict[str, Any]:
    """A call that costs 1 USD by the token and lasts until noon of the day it begins."""
    return {
        "call_id": str(at),
        "team": "search",
        "model": "m",
        "timing_source": "stream",
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + DAY // 2,
        "uncached_input_tokens": 1_000_000,
        "visible_output_tokens": 1,
    } | columns


def busy(at: int, seconds: int, **columns: Any) -> dict[str, Any]:
    """A call that one of the two GPUs of the pool serves alone for so many seconds."""
    own = {"model": "own", "replica": "r", "timing_source": "engine", "ended_at": at + seconds * S}
    return call(at) | own | columns


def daily(days: Iterable[int], **columns: Any) -> list[dict[str, Any]]:
    """A call of 1 USD at midnight of each day, counted from Monday the second."""
    return [call(MONDAY + day * DAY, **columns) for day in days]


def until(day: float) -> Window:
    return Window(until=MONDAY + round(day * DAY))


def lines(answer: Answer) -> list[dict[str, Any]]:
    return answer.frame.to_dicts()


def total_of(answer: Answer) -> dict[str, Any]:
    (row,) = [row for row in lines(answer) if row["line"] == "total"]
    return row


def test_equal_days_go_on_and_leave_nothing_open(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(daily(range(-20, 15)), RENTED)  # 2026-10-13 to 11-16
    answer = forecast(ledger, RENTED, window=until(14), by=TEAM)
    search, total = lines(answer)
    assert (search["line"], search["team"], total["line"]) == ("calls", "search", "total")
    for row in (search, total):
        assert (row["month"], row["elapsed_ratio"]) == ("2026-11", 0.5)
        assert (row["spent_cost"], row["per_day_cost"], row["rest_cost"]) == (15, 1, 15)
        assert (row["forecast_cost"], row["low_cost"], row["high_cost"]) == (30, 30, 30)
        assert row["interval_ratio"] == 0.9
    assert answer.notes[0] == "2026-11 (UTC), spent up to 2026-11-16T00:00:00+00:00"


def test_days_ahead_are_like_those_of_their_weekday(ledger_of: LedgerOf) -> None:
    working = [day for day in range(-21, 13) if day % 7 < 5]
    ledger = ledger_of(daily(working), RENTED)
    row = total_of(forecast(ledger, RENTED, window=until(12)))
    # Spent: 2 to 6 and 9 to 13 November. Ahead: Saturday the 14th to Monday the 30th.
    assert (row["spent_cost"], row["rest_cost"], row["high_cost"]) == (10, 11, 21)


def test_of_the_day_that_runs_only_what_comes_after_that_time_of_other_days(
    ledger_of: LedgerOf,
) -> None:
    evening = [call(MONDAY + day * DAY + DAY * 3 // 4, call_id=f"e{day}") for day in range(-20, 15)]
    ledger = ledger_of([*daily(range(-20, 15)), *evening], RENTED)
    asked = Window(since=MONDAY - 20 * DAY, until=MONDAY + 13 * DAY + DAY // 2)
    row = total_of(forecast(ledger, RENTED, window=asked))
    # Two a day: 13 days are over and half of the 15th; its evening and 15 days are to come.
    assert (row["spent_cost"], row["rest_cost"]) == (29, 31)


def test_a_pool_costs_what_is_provisioned_whoever_calls(ledger_of: LedgerOf) -> None:
    used = [busy(MONDAY + day * DAY, 36_000) for day in range(-14, 15)]
    answer = forecast(ledger_of(used, OWNED), OWNED, window=until(14), by=TEAM)
    calls_row, idle, total = sorted(lines(answer), key=lambda row: row["line"])
    # 2 GPUs of 3.60 an hour for 30 days; 10 hours a day are one call on one of them.
    assert (total["forecast_cost"], total["low_cost"], total["high_cost"]) == (5184, 5184, 5184)
    assert (calls_row["rest_cost"], idle["rest_cost"], idle["pool"]) == (540, 2052, "p")
    assert idle["spent_cost"] + calls_row["spent_cost"] == total["spent_cost"] == 2592
    assert answer.notes[-1].startswith("of the rest, 2,592.00 USD is known")


def test_what_is_provisioned_and_its_price_are_those_of_the_days_ahead(
    ledger_of: LedgerOf,
) -> None:
    later = Pool(
        name="p",
        models=("own",),
        replicas=1,
        price_per_gpu_hour=Decimal("7.20"),
        effective_from=datetime(2026, 11, 21, tzinfo=UTC),
    )
    terms = Configuration(pools=(POOL, later))
    used = [busy(MONDAY + day * DAY, 3600) for day in range(-14, 15)]
    answer = forecast(ledger_of(used, terms), terms, window=until(14), by=TEAM)
    calls_row, idle, total = sorted(lines(answer), key=lambda row: row["line"])
    assert calls_row["rest_cost"] == 5 * Decimal("3.6") + 10 * Decimal("7.2")
    assert total["rest_cost"] == (5 * 2 * Decimal("3.6") + 10 * Decimal("7.2")) * 24
    assert idle["rest_cost"] == total["rest_cost"] - calls_row["rest_cost"]


def test_no_more_is_busy_than_is_provisioned(ledger_of: LedgerOf) -> None:
    shrunk = Pool(
        name="p",
        models=("own",),
        replicas=0,
        price_per_gpu_hour=Decimal("3.60"),
        effective_from=datetime(2026, 11, 16, tzinfo=UTC),
    )
    terms = Configuration(pools=(POOL, shrunk))
    used = [busy(MONDAY + day * DAY, 3600) for day in range(-14, 15)]
    answer = forecast(ledger_of(used, terms), terms, window=until(14), by=TEAM)
    assert total_of(answer)["rest_cost"] == 0


def test_the_lines_add_up_and_spent_is_that_of_the_law(ledger_of: LedgerOf) -> None:
    dice = np.random.default_rng(3)
    rented = {"model": "m", "replica": None, "timing_source": "stream"}
    calls = [
        busy(at, int(dice.integers(1, 9_000)), team=team, **(rented if n % 2 else {}))
        for day in range(-20, 15)
        for n in range(int(dice.integers(1, 12)))
        for at, team in [(MONDAY + day * DAY + n * 7_000 * S, ("search", "ads", None)[n % 3])]
    ]
    ledger = ledger_of(calls, OWNED)
    answer = forecast(ledger, OWNED, window=until(13.7), by=TEAM)
    total = total_of(answer)
    parts = answer.frame.filter(pl.col("line") != "total")
    for column in ("spent_cost", "rest_cost", "forecast_cost"):
        assert parts[column].sum() == total[column]
    assert (answer.frame["spent_cost"] + answer.frame["rest_cost"]).to_list() == answer.frame[
        "forecast_cost"
    ].to_list()
    assert answer.window == Window(since=NOVEMBER, until=MONDAY + round(13.7 * DAY))
    spent = law(ledger, OWNED, by=("team",), window=answer.window).frame
    assert spent["cost"].sum() == total["spent_cost"]
    assert sorted(spent["cost"]) == sorted(parts.filter(pl.col("spent_cost") != 0)["spent_cost"])
    whole = total_of(forecast(ledger, OWNED, window=until(13.7), by=()))
    # What is unusual is so by group: that is all by which the totals of two groupings differ.
    assert float(whole["rest_cost"]) == pytest.approx(float(total["rest_cost"]), rel=0.01)
    assert total["low_cost"] < total["forecast_cost"] < total["high_cost"]


def test_a_new_level_is_followed_and_one_unusual_day_is_not(ledger_of: LedgerOf) -> None:
    doubled = daily((10, 11, 12, 13, 14), uncached_input_tokens=2_000_000)
    ledger = ledger_of([*daily(range(-20, 10)), *doubled], RENTED)
    row = total_of(forecast(ledger, RENTED, window=until(14)))
    assert (row["spent_cost"], row["rest_cost"], row["high_cost"]) == (19, 30, 49)
    runaway = daily((12,), uncached_input_tokens=50_000_000)
    ledger = ledger_of([*daily(range(-20, 12)), *runaway, *daily((13, 14))], RENTED)
    row = total_of(forecast(ledger, RENTED, window=until(14)))
    # The day of 50 USD counts for 1.175, 3.5 deviations of 5 %: one Saturday of four, on two ahead.
    assert (row["spent_cost"], row["rest_cost"]) == (64, Decimal("15.0875"))


def test_a_plan_has_its_price_whoever_calls(ledger_of: LedgerOf) -> None:
    terms = Configuration(
        token_prices=(PRICE,),
        plans=(
            Plan(name="seat", models=("m",), price_per_month=Decimal(100)),
            Plan(name="spare", models=("none",), price_per_month=Decimal(30)),
        ),
    )
    ledger = ledger_of(daily(range(-20, 14)), terms)
    answer = forecast(ledger, terms, window=until(13), by=TEAM)
    by_line = {row["line"]: row for row in lines(answer)}
    assert by_line["total"]["forecast_cost"] == 130
    assert by_line["calls"]["forecast_cost"] == 100
    assert (by_line["idle"]["pool"], by_line["idle"]["forecast_cost"]) == ("spare", 30)


def test_without_whole_days_there_is_no_forecast_and_it_is_said(ledger_of: LedgerOf) -> None:
    answer = forecast(ledger_of(daily((0, 1)), RENTED), RENTED)
    row = total_of(answer)
    assert (row["spent_cost"], row["rest_cost"], row["forecast_cost"]) == (2, None, None)
    assert (row["low_cost"], row["high_cost"], row["interval_ratio"]) == (None, None, None)
    assert "no forecast: 1 whole day before now; it needs three" in " ".join(answer.notes)


def test_a_month_that_is_over_is_what_it_cost(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(daily(range(-20, 40)), RENTED)
    row = total_of(forecast(ledger, RENTED, window=until(29)))
    assert (row["month"], row["elapsed_ratio"]) == ("2026-11", 1)
    assert (row["forecast_cost"], row["rest_cost"], row["low_cost"]) == (30, 0, 30)


def test_calls_without_a_price_are_told_and_in_no_amount(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([*daily(range(-20, 14)), call(MONDAY + 1, model="unknown")], RENTED)
    answer = forecast(ledger, RENTED, window=until(13))
    assert total_of(answer)["spent_cost"] == 14
    assert "without a price, hence in no amount: 1 call" in answer.notes


def test_what_is_filtered_has_no_idle_time(ledger_of: LedgerOf) -> None:
    used = [busy(MONDAY + day * DAY, 3600) for day in range(-14, 15)]
    answer = forecast(
        ledger_of(used, OWNED), OWNED, window=until(14), where={"team": "search"}, by=TEAM
    )
    assert {row["line"] for row in lines(answer)} == {"calls", "total"}
    assert total_of(answer)["rest_cost"] == 15 * Decimal("3.6")


def test_what_cannot_be_forecast_is_refused(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([], RENTED)
    for by in (("day",), ("user_id",), ("team", "model")):
        with pytest.raises(WrongQuestionError, match="a forecast is by one of origin, endpoint"):
            forecast(ledger, RENTED, by=by)
    with pytest.raises(NoDataError, match="ingest some first"):
        forecast(ledger, RENTED)


@pytest.mark.parametrize("day_count", [14, 28])
def test_bounds_hold_the_truth_about_as_often_as_they_say(day_count: int) -> None:
    """Days of a week with its own pattern, each 15 % about it: 0.9 is said, 0.84 to 0.94 pass."""
    dice = np.random.default_rng(1)
    days = [date(2026, 9, 14) + timedelta(n) for n in range(day_count + 15)]
    known, coming = days[:day_count], days[day_count:]
    alike = alike_of(coming, known)
    assert alike is not None
    usual = np.array([20.0 if day.weekday() >= 5 else 100.0 + day.weekday() for day in days])
    uniform = uniform_draws(len(coming))[:1000]
    held = 0
    for _ in range(400):
        truth = usual * (1 + 0.15 * dice.standard_normal(len(days)))
        before = truth[:day_count] * levelled(truth[:day_count], known)
        before = before * tempered(before, known)
        low, high = interval(drawn(before, coming, alike, uniform).sum(axis=1))
        held += low <= truth[day_count:].sum() <= high
    assert 0.84 <= held / 400 <= 0.94
