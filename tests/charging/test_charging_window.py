"""Windows that begin or end within a quarter-hour: their parts add up, wherever they are cut."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.charging.window import edge_pieces
from ingest.config import Configuration, Pool

S = 1_000_000_000
QUARTER = 900 * S
NOON = 20_700 * 86_400 * S + 43_200 * S
CONFIGURATION = Configuration(pools=(Pool(name="a", models=("m",), replicas=2),))
SECONDS = ("prefill_s", "decode_s", "prefill_gpu_seconds", "decode_gpu_seconds")


def window_sums(calls: Any, since: int | None, until: int | None) -> list[float]:
    """Seconds of the window, as a question adds them up: whole quarters and edges."""
    first = 0 if since is None else -(-since // QUARTER)
    last = 2**31 - 1 if until is None else until // QUARTER
    [whole] = calls.rows(
        f"select {', '.join(f'coalesce(sum({name}), 0)' for name in SECONDS)} from charges "
        "where quarter >= $first and quarter < $last",
        first=first,
        last=last,
    )
    edges = edge_pieces(calls.connection, since, until)
    return [
        total + sum(edges[name].to_pylist()) for total, name in zip(whole, SECONDS, strict=True)
    ]


def sums(*seconds: float) -> Any:
    return pytest.approx(list(seconds), rel=1e-9, abs=1e-9)


@pytest.fixture
def two_calls(calls: Any, call: Any) -> Any:
    """One call at 0-100 s, another at 60-100 s after noon, on one GPU."""
    for name, start, first in (("x", 0, 80), ("y", 60, 70)):
        times = {"started_at": NOON + start * S, "first_token_at": NOON + first * S}
        calls.deliver(call(call_id=name, ended_at=NOON + 100 * S, **times))
    calls.charge(CONFIGURATION)
    return calls


def test_a_window_within_a_quarter_has_what_passes_in_it(two_calls: Any) -> None:
    # 50-75 s: x alone for 10 s, then both for 15 s, of which y decodes 5 s.
    assert window_sums(two_calls, NOON + 50 * S, NOON + 75 * S) == sums(35, 5, 22.5, 2.5)


def test_a_window_of_whole_quarters_has_no_edge(two_calls: Any) -> None:
    assert edge_pieces(two_calls.connection, NOON, NOON + QUARTER).num_rows == 0
    assert window_sums(two_calls, NOON, NOON + QUARTER) == sums(90, 50, 75, 25)


def test_a_window_without_bounds_has_everything(two_calls: Any) -> None:
    assert window_sums(two_calls, None, None) == sums(90, 50, 75, 25)


def test_a_window_cuts_calls_of_known_and_of_unknown_replica_alike(calls: Any, call: Any) -> None:
    # Two replicas of a GPU, both known busy from 60 s on; the unknown call weighs 2 after 80 s.
    for name, replica, start, first in (("x", "r0", 0, 0), ("y", "r1", 60, 60), ("z", None, 0, 80)):
        times = {"started_at": NOON + start * S, "first_token_at": NOON + first * S}
        where = {"replica": replica, "n_choices": 2}
        calls.deliver(call(call_id=name, ended_at=NOON + 100 * S, **times, **where))
    calls.charge(CONFIGURATION)
    # 50-90 s: x and z alone for 10 s, then 30 s of both replicas. z has a fifth of the two by its
    # prompt for 20 s (half of 1, beside 2), then a third by its two sequences for 10 s.
    z_prefill, z_decode = 10 + 20 * 2 * 0.5 / 2.5, 10 * 2 / 3
    x_and_y = 10 + 20 * 2 * 2 / 2.5 + 10 * 2 * 2 / 3
    assert window_sums(calls, NOON + 50 * S, NOON + 90 * S) == sums(
        30, 80, z_prefill, z_decode + x_and_y
    )


def test_an_edge_belongs_to_the_rate_and_partition_of_its_calls(two_calls: Any) -> None:
    edges = edge_pieces(two_calls.connection, NOON + 50 * S, None)
    stored = two_calls.rows("select distinct rate_id, partition_id, quarter from charges")
    keys = [edges[name].to_pylist() for name in ("rate_id", "partition_id", "quarter")]
    assert set(zip(*keys, strict=True)) == set(stored)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 60), min_size=3, max_size=3).map(sorted),
            st.sampled_from(["r0", "r1", None]),
            st.sampled_from([None, 3]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.lists(st.integers(-5, 65), min_size=3, max_size=3).map(sorted),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_splitting_a_window_anywhere_adds_up(
    new_ledger: Any,
    call: Any,
    drawn: list[tuple[list[int], str | None, int | None]],
    bounds: list[int],
) -> None:
    step = 41 * S
    calls = new_ledger()
    for number, (times, replica, choices) in enumerate(drawn):
        start, first, end = (NOON + time * step for time in times)
        at = {"started_at": start, "first_token_at": first, "ended_at": end}
        calls.deliver(call(call_id=str(number), replica=replica, n_choices=choices, **at))
    calls.charge(CONFIGURATION)
    since, middle, until = (NOON + bound * step for bound in bounds)
    left, right = window_sums(calls, since, middle), window_sums(calls, middle, until)
    parts = [a + b for a, b in zip(left, right, strict=True)]
    assert parts == sums(*window_sums(calls, since, until))
