"""A pool of known and unknown replicas: worked examples, and an oracle that walks unit by unit."""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.charging.kernel import InService, charge_replica
from ingest.charging.mixed import UNKNOWN, charge_pool

S = 1_000_000_000
LONGEST = 24


@dataclass(frozen=True)
class Served:
    """A call with its times in whole units."""

    start: int
    first: int
    end: int
    replica: int = UNKNOWN
    choices: int = 1


def in_service(calls: list[Served], unit: int = S) -> InService:
    def column(name: str) -> Any:
        return np.array([getattr(call, name) for call in calls], dtype=np.int64)

    return InService(
        started_at=column("start") * unit,
        first_token_at=column("first") * unit,
        ended_at=column("end") * unit,
        choices=column("choices").astype(np.int32),
    )


def charge(
    calls: list[Served], *, gpus: float = 1, replicas: int, unit: int = S
) -> list[tuple[float, float]]:
    replica = np.array([call.replica for call in calls], dtype=np.int32)
    prefill, decode = charge_pool(in_service(calls, unit), replica, gpus=gpus, replicas=replicas)
    return list(zip(prefill.tolist(), decode.tolist(), strict=True))


def shares(served: dict[int, int], calls: list[Served], replicas: int) -> dict[int, Fraction]:
    """The part of one replica's GPUs that each call is charged, by the weights in `served`."""
    on: dict[int, dict[int, int]] = defaultdict(dict)
    for number, weight in served.items():
        on[calls[number].replica][number] = weight
    unknown = on.pop(UNKNOWN, {})
    left_over = replicas - len(on)
    found: dict[int, Fraction] = dict.fromkeys(served, Fraction(0))
    if left_over > 0:
        for number, weight in unknown.items():
            busy = min(len(unknown), left_over)
            found[number] = Fraction(busy * weight, sum(unknown.values()))
    guests = unknown if left_over <= 0 else {}
    for hosts in on.values():
        parts = {number: Fraction(weight) for number, weight in hosts.items()}
        parts |= {number: Fraction(weight, len(on)) for number, weight in guests.items()}
        for number, part in parts.items():
            found[number] += part / sum(parts.values())
    return found


def walked(calls: list[Served], *, replicas: int) -> list[tuple[Fraction, Fraction]]:
    """GPU-units of each call on replicas of one GPU, exactly, one unit of time after the other."""
    charges = [[Fraction(0), Fraction(0)] for _ in calls]
    for unit in range(LONGEST):
        served = {
            number: call.choices if unit >= call.first else 1
            for number, call in enumerate(calls)
            if call.start <= unit < call.end
        }
        for number, share in shares(served, calls, replicas).items():
            charges[number][unit >= calls[number].first] += share
    return [(prefill, decode) for prefill, decode in charges]


def busy_units(calls: list[Served], *, replicas: int) -> int:
    """Units of time in which a replica is busy, over all replicas, by counting alone."""
    busy = 0
    for unit in range(LONGEST):
        on = [call.replica for call in calls if call.start <= unit < call.end]
        known = len({replica for replica in on if replica != UNKNOWN})
        busy += max(known, min(known + on.count(UNKNOWN), replicas))
    return busy


@st.composite
def mixed_calls(draw: st.DrawFn) -> list[Served]:
    times = st.lists(st.integers(0, LONGEST), min_size=3, max_size=3).map(sorted)
    replica = st.sampled_from([UNKNOWN, UNKNOWN, 1, 2, 3])
    choices = st.sampled_from([1, 1, 2, 7])
    drawn = draw(st.lists(st.tuples(times, replica, choices), min_size=1, max_size=14))
    return [Served(*instants, where, many) for instants, where, many in drawn]


def approximately(charges: list[tuple[Fraction, Fraction]], seconds: float = 1) -> Any:
    pairs = [(float(prefill) * seconds, float(decode) * seconds) for prefill, decode in charges]
    return [pytest.approx(pair, rel=1e-9, abs=1e-9) for pair in pairs]


def test_unknown_calls_are_spread_over_the_replicas_that_are_left_over() -> None:
    # One of three replicas is known busy; three unknown calls share the two others.
    calls = [Served(0, 0, 6, replica=1), *[Served(0, 0, 6)] * 3]
    assert charge(calls, gpus=2, replicas=3) == [(0.0, 12.0), *[(0.0, 8.0)] * 3]


def test_fewer_unknown_calls_than_replicas_left_over_are_each_alone_on_one() -> None:
    calls = [Served(0, 0, 6, replica=1), Served(0, 0, 6)]
    assert charge(calls, replicas=3) == [(0.0, 6.0), (0.0, 6.0)]


