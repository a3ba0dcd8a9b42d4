"""Calls at once and the KV memory they hold, against literals worked out by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.capacity.sweep import LaneCalls, segments_of
from analysis.concurrency import concurrency, concurrency_verdicts
from analysis.errors import NoDataError, WrongQuestionError
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
HOUR = 3600 * S
POOL = Pool(name="a", kv_cache_tokens=1_000)
CONFIGURATION = Configuration(pools=(POOL,))
UNSIZED = Configuration(pools=(Pool(name="a"),))


def call(number: int, start: float, first: float, end: float, **columns: Any) -> dict[str, Any]:
    """Seconds after midnight: start of service, first token, end."""
    waits = columns.pop("waits", start)
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + round(waits * S),
        "started_at": MIDNIGHT + round(start * S),
        "first_token_at": MIDNIGHT + round(first * S),
        "ended_at": MIDNIGHT + round(end * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 0,
    } | columns


def row_of(ledger: Ledger, configuration: Configuration = CONFIGURATION, **asked: Any) -> Any:
    frame = concurrency(ledger, configuration, **asked).frame
    assert frame.height == 1
    return frame.row(0, named=True)


def test_calls_at_once_are_weighted_by_time(ledger_of: LedgerOf) -> None:
    # One call in 0..10, two in 10..20, three in 20..22: 10 + 20 + 6 call seconds in 22 s.
    calls = [call(1, 0, 22, 22), call(2, 10, 22, 22), call(3, 20, 22, 22)]
    row = row_of(ledger_of(calls, CONFIGURATION))
    assert (row["busy_s"], row["residence_s"]) == (22, 36)
    assert row["concurrency_mean"] == pytest.approx(36 / 22)
    assert [row[f"concurrency_{name}"] for name in ("p50", "p95", "max")] == [2, 3, 3]


def test_kv_tokens_are_the_input_and_the_output_as_it_grows(ledger_of: LedgerOf) -> None:
    # 100 tokens in 0..10, then evenly to 300 in 10..20: 1,000 + 2,000 token seconds.
    calls = [call(1, 0, 10, 20, visible_output_tokens=200)]
    row = row_of(ledger_of(calls, CONFIGURATION))
    assert row["kv_mean_tokens"] == pytest.approx(150)
    assert row["kv_max_tokens"] == pytest.approx(300)
    assert row["kv_p50_tokens"] == pytest.approx(100, rel=0.01)
    assert row["kv_p95_tokens"] == pytest.approx(280, rel=0.001)
    assert row["call_kv_tokens"] == pytest.approx(150)
    assert row["allowed_concurrency"] == pytest.approx(1000 / 150)
    assert row["kv_p95_ratio"] == pytest.approx(0.28, rel=0.001)


def test_a_queue_beside_free_memory_is_told_from_one_beside_full_memory(
    ledger_of: LedgerOf,
) -> None:
    # KV grows from 800 to 980 in 0..20 and is 900 at 100/9 s; the other one needs no token.
    calls = [
        call(1, 0, 0, 20, uncached_input_tokens=800, visible_output_tokens=180),
        call(2, 15, 20, 20, waits=5, uncached_input_tokens=0),
    ]
    row = row_of(ledger_of(calls, CONFIGURATION))
    assert row["queued_s"] == pytest.approx(10)
    assert row["queued_free_s"] == pytest.approx(100 / 9 - 5)
    assert row["queued_full_s"] == pytest.approx(15 - 100 / 9)
    assert (row["queued_growing_s"], row["queued_calls"], row["queued_concurrency"]) == (0, 1, 1)


def test_memory_that_running_calls_grow_into_is_not_free(ledger_of: LedgerOf) -> None:
    # 100 tokens grow to 900 in 0..40; one that needs 200 waits in 0..10, one that needs 50 to 20.
    calls = [
        call(1, 0, 0, 40, visible_output_tokens=800),
        call(2, 10, 40, 40, waits=0, uncached_input_tokens=200),
        call(3, 20, 40, 40, waits=10, uncached_input_tokens=50),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    row = row_of(ledger)
    # With the second in service, 900 + 200 + 50 do not fit either.
    assert (row["queued_s"], row["queued_growing_s"], row["queued_full_s"]) == (20, 20, 0)
    verdicts = concurrency_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [False, None, None, None]
    assert "whether the engine keeps room for whole answers" in verdicts["missing"][1]


def test_calls_of_unknown_replica_are_spread_over_the_replicas(ledger_of: LedgerOf) -> None:
    configuration = Configuration(pools=(Pool(name="a", replicas=2, kv_cache_tokens=1_000),))
    calls = [call(n, 0, 10, 10, replica=None) for n in range(3)] + [
        call(9, 20, 30, 30, replica=None)
    ]
    row = row_of(ledger_of(calls, configuration), configuration)
    # 10 s on two replicas with 1.5 calls each, 10 s on one with one.
    assert (row["busy_s"], row["residence_s"]) == (30, 40)
    assert (row["concurrency_max"], row["kv_max_tokens"]) == (1.5, 150)


def test_a_wait_before_anything_runs_is_a_queue_beside_free_memory(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 10, 11, 20, waits=0)], CONFIGURATION)
    window = Window(since=MIDNIGHT, until=MIDNIGHT + 4 * S)
    row = row_of(ledger, window=window)
    assert (row["busy_s"], row["concurrency_mean"], row["kv_mean_tokens"]) == (0, None, None)
    assert (row["queued_s"], row["queued_free_s"], row["queued_full_s"]) == (4, 4, 0)


def test_a_replica_is_told_apart_on_days_on_which_every_call_names_its_own(
    ledger_of: LedgerOf,
) -> None:
    # Both calls of the first day name theirs; the next day one of two does not.
    day = 86_400
    calls = [call(1, 0, 10, 10), call(2, 0, 10, 10, replica="r1")]
    calls += [call(3, day, day + 10, day + 10), call(4, day, day + 10, day + 10, replica=None)]
    configuration = Configuration(pools=(Pool(name="a", replicas=2),))
    answer = concurrency(ledger_of(calls, configuration), configuration, by=("replica",))
    assert answer.frame.select("replica", "busy_s", "residence_s").rows() == [
        ("r0", 10, 10),
        ("r1", 10, 10),
        (None, 20, 20),
    ]
    assert any("names its replica on 1 day" in note for note in answer.notes)


def test_nobody_waits_where_calls_start_as_they_arrive(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(n, n * 10, n * 10 + 1, n * 10 + 9) for n in range(5)], CONFIGURATION)
    row = row_of(ledger)
    assert (row["queued_s"], row["queued_free_s"], row["queued_full_s"]) == (0, 0, 0)
    assert concurrency_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [False] * 4


def test_without_a_size_the_answer_says_what_is_missing(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 0, 1, 10), call(2, 5, 6, 10, waits=1)], UNSIZED)
    answer = concurrency(ledger, UNSIZED)
    row = answer.frame.row(0, named=True)
    assert (row["queued_s"], row["queued_free_s"], row["allowed_concurrency"]) == (4, None, None)
    assert any("set kv_cache_tokens of [[pools]]" in note for note in answer.notes)
    verdicts = concurrency_verdicts(ledger, UNSIZED)
    assert verdicts["applies"].to_list() == [None] * 4
    assert all("kv_cache_tokens" in text for text in verdicts["missing"])


def test_a_queue_that_was_not_observed_is_not_zero(ledger_of: LedgerOf) -> None:
    calls = [call(1, 0, 1, 10, timing_source="stream", started_at=None)]
    answer = concurrency(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert answer.frame["queued_s"].to_list() == [None]
    assert any("when calls arrived and when their service started" in n for n in answer.notes)


def test_calls_that_tell_no_tokens_are_no_calls_without_tokens(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 0, 1, 10, visible_output_tokens=None)], CONFIGURATION)
    row = row_of(ledger)
    assert (row["kv_told_ratio"], row["kv_mean_tokens"], row["kv_p95_tokens"]) == (0, None, None)


def test_levers_apply_where_calls_wait_beside_free_memory(ledger_of: LedgerOf) -> None:
    # One call of 100 tokens runs at a time; memory has room for ten.
    calls = [call(n, n * 10, n * 10 + 10, n * 10 + 10, waits=0) for n in range(5)]
    verdicts = concurrency_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert verdicts.select("lever", "pool", "applies").rows() == [
        (15, "a", True),
        (16, "a", True),
        (17, "a", False),
        (32, "a", False),
    ]
    assert "1.0 run meanwhile, memory allows 10.0" in verdicts["evidence"][0]


def test_a_short_queue_beside_an_open_batch_is_overhead(ledger_of: LedgerOf) -> None:
    # Of three calls each waits 0.25 s; the second and the third start while others decode.
    calls = [
        call(n, at + 0.25, at + 0.5, at + 12, waits=at, visible_output_tokens=10)
        for n, at in enumerate(40 * group + 3 * one for group in range(10) for one in range(3))
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    row = row_of(ledger)
    # The window begins with the first service.
    assert (row["queued_s"], row["queued_free_concurrency"]) == (7.25, pytest.approx(30 / 29))
    assert (row["concurrency_p95"], row["joined_ratio"]) == (3, pytest.approx(2 / 3))
    verdicts = concurrency_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [False] * 4
    assert "what they wait for is overhead" in verdicts["evidence"][1]


def test_calls_that_join_a_full_batch_need_more_places_and_no_other_batching(
    ledger_of: LedgerOf,
) -> None:
    # Two places, of ten that memory allows: a call starts as another ends, beside a third.
    calls = [
        call(n, 5 * n, 5 * n + 1, 5 * n + 10, waits=max(5 * n - 20, 0), visible_output_tokens=10)
        for n in range(40)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    row = row_of(ledger)
    assert (row["concurrency_p95"], row["joined_ratio"]) == (2, pytest.approx(39 / 40))
    verdicts = concurrency_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [False, True, False, False]
    assert "97.5% of calls start while others decode" in verdicts["evidence"][0]


def test_a_wait_while_nothing_runs_is_no_full_batch(ledger_of: LedgerOf) -> None:
    calls = [call(n, 10 * n + 1, 10 * n + 2, 10 * n + 8, waits=10 * n) for n in range(5)]
    verdicts = concurrency_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert verdicts["applies"].to_list() == [False] * 4


def test_a_start_at_the_end_of_another_call_joins_nothing(ledger_of: LedgerOf) -> None:
    # Two clocks: the next call starts 5 ms before the end of the last one.
    calls = [
        call(n, n * 10 - 0.005, n * 10 + 2, n * 10 + 10, waits=0, visible_output_tokens=10)
        for n in range(1, 9)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    assert row_of(ledger)["joined_ratio"] == 0
    assert concurrency_verdicts(ledger, CONFIGURATION)["applies"].to_list()[:2] == [True, True]


def test_a_full_memory_is_a_matter_of_more_memory(ledger_of: LedgerOf) -> None:
    calls = [
        call(n, n * 10, n * 10 + 10, n * 10 + 10, waits=0, uncached_input_tokens=950)
        for n in range(5)
    ]
    verdicts = concurrency_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert verdicts["applies"].to_list() == [False, False, True, True]


def test_a_pool_is_cut_by_replica_and_hour(ledger_of: LedgerOf) -> None:
    calls = [call(1, 3590, 3610, 3610), call(2, 0, 10, 10, replica="r1")]
    ledger = ledger_of(calls, CONFIGURATION)
    frame = concurrency(ledger, CONFIGURATION, by=("hour", "replica")).frame
    assert frame.select("pool", "hour", "replica", "busy_s").rows() == [
        ("a", "2026-10-05T00:00+00:00", "r0", 10),
        ("a", "2026-10-05T00:00+00:00", "r1", 10),
        ("a", "2026-10-05T01:00+00:00", "r0", 10),
    ]
    with pytest.raises(WrongQuestionError, match="not by 'hours'"):
        concurrency(ledger, CONFIGURATION, by=("hours",))


def test_calls_without_a_pool_are_no_matter_of_capacity(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 0, 1, 2, pool=None, timing_source="span")], Configuration())
    with pytest.raises(NoDataError, match="no call here is served by a pool"):
        concurrency(ledger, Configuration())


CALLS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=6, deadline=None)
@given(shapes=CALLS, split=st.integers(1, 100))
def test_the_mean_is_b_of_the_law_and_parts_of_the_time_add_up(
    ledger_of: LedgerOf, shapes: Sequence[tuple[int, int, int, int]], split: int
) -> None:
    calls = [
        call(n, w + q, w + q + p, w + q + p + d + 1, waits=w, visible_output_tokens=7 * d)
        for n, (w, q, p, d) in enumerate(shapes)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    window = Window(since=MIDNIGHT, until=MIDNIGHT + 200 * S)
    row = row_of(ledger, window=window)
    whole = law(ledger, CONFIGURATION, by=(), window=window).frame
    served = whole.filter(whole["line"] == "calls").row(0, named=True)
    assert row["concurrency_mean"] == pytest.approx(served["B"])
    parts = ("free", "growing", "full")
    assert sum(row[f"queued_{part}_s"] for part in parts) == pytest.approx(row["queued_s"])
    held = [(100 + 7 * d / 2 * (d + 1) / (d + 1)) * (d + 1) + 100 * p for _, _, p, d in shapes]
    assert row["kv_mean_tokens"] * row["busy_s"] == pytest.approx(sum(held))
    middle = MIDNIGHT + split * S
    parts = [
        concurrency(ledger, CONFIGURATION, window=Window(since=since, until=until)).frame
        for since, until in ((MIDNIGHT, middle), (middle, MIDNIGHT + 200 * S))
        if any(since < one["ended_at"] and one["arrived_at"] < until for one in calls)
    ]
    for column in ("busy_s", "residence_s", "queued_s", "queued_full_s", "queued_growing_s"):
        assert sum(part[column].sum() for part in parts) == pytest.approx(row[column], abs=1e-6)


def test_a_stretch_takes_over_what_calls_hold_when_it_begins() -> None:
    calls = LaneCalls(
        waits_at=np.array([0]),
        is_seen=np.array([True]),
        started_at=np.array([0]),
        first_token_at=np.array([10]),
        ended_at=np.array([20]),
        input_tokens=np.array([100.0]),
        output_tokens=np.array([50.0]),
    )
    found = segments_of(calls, np.array([14, 18]))
    assert (found.kv_begin.tolist(), found.kv_end.tolist()) == ([120.0], [140.0])


def test_stretches_that_are_read_one_by_one_change_nothing(
    ledger_of: LedgerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    start, shape = np.sort(random.uniform(0, 600, 200)), random.uniform(0, 20, (200, 3))
    calls = [
        call(
            n,
            at,
            at + prefill,
            at + prefill + decode,
            waits=max(at - wait, 0),
            uncached_input_tokens=int(random.integers(1, 200)),
            visible_output_tokens=int(random.integers(1, 200)),
            replica=f"r{n % 2}",
        )
        for n, (at, (wait, prefill, decode)) in enumerate(zip(start, shape, strict=True))
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    whole = row_of(ledger)
    monkeypatch.setattr("analysis.capacity.lanes.STRETCH_CALLS", 7)
    parts = row_of(ledger)
    assert whole["queued_growing_s"] > 0
    for column, value in whole.items():
        assert parts[column] == (value if column == "pool" else pytest.approx(value, rel=1e-6))
