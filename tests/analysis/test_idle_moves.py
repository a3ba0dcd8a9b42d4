"""Why idle time costs more or less: its price, what was provisioned, what was busy."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.explain import EFFECT_COLUMNS, IDLE_EFFECT_COLUMNS, explain
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
NOON = MIDNIGHT + 43_200 * S
# 3.60 an hour is a thousandth a second.
POOL = Pool(name="a", price_per_gpu_hour=Decimal("3.60"))


def changed(**columns: Any) -> Pool:
    """Pool a as it is from noon on."""
    at_noon = datetime(2026, 10, 5, 12, tzinfo=UTC)
    return Pool(
        name="a", **({"price_per_gpu_hour": Decimal("3.60")} | columns), effective_from=at_noon
    )


def call(name: str, since: int, length_s: int, pool: str = "a") -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": pool,
        "replica": "r0",
        "timing_source": "engine",
        "started_at": since,
        "first_token_at": since + S,
        "ended_at": since + length_s * S,
        "visible_output_tokens": 10,
    }


def idle_of(
    ledger_of: LedgerOf,
    calls: list[dict[str, Any]],
    *pools: Pool,
    before_s: int = 1000,
    after_s: int = 1000,
) -> pl.DataFrame:
    """What `explain` says of the last seconds before noon against the first after it."""
    configuration = Configuration(pools=pools)
    return explain(
        ledger_of(calls, configuration),
        configuration,
        before=Window(since=NOON - before_s * S, until=NOON),
        after=Window(since=NOON, until=NOON + after_s * S),
    ).frame


def effects(frame: pl.DataFrame, pool: str = "a") -> dict[str, Decimal]:
    """The effects on the idle time of `pool`, which add up to its change to the last digit."""
    is_idle = (pl.col("line") == "idle") & (pl.col("pool") == pool)
    row = frame.row(by_predicate=is_idle, named=True)
    assert sum(row[column] for column in IDLE_EFFECT_COLUMNS) == row["change"]
    return {column.split("_")[1]: row[column] for column in IDLE_EFFECT_COLUMNS}


BEFORE, AFTER = call("1", NOON - 900 * S, 100), call("2", NOON + 100 * S, 100)
ALIKE = [BEFORE, AFTER]


def test_a_longer_period_is_more_provisioned_and_nothing_else(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, ALIKE, POOL, after_s=1500)
    assert effects(frame) == {"price": 0, "provisioned": Decimal("0.5"), "busy": 0}


def test_a_second_replica_is_more_provisioned(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, ALIKE, POOL, changed(replicas=2))
    assert effects(frame) == {"price": 0, "provisioned": Decimal("1"), "busy": 0}


def test_longer_calls_leave_less_idle(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, [BEFORE, call("2", NOON + 100 * S, 300)], POOL)
    assert effects(frame) == {"price": 0, "provisioned": 0, "busy": Decimal("-0.2")}


def test_a_price_acts_on_what_is_idle(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, ALIKE, POOL, changed(price_per_gpu_hour=Decimal("7.20")))
    assert effects(frame) == {"price": Decimal("0.9"), "provisioned": 0, "busy": 0}


def test_a_pool_that_comes_is_provisioned_and_then_busy(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, [AFTER], Pool(name="b"), changed())
    assert effects(frame) == {"price": 0, "provisioned": Decimal("1"), "busy": Decimal("-0.1")}


def test_after_a_month_without_calls_busy_takes_away(ledger_of: LedgerOf) -> None:
    frame = idle_of(ledger_of, [AFTER], POOL)
    assert effects(frame) == {"price": 0, "provisioned": 0, "busy": Decimal("-0.1")}


def test_all_three_at_once_add_up_with_the_signs_of_their_causes(ledger_of: LedgerOf) -> None:
    dearer = changed(price_per_gpu_hour=Decimal("5.39"), replicas=3)
    frame = idle_of(ledger_of, [BEFORE, call("2", NOON + 7 * S, 333)], POOL, dearer, after_s=1234)
    found = effects(frame)
    # Provisioned cost 1, then 3 x 1234 s at 5.39 / 3600; busy cost 0.1, then 333 s of it. Each is
    # split by (new - old) / ln(new / old) x ln(factor new / factor old).
    expected = {"price": 0.9705309138, "provisioned": 3.4720543654, "busy": -0.2984436125}
    assert {name: float(cost) for name, cost in found.items()} == pytest.approx(expected, abs=1e-9)


def test_the_total_has_the_idle_effects_of_all_pools_and_letters_stay_apart(
    ledger_of: LedgerOf,
) -> None:
    other = Pool(name="b", price_per_gpu_hour=Decimal("7.20"))
    frame = idle_of(ledger_of, ALIKE, POOL, other, after_s=1500)
    total = frame.row(by_predicate=pl.col("line") == "total", named=True)
    assert [total[name] for name in IDLE_EFFECT_COLUMNS] == [0, Decimal("1.5"), 0]
    idle = frame.filter(pl.col("line") == "idle")
    assert idle.select(EFFECT_COLUMNS).null_count().row(0) == (2,) * len(EFFECT_COLUMNS)
    calls = frame.filter(pl.col("line") == "calls")
    assert calls.select(IDLE_EFFECT_COLUMNS).null_count().row(0) == (1, 1, 1)
    parts = [total[column] or 0 for column in (*EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS)]
    assert sum(parts) == total["change"]
