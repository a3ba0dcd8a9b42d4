"""The kernel against worked examples, golden vectors and an oracle that walks every interval."""

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.charging.kernel import InService, charge_replica

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "attribution.json"
S = 1_000_000_000

Times = tuple[int, int, int]


def charge(
    calls: list[Times],
    *,
    gpus: float = 1,
    replicas: int = 1,
    choices: list[int] | None = None,
) -> list[tuple[float, float]]:
    started, first, ended = (
        np.array(column, dtype=np.int64) for column in zip(*calls, strict=True)
    )
    served = InService(
        started_at=started,
        first_token_at=first,
        ended_at=ended,
        choices=None if choices is None else np.array(choices, dtype=np.int32),
    )
    prefill, decode = charge_replica(served, gpus=gpus, replicas=replicas)
    return list(zip(prefill.tolist(), decode.tolist(), strict=True))


def oracle(
    calls: list[Times], choices: list[int], *, gpus: Fraction, replicas: int
) -> list[tuple[Fraction, Fraction]]:
    """Exact charges, interval by interval: no sorting of calls, no running total, no V."""
    cuts = sorted({instant for call in calls for instant in call})
    charges = [[Fraction(0), Fraction(0)] for _ in calls]
    for left, right in itertools.pairwise(cuts):
        served = [i for i, (start, _, end) in enumerate(calls) if start <= left and right <= end]
        weights = {i: 1 if right <= calls[i][1] else choices[i] for i in served}
        for i, weight in weights.items():
            busy = gpus * min(len(served), replicas) * Fraction(right - left, S)
            share = busy * weight / sum(weights.values())
            charges[i][0 if right <= calls[i][1] else 1] += share
    return [(prefill, decode) for prefill, decode in charges]