def test_with_no_replica_left_over_unknown_calls_run_evenly_beside_the_known() -> None:
    # Two replicas, with one call and three; two unknown calls put a weight of 1 more on each.
    calls = [
        Served(0, 0, 12, replica=1),
        *[Served(0, 0, 12, replica=2)] * 3,
        *[Served(0, 0, 12)] * 2,
    ]
    alone, crowded, unknown = (0.0, 6.0), (0.0, 3.0), (0.0, (6 + 3) / 2)
    assert charge(calls, replicas=2) == approximately([alone, *[crowded] * 3, *[unknown] * 2])


def test_a_replica_that_becomes_busy_takes_its_gpus_from_unknown_calls() -> None:
    # Two replicas. From 4 s to 8 s both are known busy, and the unknown call runs half on each.
    calls = [Served(0, 0, 12, replica=1), Served(4, 4, 8, replica=2), Served(0, 0, 12)]
    shared = 4 / 1.5
    assert charge(calls, replicas=2) == approximately(
        [(0.0, 8 + shared), (0.0, shared), (0.0, 8 + shared)]
    )


def test_choices_of_an_unknown_call_weigh_on_every_replica() -> None:
    # Two replicas with a call each; four sequences put a weight of 2 more on each of them.
    calls = [Served(0, 0, 9, replica=1), Served(0, 0, 9, replica=2), Served(0, 0, 9, choices=4)]
    assert charge(calls, replicas=2) == approximately([(0.0, 3.0), (0.0, 3.0), (0.0, 12.0)])


def test_more_replicas_than_configured_are_charged_as_they_are_known() -> None:
    calls = [Served(0, 0, 6, replica=number) for number in (1, 2)]
    assert charge([*calls, Served(6, 6, 9)], replicas=1) == [(0.0, 6.0), (0.0, 6.0), (0.0, 3.0)]


@given(
    mixed_calls(),
    st.integers(1, 5),
    st.sampled_from([0.5, 1.0, 8.0]),
    st.sampled_from([1_000, S // 7, 41 * S]),
)
@settings(deadline=None)
def test_charges_equal_those_of_a_walk_over_every_unit_of_time(
    calls: list[Served], replicas: int, gpus: float, unit: int
) -> None:
    expected = walked(calls, replicas=replicas)
    found = charge(calls, gpus=gpus, replicas=replicas, unit=unit)
    assert found == approximately(expected, gpus * unit / S)


@given(mixed_calls(), st.integers(1, 5))
@settings(deadline=None)
def test_charges_add_up_to_the_busy_time_and_are_no_more_than_is_provisioned(
    calls: list[Served], replicas: int
) -> None:
    total = sum(prefill + decode for prefill, decode in charge(calls, replicas=replicas))
    assert total == pytest.approx(busy_units(calls, replicas=replicas), rel=1e-9, abs=1e-9)
    if len({call.replica for call in calls} - {UNKNOWN}) <= replicas:
        assert total <= replicas * LONGEST + 1e-9


@given(mixed_calls(), st.integers(1, 5))
@settings(deadline=None)
def test_no_known_call_pays_more_for_an_unknown_one(calls: list[Served], replicas: int) -> None:
    mixed = charge(calls, replicas=replicas)
    known = [number for number, call in enumerate(calls) if call.replica != UNKNOWN]
    alone = charge([calls[number] for number in known], replicas=replicas) if known else []
    for number, seconds in zip(known, alone, strict=True):
        assert sum(mixed[number]) <= sum(seconds) + 1e-9


@given(mixed_calls(), st.integers(1, 5))
@settings(deadline=None)
def test_one_kind_alone_is_charged_as_the_kernel_does(calls: list[Served], replicas: int) -> None:
    for replica in {call.replica for call in calls}:
        mine = [call for call in calls if call.replica == replica]
        spread = replicas if replica == UNKNOWN else 1
        alone = charge_replica(in_service(mine), gpus=2, replicas=spread)
        assert charge(mine, gpus=2, replicas=replicas) == list(
            zip(alone[0].tolist(), alone[1].tolist(), strict=True)
        )


@given(mixed_calls(), st.integers(1, 5), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_calls_changes_no_bit_of_a_charge(
    calls: list[Served], replicas: int, random: Any
) -> None:
    shuffled = list(range(len(calls)))
    random.shuffle(shuffled)
    straight = charge(calls, replicas=replicas)
    assert charge([calls[i] for i in shuffled], replicas=replicas) == [
        straight[i] for i in shuffled
    ]
