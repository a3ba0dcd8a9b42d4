"""The configuration in the ledger: rates, the pool of each cohort, and what a change touches."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.charging import apply_configuration, charge, is_charging_current
from ingest.config import Budget, Configuration, Pool
from ingest.errors import ConfigurationError

S = 1_000_000_000
DAY = 86_400 * S
NOON = 20_700 * DAY + 43_200 * S  # 2026-09-04


def pool(name: str = "a", day: int | None = None, **more: Any) -> Pool:
    """An entry of pool `name`, from that day of September 2026 on."""
    since = None if day is None else datetime(2026, 9, day, tzinfo=UTC)
    return Pool(name=name, models=("m",), effective_from=since, **more)


def served(call: Any, call_id: str = "x", **more: Any) -> Any:
    times = {"started_at": NOON, "first_token_at": NOON + S, "ended_at": NOON + 2 * S}
    return call(call_id=call_id, **(times | more))


def pool_of(calls: Any) -> str | None:
    [(name,)] = calls.rows("select pool from cohorts")
    return name


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"pool_reported": "a"}, "a"),
        ({"pool_reported": "elsewhere"}, "elsewhere"),
        ({"model": "m", "timing_source": "span"}, "a"),
        ({"model": None, "model_requested": "m", "timing_source": "stream"}, "a"),
        ({"model": "other"}, "other"),
        ({"model": None, "service": "vllm"}, "vllm"),
        ({"model": None}, "engine"),
        ({"model": "other", "timing_source": "span"}, None),
        ({"model": "other", "timing_source": "tokens"}, None),
        ({"model": "m", "origin": "replay", "service": "llama"}, "m"),
        ({"model": "m", "origin": "replay", "pool_reported": "a"}, "a"),
    ],
    ids=str,
)
def test_a_call_belongs_to_the_pool_that_it_names_or_that_serves_its_model(
    calls: Any, call: Any, columns: dict[str, Any], expected: str | None
) -> None:
    calls.deliver(served(call, **columns))
    calls.charge(Configuration(pools=(pool(),)))
    assert pool_of(calls) == expected


def test_of_two_pools_that_serve_a_model_the_first_has_its_calls(calls: Any, call: Any) -> None:
    calls.deliver(served(call))
    calls.charge(Configuration(pools=(pool("b"), pool("a"))))
    assert pool_of(calls) == "b"


def test_a_pool_that_only_telemetry_names_has_one_gpu_a_replica_and_no_price(
    calls: Any, call: Any
) -> None:
    calls.deliver(served(call, model="llama"))
    calls.charge()
    assert calls.rows(
        "select pool, gpus_per_replica, replicas, price_per_gpu_hour, is_configured from pools"
    ) == [("llama", 1.0, None, None, False)]
    assert calls.gpu_seconds() == {"x": (1.0, 1.0)}


def test_entries_of_a_pool_follow_each_other_and_nothing_is_known_before_the_first(
    calls: Any,
) -> None:
    entries = (
        pool(day=20, replicas=4, price_per_gpu_hour=Decimal("2.50")),
        pool(day=10, replicas=2, gpus_per_replica=8, price_per_gpu_hour=Decimal("2.99")),
    )
    calls.charge(Configuration(pools=entries, currency="EUR"))
    found = calls.rows(
        """
        select
            effective_from, effective_to, gpus_per_replica, replicas,
            price_per_gpu_hour, currency, is_configured
        from pools
        order by effective_from
        """
    )
    tenth, twentieth = (20_706 * DAY, 20_716 * DAY)
    assert found == [
        (0, tenth, 8.0, None, None, None, False),
        (tenth, twentieth, 8.0, 2, Decimal("2.99"), "EUR", True),
        (twentieth, None, 1.0, 4, Decimal("2.50"), "EUR", True),
    ]


def test_a_rate_keeps_its_number_when_others_change(calls: Any) -> None:
    def numbers() -> dict[tuple[str, int], int]:
        return {
            (name, since): number
            for name, since, number in calls.rows("select pool, effective_from, rate_id from pools")
        }

    calls.charge(Configuration(pools=(pool("b", day=1), pool("b", day=9))))
    before = numbers()
    calls.charge(
        Configuration(pools=(pool("a"), pool("b", day=1), pool("b", day=5), pool("b", day=9)))
    )
    after = numbers()
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == 5


def test_a_change_of_price_alone_charges_nothing_again(calls: Any, call: Any) -> None:
    calls.deliver(served(call))
    calls.charge(Configuration(pools=(pool(price_per_gpu_hour=Decimal(2)),)))
    dearer = Configuration(pools=(pool(price_per_gpu_hour=Decimal(3)),))
    assert not is_charging_current(calls.ledger, dearer)
    assert charge(calls.ledger, dearer).partitions == 0
    assert calls.rows("select price_per_gpu_hour from pools") == [(Decimal(3),)]


def test_a_change_of_size_charges_again_from_its_day_on(calls: Any, call: Any) -> None:
    later = {"started_at": NOON + DAY, "first_token_at": NOON + DAY, "ended_at": NOON + DAY + S}
    calls.deliver(served(call, "early"), served(call, "late", **later))
    calls.charge(Configuration(pools=(pool(),)))
    grown = Configuration(pools=(pool(), pool(day=5, gpus_per_replica=4)))
    assert charge(calls.ledger, grown).partitions == 1
    assert calls.gpu_seconds() == {"early": (1.0, 1.0), "late": (0.0, 4.0)}


def test_charges_after_any_history_of_configurations_are_those_of_the_last(
    new_ledger: Any, call: Any
) -> None:
    last = Configuration(pools=(pool(replicas=2), pool(day=5, gpus_per_replica=4)))
    history = [
        Configuration(),
        Configuration(pools=(pool("b", day=2),)),
        Configuration(pools=(pool(day=4, gpus_per_replica=2),)),
        Configuration(pools=(pool(replicas=7), pool("b", day=5))),
        last,
    ]
    at_once, in_turn = new_ledger(), new_ledger()
    for number, ledger in enumerate((at_once, in_turn)):
        for step in history if number else [last]:
            if step in (history[1], last):
                for name, replica in (("x", "r0"), ("y", None), ("z", None)):
                    times = {"started_at": NOON - S, "first_token_at": NOON + 43_190 * S}
                    ended_at = NOON + 43_210 * S
                    ledger.deliver(
                        served(call, name, replica=replica, **times | {"ended_at": ended_at})
                    )
            ledger.charge(step)
    assert in_turn.charges() == at_once.charges()


def test_budgets_are_those_of_the_configuration(calls: Any) -> None:
    budget = Budget(scope={"team": "search"}, month="2026-10", amount=Decimal(12_000))
    calls.charge(Configuration(budgets=(budget,), currency="EUR"))
    [(scope, *rest)] = calls.rows("select * from budgets")
    assert (json.loads(scope), rest) == ({"team": "search"}, ["2026-10", Decimal(12_000), "EUR"])
    calls.charge(Configuration())
    assert calls.rows("select count(*) from budgets") == [(0,)]


def test_a_schedule_that_cannot_be_understood_is_refused_and_changes_nothing(calls: Any) -> None:
    calls.charge(Configuration(pools=(pool(),)))
    with pytest.raises(ConfigurationError, match="weekdays"):
        apply_configuration(calls.ledger, Configuration(pools=(pool(schedule=("weekdays",)),)))
    assert calls.rows("select schedule from pools") == [("always",)]