@st.composite
def calls_in_service(draw: st.DrawFn) -> list[Times]:
    scale = draw(st.sampled_from([1, 1_000, S // 7, 60 * S]))
    origin = draw(st.sampled_from([0, 1_790_000_000 * S]))
    times = st.lists(st.integers(0, 40), min_size=3, max_size=3).map(sorted)
    drawn = draw(st.lists(times, min_size=1, max_size=25))
    return [(a * scale + origin, b * scale + origin, c * scale + origin) for a, b, c in drawn]


def test_two_calls_share_the_overlap_equally() -> None:
    # 0-4 s and 2-6 s: 2 s alone, 2 s shared, 2 s alone.
    assert charge([(0, 1 * S, 4 * S), (2 * S, 3 * S, 6 * S)]) == [(1.0, 2.0), (0.5, 2.5)]


def test_two_calls_over_the_same_ten_seconds_cost_five_each() -> None:
    assert charge([(0, 10 * S, 10 * S)] * 2) == [(5.0, 0.0), (5.0, 0.0)]


def test_half_overlapping_calls_cost_seven_and_a_half_seconds_each() -> None:
    charges = charge([(0, 0, 10 * S), (5 * S, 5 * S, 15 * S)])
    assert charges == [(0.0, 7.5), (0.0, 7.5)]


def test_a_call_of_no_length_costs_nothing_and_takes_nothing_from_others() -> None:
    assert charge([(0, 1 * S, 2 * S), (1 * S, 1 * S, 1 * S)]) == [(1.0, 1.0), (0.0, 0.0)]


def test_fewer_calls_than_replicas_are_each_alone_on_one() -> None:
    assert charge([(0, 1 * S, 2 * S)] * 2, gpus=2, replicas=3) == [(2.0, 2.0)] * 2


def test_more_calls_than_replicas_share_all_of_them() -> None:
    # Six calls over three replicas of two GPUs: 6 GPUs / 6 calls.
    assert charge([(0, 1 * S, 4 * S)] * 6, gpus=2, replicas=3) == [(1.0, 3.0)] * 6


def test_a_short_call_late_in_a_busy_day_costs_what_it_does_in_the_morning() -> None:
    # 1 ms on eight GPUs, beside another call: 4 GPU-ms each, after 23 hours without a pause.
    hours = [(h * 3_600 * S, h * 3_600 * S + S, (h + 1) * 3_600 * S) for h in range(24)]
    thirds = [
        (h * 3_600 * S, h * 3_600 * S + S // 3, h * 3_600 * S + S // 7 * 3) for h in range(22)
    ]
    at = 23 * 3_600 * S + 1_234_567_891
    short = (at, at, at + S // 1_000)
    *_, (prefill, decode) = charge([*hours, *thirds, *thirds, short], gpus=8)
    assert prefill == 0.0
    assert decode == pytest.approx(0.004, rel=1e-11)


def test_four_choices_read_the_prompt_once_and_decode_in_four_slots() -> None:
    # 0-1 s: both read a prompt, half a GPU each. 1-3 s: four sequences beside one.
    calls = [(0, 1 * S, 3 * S), (0, 1 * S, 3 * S)]
    assert charge(calls, choices=[4, 1]) == [(0.5, 1.6), (0.5, 0.4)]


def test_a_call_of_four_choices_alone_is_charged_for_its_gpu_once() -> None:
    assert charge([(0, 1 * S, 3 * S)], gpus=2, choices=[4]) == [(2.0, 4.0)]


def test_the_choices_of_one_request_run_on_one_replica() -> None:
    # Two of three replicas of one GPU are busy, and eight ninths of that decode is the first's.
    charges = charge([(0, 0, 9 * S), (0, 0, 9 * S)], replicas=3, choices=[8, 1])
    assert charges == [(0.0, pytest.approx(16.0)), (0.0, pytest.approx(2.0))]


def test_no_calls_cost_nothing() -> None:
    none = np.array([], dtype=np.int64)
    served = InService(started_at=none, first_token_at=none, ended_at=none)
    prefill, decode = charge_replica(served, gpus=8)
    assert (prefill.tolist(), decode.tolist()) == ([], [])


@given(
    calls_in_service(),
    st.sampled_from([Fraction(1), Fraction(8), Fraction(1, 2)]),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_charges_equal_those_of_a_walk_over_every_interval(
    calls: list[Times], gpus: Fraction, replicas: int
) -> None:
    expected = oracle(calls, [1] * len(calls), gpus=gpus, replicas=replicas)
    for charged, exact in zip(
        charge(calls, gpus=float(gpus), replicas=replicas), expected, strict=True
    ):
        assert charged == pytest.approx((float(exact[0]), float(exact[1])), rel=1e-9, abs=1e-9)


@given(calls_in_service(), st.integers(1, 5), st.data())
@settings(deadline=None)
def test_charges_of_several_choices_equal_those_of_a_walk_over_every_interval(
    calls: list[Times], replicas: int, data: st.DataObject
) -> None:
    many = st.lists(st.integers(1, 9), min_size=len(calls), max_size=len(calls))
    choices = data.draw(many, label="choices")
    expected = oracle(calls, choices, gpus=Fraction(2), replicas=replicas)
    charged = charge(calls, gpus=2, replicas=replicas, choices=choices)
    for seconds, exact in zip(charged, expected, strict=True):
        assert seconds == pytest.approx((float(exact[0]), float(exact[1])), rel=1e-9, abs=1e-9)


@given(calls_in_service(), st.integers(1, 5))
@settings(deadline=None)
def test_one_choice_each_changes_no_bit_of_a_charge(calls: list[Times], replicas: int) -> None:
    straight = charge(calls, replicas=replicas)
    assert charge(calls, replicas=replicas, choices=[1] * len(calls)) == straight


@given(calls_in_service(), st.data())
@settings(deadline=None)
def test_choices_share_the_gpu_but_do_not_make_it_busier(
    calls: list[Times], data: st.DataObject
) -> None:
    many = st.lists(st.integers(1, 9), min_size=len(calls), max_size=len(calls))
    choices = data.draw(many, label="choices")
    busy = sum(prefill + decode for prefill, decode in charge(calls))
    total = sum(prefill + decode for prefill, decode in charge(calls, choices=choices))
    assert total == pytest.approx(busy, rel=1e-9, abs=1e-9)


@given(calls_in_service(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_calls_changes_no_bit_of_a_charge(calls: list[Times], random: Any) -> None:
    shuffled = list(range(len(calls)))
    random.shuffle(shuffled)
    straight = charge(calls)
    assert charge([calls[i] for i in shuffled]) == [straight[i] for i in shuffled]


@given(calls_in_service())
@settings(deadline=None)
def test_charges_on_one_gpu_add_up_to_the_time_it_was_busy(calls: list[Times]) -> None:
    busy_ns, reached = 0, min(start for start, _, _ in calls)
    for start, _, end in sorted(calls):
        busy_ns += max(0, end - max(start, reached))
        reached = max(reached, end)
    total = sum(prefill + decode for prefill, decode in charge(calls))
    assert total == pytest.approx(busy_ns / S, rel=1e-9, abs=1e-9)


def golden_cases() -> list[dict[str, Any]]:
    return json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else []


@pytest.mark.shared
@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden vectors are not here")
@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case["name"])
def test_golden_charges_are_met_to_a_nanosecond(case: dict[str, Any]) -> None:
    busy_gpu_s = dict.fromkeys(case["pools"], 0.0)
    for pool, replica in {(call["pool"], call["replica"]) for call in case["calls"]}:
        calls = [c for c in case["calls"] if (c["pool"], c["replica"]) == (pool, replica)]
        size = case["pools"][pool]
        charges = charge(
            [(c["start_ns"], c["first_token_ns"], c["end_ns"]) for c in calls],
            gpus=size["gpus_per_replica"],
            replicas=size["replicas"] if replica is None else 1,
        )
        for call, (prefill, decode) in zip(calls, charges, strict=True):
            expected = case["expected"][call["call_id"]]
            assert prefill == pytest.approx(expected["prefill_gpu_s"]["value"], abs=1e-9)
            assert decode == pytest.approx(expected["decode_gpu_s"]["value"], abs=1e-9)
            busy_gpu_s[pool] += prefill + decode
    for pool, busy in case["busy_gpu_s"].items():
        assert busy_gpu_s[pool] == pytest.approx(busy["value"], abs=1e-9)
