"""Decode beside prefill: nothing where paces are even, the planted slowdown where they are not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from analysis.capacity.beside import Phases, paces_of
from analysis.capacity.robust import robust_line
from analysis.errors import NoDataError, WrongQuestionError
from analysis.interference import (
    _is_alike,
    _is_seen,
    interference,
    interference_verdicts,
)
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]
Floats = npt.NDArray[np.float64]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()
TOKENS_PER_S = 50


def served(slower: float, *, count: int = 400, noise: float = 0, **columns: Any) -> Any:
    """Calls of one replica over two hours that decode at `1 - slower` while any is in prefill."""
    random = np.random.default_rng(20_261_005)
    start = np.sort(random.uniform(0, 7200, count))
    first = start + random.uniform(0.2, 2, count)
    output = random.integers(100, 1_000, count)
    pace = TOKENS_PER_S * np.exp(noise * random.standard_normal(count))
    end = _end(start, first, (output - 1) / pace, slower)
    return [
        {
            "call_id": str(n),
            "pool": "a",
            "replica": "r0",
            "timing_source": "engine",
            "arrived_at": MIDNIGHT + round(start[n] * S),
            "started_at": MIDNIGHT + round(start[n] * S),
            "first_token_at": MIDNIGHT + round(first[n] * S),
            "ended_at": MIDNIGHT + round(end[n] * S),
            "uncached_input_tokens": int(random.integers(100, 4_000)),
            "visible_output_tokens": int(output[n]),
        }
        | columns
        for n in range(count)
    ]


def _end(start: Floats, first: Floats, alone_s: Floats, slower: float) -> Floats:
    """When calls end that need `alone_s` of undisturbed decode after their first token."""
    instants = np.sort(np.concatenate((start, first, [0.0, 1e5])))
    middle = (instants[1:] + instants[:-1]) / 2
    begun = np.searchsorted(start, middle) - np.searchsorted(np.sort(first), middle)
    paces = np.where(begun > 0, 1 - slower, 1.0)
    done = np.concatenate(([0.0], np.cumsum(np.diff(instants) * paces)))
    return np.interp(np.interp(first, instants, done) + alone_s, done, instants)


def test_calls_of_an_even_pace_are_not_slowed(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(served(0), CONFIGURATION)
    row = interference(ledger, CONFIGURATION).frame.row(0, named=True)
    assert (row["measured_count"], row["unmeasured_count"]) == (400, 0)
    assert row["slower_ratio"] == pytest.approx(0, abs=1e-6)
    assert row["quiet_tpot_p50_s"] == pytest.approx(0.02)
    assert row["loaded_tpot_p50_s"] == pytest.approx(0.02)
    assert 0.05 < row["prefill_beside_ratio"] < 0.1
    verdicts = interference_verdicts(ledger, CONFIGURATION)
    assert verdicts.select("lever", "applies").rows() == [(19, False), (36, False)]


@pytest.mark.parametrize("slower", [0.3, 0.8])
def test_a_planted_slowdown_is_found(ledger_of: LedgerOf, slower: float) -> None:
    ledger = ledger_of(served(slower), CONFIGURATION)
    row = interference(ledger, CONFIGURATION).frame.row(0, named=True)
    assert row["slower_ratio"] == pytest.approx(slower, abs=1e-4)
    assert row["lost_decode_ratio"] == pytest.approx(slower * row["prefill_beside_ratio"], abs=1e-4)
    assert row["loaded_tpot_p50_s"] > row["quiet_tpot_p50_s"]
    verdicts = interference_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [True, True]
    assert f"decode is {slower:.0%} slower" in verdicts["evidence"][0]


def test_a_slowdown_is_within_its_interval_where_paces_differ(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(served(0.5, noise=0.1), CONFIGURATION)
    row = interference(ledger, CONFIGURATION).frame.row(0, named=True)
    assert 0 < row["slower_low_ratio"] < 0.5 < row["slower_high_ratio"]


def test_paces_that_differ_by_themselves_are_no_interference(ledger_of: LedgerOf) -> None:
    # A slow call has more prefill beside it, in seconds; of its time the share is the same.
    ledger = ledger_of(served(0, noise=0.4), CONFIGURATION)
    row = interference(ledger, CONFIGURATION).frame.row(0, named=True)
    assert row["slower_low_ratio"] < 0 < row["slower_high_ratio"]
    assert interference_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [False, False]


def test_a_beat_that_shows_no_slower_calls_has_no_interval(ledger_of: LedgerOf) -> None:
    # Every 40 s three calls 3 s apart, 11.5 s of decode each, whoever is in prefill beside.
    calls = served(0, count=540)
    for number, one in enumerate(calls):
        begin = MIDNIGHT + (number // 3 * 40 + number % 3 * 3) * S
        for name, after in (("arrived_at", 0), ("started_at", 0.25), ("first_token_at", 0.5),
                            ("ended_at", 12)):  # fmt: skip
            one[name] = begin + round(after * S)
        one["uncached_input_tokens"] = 300 + number % 7
        one["visible_output_tokens"] = 200 + number % 11
    ledger = ledger_of(calls, CONFIGURATION)
    answer = interference(ledger, CONFIGURATION)
    row = answer.frame.row(0, named=True)
    assert row["loaded_tpot_p50_s"] == pytest.approx(row["quiet_tpot_p50_s"], rel=0.005)
    assert [row[f"slower_{name}ratio"] for name in ("", "low_", "high_")] == [None] * 3
    assert any("come in a few combinations" in note for note in answer.notes)
    verdicts = interference_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [None, None]
    assert verdicts["evidence"][0].startswith("TPOT is 0.05")


def test_an_effect_that_no_comparison_shows_is_not_claimed() -> None:
    seen: dict[str, Any] = {
        "quiet_prefill_ratio": 0.0,
        "loaded_prefill_ratio": 0.2,
        "quiet_tpot_p50_s": 0.050,
        "loaded_tpot_p50_s": 0.055,
    }
    assert _is_seen(seen, 0.5)
    assert not _is_seen(seen | {"loaded_tpot_p50_s": 0.050}, 0.5)
    assert not _is_seen(seen | {"loaded_tpot_p50_s": 0.045}, 0.5)
    # Two thousandths of the pace at most: too little to be seen so.
    assert _is_seen(seen | {"loaded_tpot_p50_s": 0.050}, 0.004)


def test_loads_that_go_together_tell_nothing_of_one_of_them() -> None:
    random = np.random.default_rng(11)
    prefill, batch, context = random.uniform(size=(3, 500))
    assert not _is_alike(np.column_stack((prefill, batch, context)))
    together = 3 * prefill + 2 * context + 0.01 * batch
    assert _is_alike(np.column_stack((prefill, together, context)))


def test_without_engine_timings_it_says_what_is_needed(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(served(0, count=5, timing_source="span", first_token_at=None), CONFIGURATION)
    with pytest.raises(NoDataError, match="engine timings needed"):
        interference(ledger, CONFIGURATION)
    verdicts = interference_verdicts(ledger, CONFIGURATION)
    assert verdicts["applies"].to_list() == [None, None]
    assert all("engine timings needed" in text for text in verdicts["missing"])


def test_nobody_knows_what_is_beside_a_call_of_unknown_replica(ledger_of: LedgerOf) -> None:
    two = Configuration(pools=(Pool(name="a", replicas=2),))
    ledger = ledger_of(served(0.5, count=20, replica=None), two)
    with pytest.raises(NoDataError, match="on which replica"):
        interference(ledger, two)


def test_few_calls_have_no_effect_and_no_verdict(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(served(0.5, count=90), CONFIGURATION)
    row = interference(ledger, CONFIGURATION).frame.row(0, named=True)
    assert row["measured_count"] == 90
    assert (row["slower_ratio"], row["lost_decode_ratio"]) == (None, None)
    assert interference_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [None, None]


def test_decodes_without_a_prefill_beside_them_are_not_slowed(ledger_of: LedgerOf) -> None:
    calls = served(0, count=3)
    for number, one in enumerate(calls):
        for name in ("arrived_at", "started_at", "first_token_at", "ended_at"):
            one[name] += number * 10_000 * S
    verdicts = interference_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert verdicts["applies"].to_list() == [False, False]
    assert "no prefill runs beside the decode of 3 calls" in verdicts["evidence"][0]


def test_no_more_is_lost_than_has_a_prefill_beside(ledger_of: LedgerOf) -> None:
    # Two calls beside each other, whose prefill is half a second of a hundred.
    calls = served(0, count=110)
    for number, one in enumerate(calls):
        begin = number // 2 * 200 + number % 2 * 10
        for name, after in (("arrived_at", 0), ("started_at", 0), ("first_token_at", 0.5),
                            ("ended_at", 100)):  # fmt: skip
            one[name] = MIDNIGHT + round((begin + after) * S)
    verdicts = interference_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert verdicts["applies"].to_list() == [False, False]
    assert verdicts["evidence"][0] == (
        "a prefill runs beside the decode of 110 calls in 0.25% of its time, and no more can be "
        "lost"
    )


def test_it_is_not_asked_by_hour(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(served(0, count=5), CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="by pool and replica"):
        interference(ledger, CONFIGURATION, by=("hour",))


def test_what_is_beside_a_decode_is_a_share_of_its_time() -> None:
    # The first call decodes in 10..30; others are in prefill in 12..17 and 14..20, in decode after.
    calls = Phases(
        started_at=np.array([0, 12, 14]) * S,
        first_token_at=np.array([10, 17, 20]) * S,
        ended_at=np.array([30, 27, 20]) * S,
        decode_tokens=np.array([100.0, np.nan, np.nan]),
        context_tokens=np.array([50.0, 100.0, 0.0]),
    )
    found = paces_of(calls, 0, 100 * S).frame().row(0, named=True)
    assert found["tokens_per_s"] == 5
    assert found["prefill_share"] == pytest.approx(8 / 20)
    assert found["decoding"] == pytest.approx(10 / 20)
    assert found["context_tokens"] == pytest.approx(100 * 15 / 20)


def test_a_line_is_not_drawn_by_a_few_points_far_off() -> None:
    x = np.arange(1000) / 1000
    y = 3 - 2 * x + 0.01 * np.sin(np.arange(1000))
    y[::50] += 100
    line = robust_line(
        np.column_stack((np.ones(1000), x)),
        y,
        weights=np.ones(1000),
        clusters=np.arange(1000) // 10,
    )
    assert line.coefficients.tolist() == pytest.approx([3, -2], abs=0.01)


def test_a_column_of_another_size_changes_no_interval() -> None:
    random = np.random.default_rng(3)
    x, z = random.uniform(size=500), random.uniform(size=500)
    y = 1 + x + z + 0.1 * random.standard_normal(500)
    lines = [
        robust_line(
            np.column_stack((np.ones(500), x, z * size)),
            y,
            weights=np.ones(500),
            clusters=np.arange(500) // 10,
        )
        for size in (1, 1e9)
    ]
    assert lines[0].half_width(1) == pytest.approx(lines[1].half_width(1))
    assert lines[0].half_width(1) == pytest.approx(0.03, abs=0.01)
