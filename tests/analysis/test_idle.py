"""When pools are idle, what that costs, and whose it is where it is shared."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.errors import NoDataError, WrongQuestionError
from analysis.idle import IDLE_COLUMNS, idle
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.config_plans import Plan
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
HOUR = 3_600 * S
MONDAY = 1_793_577_600 * S  # 2026-11-02T00:00:00Z
WEEK = Window(since=MONDAY, until=MONDAY + 7 * 24 * HOUR)
TERMS = Configuration(
    pools=(
        Pool(name="big", models=("m",), replicas=2, price_per_gpu_hour=Decimal("3.60")),
        Pool(
            name="day",
            models=("d",),
            price_per_gpu_hour=Decimal(1),
            schedule=("mon-fri 08:00-18:00",),
        ),
    ),
    token_prices=(TokenPrice(model="r", input_per_mtok=Decimal(1), output_per_mtok=Decimal(0)),),
    plans=(Plan(name="seat", models=("none",), price_per_month=Decimal(30)),),
)


def call(hour: float, seconds: float, team: str | None, model: str = "m") -> dict[str, Any]:
    """A call that one GPU serves alone, so many hours after Monday began."""
    start = MONDAY + round(hour * HOUR)
    rented = {"timing_source": "stream", "replica": None} if model == "r" else {}
    return {
        "call_id": f"{hour} {team} {model}",
        "team": team,
        "model": model,
        "replica": "r0",
        "timing_source": "engine",
        "started_at": start,
        "first_token_at": start,
        "ended_at": start + round(seconds * S),
        "uncached_input_tokens": 1_000_000,
        "visible_output_tokens": 10,
    } | rented


def rows(answer_of: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer_of.frame.to_dicts()
    return found


def test_provisioned_is_busy_or_idle_by_pool(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 3600, "a"), call(9, 1800, "b", "d")], TERMS)
    big, day = rows(idle(ledger, TERMS, window=WEEK))
    assert (big["pool"], big["provisioned_gpu_seconds"], big["busy_gpu_seconds"]) == (
        "big", 2 * 7 * 86_400, 3600,
    )  # fmt: skip
    assert (big["provisioned_cost"], big["busy_cost"], big["idle_cost"]) == (
        Decimal("1209.6"), Decimal("3.6"), Decimal("1206"),
    )  # fmt: skip
    assert (day["pool"], day["provisioned_gpu_seconds"], day["idle_gpu_seconds"]) == (
        "day", 5 * 36_000, 5 * 36_000 - 1800,
    )  # fmt: skip
    assert day["idle_ratio"] == pytest.approx(0.99)
    assert (day["idle_cost"], day["replayed_gpu_seconds"], day["currency"]) == (
        Decimal("49.5"), 0, "USD",
    )  # fmt: skip


def test_idle_time_by_the_clock(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(9, 1800, "b", "d"), call(33, 1800, "b", "d")], TERMS)
    asked: dict[str, Any] = {"window": WEEK, "where": {"pool": "day"}}
    hours = rows(idle(ledger, TERMS, by=("hour_of_day",), **asked))
    assert [row["hour_of_day"] for row in hours] == list(range(8, 18))
    assert [row["busy_gpu_seconds"] for row in hours] == [0, 3600, *[0] * 8]
    assert {row["provisioned_gpu_seconds"] for row in hours} == {5 * 3600}
    days = rows(idle(ledger, TERMS, by=("weekday",), **asked))
    assert [row["weekday"] for row in days] == ["mon", "tue", "wed", "thu", "fri"]
    assert [row["idle_gpu_seconds"] for row in days] == [34_200, 34_200, *[36_000] * 3]
    both = rows(idle(ledger, TERMS, by=("weekday", "hour_of_day"), **asked))
    assert len(both) == 50
    assert (both[1]["weekday"], both[1]["hour_of_day"], both[1]["idle_cost"]) == (
        "mon", 9, Decimal("0.5"),
    )  # fmt: skip
    (first, *_) = rows(idle(ledger, TERMS, by=("day",), **asked))
    assert (first["day"], first["idle_cost"]) == (date(2026, 11, 2), Decimal("9.5"))
    (month,) = rows(idle(ledger, TERMS, by=("month",), **asked))
    assert (month["month"], month["idle_cost"]) == ("2026-11", Decimal(49))


def traffic() -> list[dict[str, Any]]:
    dice = np.random.default_rng(5)
    return [
        call(hour + n / 7, float(dice.integers(1, 400)), team, model)
        for hour in range(0, 160, 3)
        for n, (team, model) in enumerate(
            [("a", "m"), ("b", "m"), (None, "m"), ("a", "d"), ("c", "d"), ("b", "r")]
        )
        if dice.random() < 0.5 and (model != "d" or (hour % 24 in range(8, 18) and hour < 120))
    ]


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    """A week of calls of three teams on two pools and by the token."""
    return ledger_of(traffic(), TERMS)


@pytest.mark.parametrize("first", IDLE_COLUMNS)
@pytest.mark.parametrize("second", [None, "pool", "hour_of_day"])
def test_rows_by_any_columns_add_up_to_the_idle_lines_of_the_law(
    ledger: Ledger, first: str, second: str | None
) -> None:
    by = (first,) if second in (None, first) else (first, second)
    frame = idle(ledger, TERMS, by=by, window=WEEK).frame
    lines = law(ledger, TERMS, by=(), window=WEEK).frame.filter(
        (pl.col("line") == "idle") & (pl.col("basis") == "gpu")
    )
    assert frame["idle_cost"].sum() == pytest.approx(lines["cost"].sum(), abs=Decimal("2e-9"))
    assert frame["idle_gpu_seconds"].sum() == pytest.approx(lines["gpu_seconds"].sum())
    for row in frame.to_dicts():
        parts = [row[f"{name}_cost"] for name in ("busy", "replayed", "idle")]
        assert sum(parts) == row["provisioned_cost"]


def test_shared_by_busy_time_idle_time_follows_the_use_of_each_pool(ledger_of: LedgerOf) -> None:
    calls = [call(1, 3600, "a"), call(3, 1800, "b"), call(9, 60, "b", "d"), call(5, 9, "b", "r")]
    answer = idle(ledger_of(calls, TERMS), TERMS, by=("team",), window=WEEK, policy="proportional")
    found = {(row["line"], row["team"], row["basis"]): row for row in rows(answer)}
    left = 2 * 7 * 86_400 - 5400
    assert found["calls", "a", "gpu"]["idle_gpu_seconds"] == pytest.approx(left * 2 / 3)
    assert found["calls", "b", "gpu"]["idle_gpu_seconds"] == pytest.approx(
        left / 3 + 5 * 36_000 - 60
    )
    assert found["calls", "b", "token"]["idle_cost"] is None
    assert found["calls", "b", "token"]["cost_with_idle"] == 1
    # A plan that nobody used is nobody's: a week of 30 USD a month.
    assert found["idle", None, "plan"]["cost_with_idle"] == 7


def test_shared_by_the_peak_idle_time_is_of_those_who_sized_the_pool(ledger_of: LedgerOf) -> None:
    # Team b is busy longest, but in the busiest hour, at three, team a has three quarters.
    calls = [*(call(hour, 1200, "b") for hour in (5, 7, 9, 11)), call(3, 1800, "a"),
             call(3.5, 600, "b")]  # fmt: skip
    answer = idle(ledger_of(calls, TERMS), TERMS, by=("team",), window=WEEK, policy="peak")
    found = {row["team"]: row for row in rows(answer) if row["basis"] == "gpu"}
    left = 2 * 7 * 86_400 - 4 * 1200 - 2400
    assert found["a"]["idle_gpu_seconds"] == pytest.approx(left * 3 / 4)
    assert found["b"]["idle_gpu_seconds"] == pytest.approx(left / 4)
    assert (
        "peak of pool 'big': 2,400 GPU-seconds in the hour from 2026-11-02T03:00+00:00"
        in answer.notes
    )
    # The pool without a call keeps its idle time.
    assert found[None]["pool"] == "day"


@pytest.mark.parametrize("policy", ["proportional", "peak"])
@pytest.mark.parametrize("by", ["team", "model", "pool", "endpoint"])
def test_under_each_policy_the_lines_add_up_to_the_bill(
    ledger: Ledger, policy: str, by: str
) -> None:
    frame = idle(ledger, TERMS, by=(by,), window=WEEK, policy=policy).frame
    lines = law(ledger, TERMS, by=(by,), window=WEEK).frame
    assert frame["cost_with_idle"].sum() == lines["cost"].sum()
    busy = float(frame["gpu_seconds"].sum()) + float(frame["idle_gpu_seconds"].sum())
    assert busy == pytest.approx(lines["gpu_seconds"].sum(), rel=1e-12)
    assert frame.filter(pl.col("line") != "idle")["cost"].sum() == (
        lines.filter(pl.col("line") != "idle")["cost"].sum()
    )


def test_a_pool_without_a_price_idles_for_no_known_money(ledger_of: LedgerOf) -> None:
    terms = Configuration(pools=(Pool(name="p", models=("m",)),))
    (row,) = rows(idle(ledger_of([call(1, 60, "a")], terms), terms, window=WEEK))
    assert (row["idle_gpu_seconds"], row["idle_cost"]) == (7 * 86_400 - 60, None)
    (row,) = rows(
        idle(ledger_of([call(1, 60, "a")], terms), terms, window=WEEK, policy="proportional")
    )
    assert (row["idle_gpu_seconds"], row["idle_cost"]) == (7 * 86_400 - 60, None)


def test_without_a_pool_it_is_said_what_is_missing(ledger_of: LedgerOf) -> None:
    terms = Configuration(token_prices=TERMS.token_prices)
    with pytest.raises(NoDataError, match=r"its size and time stand under \[\[pools\]\]"):
        idle(ledger_of([call(1, 60, "a", "r")], terms), terms)


@pytest.mark.parametrize(
    ("by", "policy", "said"),
    [
        (("team",), "own", "by team it can be shared: --policy proportional"),
        (("hours",), "own", "did you mean 'hour'"),
        (("hour", "day", "pool"), "own", "two columns at most"),
        (("day",), "peak", "idle time is shared by one of origin"),
        (("team",), "fair", "'fair' is no policy"),
    ],
)
def test_what_idle_time_has_not_is_refused(
    ledger: Ledger, by: tuple[str, ...], policy: str, said: str
) -> None:
    with pytest.raises(WrongQuestionError, match=said):
        idle(ledger, TERMS, by=by, policy=policy)
