"""Bursts of arrivals against the mean of their quarter-hour, and the wait of those in them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from analysis.bursts import bursts, bursts_verdicts
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()


def calls_at(seconds: Sequence[float], waits: Sequence[float] | float = 0, **columns: Any) -> Any:
    """A call of a second for each arrival, `waits` seconds later."""
    queue = [waits] * len(seconds) if isinstance(waits, int | float) else waits
    return [
        {
            "call_id": f"{columns.get('pool', 'a')}-{n}",
            "pool": "a",
            "replica": "r0",
            "timing_source": "engine",
            "arrived_at": MIDNIGHT + round(at * S),
            "started_at": MIDNIGHT + round((at + wait) * S),
            "first_token_at": MIDNIGHT + round((at + wait) * S),
            "ended_at": MIDNIGHT + round((at + wait + 1) * S),
            "uncached_input_tokens": 1,
            "visible_output_tokens": 1,
        }
        | columns
        for n, (at, wait) in enumerate(zip(seconds, queue, strict=True))
    ]


def row_of(ledger: Ledger) -> dict[str, Any]:
    frame = bursts(ledger, CONFIGURATION).frame
    assert frame.height == 1
    return frame.row(0, named=True)


def test_calls_at_once_are_a_burst_beside_calls_now_and_then(ledger_of: LedgerOf) -> None:
    # A call every 10 s for a quarter-hour, and 30 at once at 300.2 s that wait up to 6 s.
    steady = [n * 10 + 0.5 for n in range(90)]
    calls = calls_at([*steady, *[300.2] * 30], [*[0.0] * 90, *[n / 5 for n in range(30)]])
    row = row_of(ledger_of(calls, CONFIGURATION))
    assert (row["second_peak_count"], row["minute_peak_count"]) == (31, 36)
    assert row["second_peak_ratio"] == pytest.approx(31 / (120 / 900))
    assert row["minute_peak_ratio"] == pytest.approx(36 / (120 / 15))
    # Of 120 calls in 900 seconds: 89 seconds with one and one with 31.
    squares = 89 + 31**2 - 120**2 / 900
    assert row["second_dispersion"] == pytest.approx(squares / 899 / (120 / 900))
    # The minute of the burst has 36 of them, more than 8 + 4 sqrt(8) + 2.5.
    assert (row["burst_call_count"], row["burst_ratio"]) == (36, 0.3)
    assert row["burst_queue_p99_s"] == pytest.approx(5.73)
    assert (row["near_queue_p99_s"], row["calm_queue_p99_s"]) == (0, None)


def test_a_beat_has_no_dispersion_and_no_burst(ledger_of: LedgerOf) -> None:
    row = row_of(ledger_of(calls_at([n + 0.5 for n in range(1800)]), CONFIGURATION))
    assert (row["second_dispersion"], row["second_peak_ratio"], row["burst_call_count"]) == (
        0,
        1,
        0,
    )


def test_independent_arrivals_are_no_bursts(ledger_of: LedgerOf) -> None:
    arrivals = np.sort(np.random.default_rng(7).uniform(0, 7200, 3600)).tolist()
    ledger = ledger_of(calls_at(arrivals), CONFIGURATION)
    row = row_of(ledger)
    assert row["second_dispersion"] == pytest.approx(1, abs=0.06)
    assert row["minute_dispersion"] == pytest.approx(1, abs=0.3)
    assert row["burst_ratio"] < 0.005
    assert bursts_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [False]


def test_a_day_that_fills_up_slowly_is_no_burst(ledger_of: LedgerOf) -> None:
    # One arrival a minute at first, twenty a minute three hours later.
    arrivals = [m * 60 + k * 60 / (m // 9 + 1) for m in range(180) for k in range(m // 9 + 1)]
    assert row_of(ledger_of(calls_at(arrivals), CONFIGURATION))["burst_call_count"] == 0


def test_admission_applies_where_the_queue_stands_in_bursts_alone(ledger_of: LedgerOf) -> None:
    steady = [n * 10 + 0.5 for n in range(180)]
    calls = calls_at([*steady, *[300.2] * 30], [*[0.0] * 180, *[2.0] * 30])
    verdict = bursts_verdicts(ledger_of(calls, CONFIGURATION), CONFIGURATION).row(0, named=True)
    assert (verdict["lever"], verdict["pool"], verdict["applies"]) == (40, "a", True)
    assert "2.00 s in and near them, 0.00 s at other times" in verdict["evidence"]


def test_a_queue_that_stands_always_is_no_matter_of_bursts(ledger_of: LedgerOf) -> None:
    steady = [n * 10 + 0.5 for n in range(180)]
    for arrivals in ([*steady, *[300.2] * 30], steady):
        ledger = ledger_of(calls_at(arrivals, 2.0), CONFIGURATION)
        verdict = bursts_verdicts(ledger, CONFIGURATION).row(0, named=True)
        assert verdict["applies"] is False
        assert "; bursts are not why calls wait: levers 15 to 20 and 44" in verdict["evidence"]


def test_without_a_queue_time_the_verdict_says_what_is_missing(ledger_of: LedgerOf) -> None:
    calls = calls_at([*[n * 10.5 for n in range(80)], *[300.2] * 30], started_at=None)
    ledger = ledger_of(calls, CONFIGURATION)
    answer = bursts(ledger, CONFIGURATION)
    assert "not told, hence in no percentile: the queue of 110 calls" in answer.notes
    verdict = bursts_verdicts(ledger, CONFIGURATION).row(0, named=True)
    assert verdict["applies"] is None
    assert "when calls arrived and when their service started" in verdict["missing"]


def test_calls_without_an_arrival_are_counted_apart(ledger_of: LedgerOf) -> None:
    calls = [*calls_at([1, 2]), *calls_at([3], pool="a", call_id="x", arrived_at=None)]
    row = row_of(ledger_of(calls, CONFIGURATION))
    assert (row["call_count"], row["unknown_count"]) == (2, 1)


def test_groups_add_up_to_the_whole(ledger_of: LedgerOf) -> None:
    calls = [*calls_at([1, 1, 700, 1000]), *calls_at([1, 3000], pool="b", replica="r1")]
    ledger = ledger_of(calls, CONFIGURATION)
    for by in (("pool",), ("hour", "pool"), ("model",)):
        assert bursts(ledger, CONFIGURATION, by=by).frame["call_count"].sum() == 6
