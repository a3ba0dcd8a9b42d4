"""Charges of a ledger: their cuts, their partitions, and that no order of arrival changes them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.charging import charge, is_charging_current, pools
from ingest.charging.chunks import plan_chunks
from ingest.charging.partitions import Partition
from ingest.config import Configuration, Pool

S = 1_000_000_000
DAY = 86_400 * S
NOON = 20_700 * DAY + 43_200 * S
MIDNIGHT = 20_701 * DAY
POOL = Pool(name="a", models=("m",), gpus_per_replica=2, replicas=3)
CONFIGURATION = Configuration(pools=(POOL,))


def timed(call: Any, call_id: str, start: int, first: int, end: int, **more: Any) -> Any:
    times = {"started_at": start, "first_token_at": first, "ended_at": end}
    return call(call_id=call_id, arrived_at=start, **times, **more)


def test_a_call_within_a_quarter_is_one_piece(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 4 * S))
    calls.charge(CONFIGURATION)
    quarter = NOON // (900 * S)
    assert calls.charges() == [("x", "a", "r0", 20_700, 0, quarter, 1.0, 3.0, 2.0, 6.0)]


def test_a_call_across_midnight_is_cut_there_and_lies_in_two_partitions(
    calls: Any, call: Any
) -> None:
    calls.deliver(timed(call, "x", MIDNIGHT - 3 * S, MIDNIGHT - S, MIDNIGHT + 5 * S))
    calls.charge(CONFIGURATION)
    quarter = MIDNIGHT // (900 * S)
    assert calls.charges() == [
        ("x", "a", "r0", 20_700, 0, quarter - 1, 2.0, 1.0, 4.0, 2.0),
        ("x", "a", "r0", 20_701, 0, quarter, 0.0, 5.0, 0.0, 10.0),
    ]


def test_a_call_that_ends_at_midnight_has_no_piece_in_the_new_day(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", MIDNIGHT - 3 * S, MIDNIGHT - S, MIDNIGHT))
    calls.deliver(timed(call, "y", MIDNIGHT, MIDNIGHT + S, MIDNIGHT + 2 * S))
    calls.charge(CONFIGURATION)
    found = calls.rows(
        "select r.call_id, h.quarter from charges as h join call_rows as r "
        "on h.call_no = r.call_no order by all"
    )
    quarter = MIDNIGHT // (900 * S)
    assert found == [("x", quarter - 1), ("y", quarter)]


def test_a_long_call_has_a_piece_in_every_quarter_and_they_add_up(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON + S, NOON + 4_000 * S, NOON + 10_000 * S))
    calls.charge(CONFIGURATION)
    assert calls.rows("select count(*), sum(prefill_s), sum(decode_s) from charges") == [
        (12, 3_999.0, 6_000.0)
    ]
    assert calls.gpu_seconds() == {"x": (pytest.approx(7_998.0), pytest.approx(12_000.0))}


def test_a_price_change_cuts_a_call_at_its_instant(calls: Any, call: Any) -> None:
    change = datetime(2026, 9, 4, 12, 0, 1, tzinfo=UTC)  # NOON and a second
    pools = (POOL, Pool(name="a", models=("m",), gpus_per_replica=4, effective_from=change))
    calls.deliver(timed(call, "x", NOON, NOON + 2 * S, NOON + 4 * S))
    calls.charge(Configuration(pools=pools))
    quarter = NOON // (900 * S)
    assert calls.charges() == [
        ("x", "a", "r0", 20_700, 0, quarter, 1.0, 0.0, 2.0, 0.0),
        ("x", "a", "r0", 20_700, NOON + S, quarter, 1.0, 2.0, 4.0, 8.0),
    ]


def test_calls_of_unknown_replica_share_the_replicas_of_their_pool(calls: Any, call: Any) -> None:
    for name in "abcdef":
        calls.deliver(timed(call, name, NOON, NOON + S, NOON + 2 * S, replica=None))
    calls.charge(CONFIGURATION)  # six calls on 3 replicas of 2 GPUs: one GPU each
    assert calls.gpu_seconds() == dict.fromkeys("abcdef", (1.0, 1.0))


def test_calls_of_two_replicas_do_not_share(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.deliver(timed(call, "y", NOON, NOON + S, NOON + 2 * S, replica="r1"))
    calls.charge(CONFIGURATION)
    assert calls.gpu_seconds() == {"x": (2.0, 2.0), "y": (2.0, 2.0)}


def test_calls_of_unknown_replica_share_what_known_ones_leave_over(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    for name in "abcd":
        calls.deliver(timed(call, name, NOON, NOON + S, NOON + 2 * S, replica=None))
    calls.charge(CONFIGURATION)  # four calls on 2 of 3 replicas of 2 GPUs: one GPU each
    assert calls.gpu_seconds() == {"x": (2.0, 2.0)} | dict.fromkeys("abcd", (1.0, 1.0))


def test_a_pool_of_unknown_size_is_as_large_as_its_known_replicas(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.deliver(timed(call, "y", NOON, NOON + S, NOON + 2 * S, replica="r1"))
    calls.deliver(timed(call, "z", NOON, NOON + S, NOON + 2 * S, replica=None, n_choices=2))
    calls.charge(Configuration(pools=(Pool(name="a", models=("m",)),)))
    # Two replicas of a GPU: a weight of half a prompt beside each call, then of one sequence.
    assert calls.gpu_seconds() == {
        "x": (pytest.approx(2 / 3), 0.5),
        "y": (pytest.approx(2 / 3), 0.5),
        "z": (pytest.approx(2 / 3), 1.0),
    }


@pytest.mark.parametrize("replica", ["r0", None])
def test_a_call_of_either_kind_charges_the_others_of_its_pool_and_day_again(
    calls: Any, call: Any, replica: str | None
) -> None:
    small = Configuration(pools=(replace(POOL, replicas=1),))
    of_other_kind = None if replica else "r0"
    times = (NOON, NOON + S, NOON + 2 * S)
    calls.deliver(timed(call, "x", *times, replica=of_other_kind))
    calls.deliver(timed(call, "later", *(at + DAY for at in times), replica=of_other_kind))
    calls.charge(small)
    calls.deliver(timed(call, "y", *times, replica=replica))
    assert charge(calls.ledger, small).partitions == 2
    assert calls.gpu_seconds() == {"x": (1.0, 1.0), "y": (1.0, 1.0), "later": (2.0, 2.0)}
    calls.withdraw("y")
    assert charge(calls.ledger, small).partitions == 2
    assert calls.gpu_seconds() == {"x": (2.0, 2.0), "later": (2.0, 2.0)}


def test_a_crowded_day_is_cut_between_pools_of_which_calls_are_shared() -> None:
    kinds = [("a", None), ("a", "r0"), ("a", "r1"), ("b", "r0"), ("b", "r1"), ("c", None)]
    day = [
        Partition(partition_id=number, pool=pool, replica=replica, day=1)
        for number, (pool, replica) in enumerate(kinds)
    ]
    chunks = list(plan_chunks(day, {1: 1_000}, 10))
    assert sorted([p.partition_id for p in chunk] for chunk in chunks) == [[0, 1, 2], [3], [4], [5]]


def test_an_impossible_time_is_not_charged(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON - S, timing_quality="invalid"))
    calls.deliver(timed(call, "y", NOON, NOON + S, NOON + 2 * S))
    calls.charge(CONFIGURATION)
    assert calls.gpu_seconds() == {"y": (2.0, 2.0)}


def test_a_call_without_output_is_prefill_throughout(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 4 * S, visible_output_tokens=0))
    calls.charge(CONFIGURATION)
    assert calls.gpu_seconds() == {"x": (8.0, 0.0)}


def test_a_second_run_charges_nothing(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.charge(CONFIGURATION)
    again = charge(calls.ledger, CONFIGURATION)
    assert (again.partitions, again.pieces) == (0, 0)
    assert is_charging_current(calls.ledger, CONFIGURATION)


def test_only_the_touched_replica_and_day_are_charged_again(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.deliver(timed(call, "y", NOON, NOON + S, NOON + 2 * S, replica="r1"))
    calls.deliver(timed(call, "z", NOON + DAY, NOON + DAY + S, NOON + DAY + 2 * S))
    calls.charge(CONFIGURATION)
    calls.deliver(timed(call, "w", NOON + S, NOON + 2 * S, NOON + 3 * S))
    assert not is_charging_current(calls.ledger, CONFIGURATION)
    again = charge(calls.ledger, CONFIGURATION)
    assert (again.partitions, again.pieces) == (1, 2)


def test_what_another_version_of_the_formula_charged_is_charged_again(
    calls: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.charge(CONFIGURATION)
    monkeypatch.setattr(pools, "CHARGING_VERSION", pools.CHARGING_VERSION + 1)
    assert not is_charging_current(calls.ledger, CONFIGURATION)
    assert charge(calls.ledger, CONFIGURATION).partitions == 1
    assert is_charging_current(calls.ledger, CONFIGURATION)
    assert charge(calls.ledger, CONFIGURATION).partitions == 0


def test_a_withdrawn_call_leaves_no_charge_and_no_share(calls: Any, call: Any) -> None:
    calls.deliver(timed(call, "x", NOON, NOON + S, NOON + 2 * S))
    calls.deliver(timed(call, "y", NOON, NOON + S, NOON + 2 * S))
    calls.charge(CONFIGURATION)
    calls.withdraw("y")
    calls.charge(CONFIGURATION)
    assert calls.gpu_seconds() == {"x": (2.0, 2.0)}


def test_more_partitions_than_fit_one_chunk_are_charged_all(calls: Any, call: Any) -> None:
    for day in range(5):
        start = NOON + day * DAY
        calls.deliver(timed(call, f"x{day}", start, start + S, start + 2 * S))
    told: list[tuple[int, int]] = []
    calls.deliver(timed(call, "gap", NOON + 9 * DAY, NOON + 9 * DAY + S, NOON + 9 * DAY + S))
    charge(calls.ledger, CONFIGURATION, lambda done, total: told.append((done, total)))
    assert told == [(5, 6), (6, 6)]
    assert len(calls.gpu_seconds()) == 6


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], list[list[int]]]:
    """Calls around midnight, and deliveries that bring each at least once, in any order."""
    tick = 400 * S
    times = st.lists(st.integers(0, 8), min_size=3, max_size=3).map(sorted)
    replicas = st.sampled_from(["r0", "r1", None])
    choices = st.sampled_from([None, 1, 4])
    drawn = draw(st.lists(st.tuples(times, replicas, choices), min_size=1, max_size=8))
    origin = MIDNIGHT - 4 * tick
    calls = [(*(origin + t * tick for t in instants), *more) for instants, *more in drawn]
    order = draw(st.permutations(range(len(calls))))
    again = draw(st.lists(st.sampled_from(range(len(calls))), max_size=4))
    brought = [*order, *again]
    cuts = sorted(draw(st.lists(st.integers(0, len(brought)), max_size=3)))
    bounds = list(zip([0, *cuts], [*cuts, len(brought)], strict=True))
    return calls, [brought[left:right] for left, right in bounds]


@given(deliveries(), st.integers(1, 3))
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_order_repetition_and_splitting_of_deliveries_change_no_charge(
    new_ledger: Callable[[], Any],
    call: Any,
    delivered: tuple[list[tuple[Any, ...]], list[list[int]]],
    size: int,
) -> None:
    drawn, parts = delivered
    made = [
        timed(call, f"c{i}", start, first, end, replica=replica, n_choices=choices)
        for i, (start, first, end, replica, choices) in enumerate(drawn)
    ]
    configuration = Configuration(pools=(replace(POOL, replicas=size),))
    at_once, in_parts = new_ledger(), new_ledger()
    at_once.deliver(*made)
    at_once.charge(configuration)
    for part in parts:
        in_parts.deliver(*{made[i].call_id: made[i] for i in part}.values())
        in_parts.charge(configuration)
    assert in_parts.charges() == at_once.charges()
