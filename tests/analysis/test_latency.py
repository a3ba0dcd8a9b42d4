"""Latencies: percentiles of what was observed, and a count of what was not."""

from collections.abc import Callable
from typing import Any

import pytest

from analysis.latency import latency
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MS = 1_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()


def call(number: int, **columns: Any) -> dict[str, Any]:
    """Arrives, waits 10 ms times `number`, then 100 ms to the first of 11 tokens, 20 ms each."""
    arrived = MIDNIGHT + number * S
    started = arrived + number * 10 * MS
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": arrived,
        "started_at": started,
        "first_token_at": started + 100 * MS,
        "ended_at": started + 300 * MS,
        "visible_output_tokens": 11,
    } | columns


def measured(frame_of: Any) -> dict[str, tuple[float | None, ...]]:
    columns = ("p50_s", "p95_s", "p99_s", "known_count", "unknown_count")
    return {row["measure"]: tuple(row[c] for c in columns) for row in frame_of.to_dicts()}


def test_percentiles_are_interpolated_between_the_observed(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(number) for number in range(101)], CONFIGURATION)
    found = measured(latency(ledger, CONFIGURATION).frame)
    # Waits of 0, 10, ... 1000 ms: the percentile p is at 10 p ms.
    assert found["queue"] == pytest.approx((0.5, 0.95, 0.99, 101, 0))
    assert found["ttft"] == pytest.approx((0.6, 1.05, 1.09, 101, 0))
    assert found["e2e"] == pytest.approx((0.8, 1.25, 1.29, 101, 0))
    assert found["prefill"] == pytest.approx((0.1, 0.1, 0.1, 101, 0))
    # 200 ms over the ten tokens after the first.
    assert found["tpot"] == pytest.approx((0.02, 0.02, 0.02, 101, 0))


def test_estimated_phases_are_unknown_not_guessed(ledger_of: LedgerOf) -> None:
    span = {"timing_source": "span", "started_at": None, "first_token_at": None}
    found = measured(
        latency(ledger_of([call(1), call(2, **span)], CONFIGURATION), CONFIGURATION).frame
    )
    assert found["ttft"][3:] == (1, 1)
    assert found["queue"][3:] == found["prefill"][3:] == (1, 1)
    assert found["tpot"][3:] == (1, 1)
    assert found["e2e"][3:] == (2, 0)


def test_one_token_has_no_time_per_further_token(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1), call(2, visible_output_tokens=1)], CONFIGURATION)
    found = measured(latency(ledger, CONFIGURATION).frame)
    assert found["tpot"][3:] == (1, 0)


def test_choices_decode_side_by_side(ledger_of: LedgerOf) -> None:
    # 44 tokens of four choices in 200 ms: eleven each, ten of them after the first.
    four = {"n_choices": 4, "visible_output_tokens": 44}
    ledger = ledger_of([call(1), call(2, **four)], CONFIGURATION)
    for most_exact_calls, tolerance in ((100, 1e-9), (1, 0.01)):
        found = measured(latency(ledger, CONFIGURATION, most_exact_calls=most_exact_calls).frame)[
            "tpot"
        ]
        assert found == pytest.approx((0.02, 0.02, 0.02, 2, 0), rel=tolerance)


def test_choices_of_one_token_have_no_time_per_further_token(ledger_of: LedgerOf) -> None:
    four = {"n_choices": 4, "visible_output_tokens": 4}
    found = measured(latency(ledger_of([call(1, **four)], CONFIGURATION), CONFIGURATION).frame)
    assert "tpot" not in found
    assert found["e2e"][3:] == (1, 0)


def test_times_that_contradict_each_other_are_in_no_percentile(ledger_of: LedgerOf) -> None:
    broken = call(2, ended_at=MIDNIGHT)
    answer = latency(ledger_of([call(1), broken], CONFIGURATION), CONFIGURATION)
    assert all(counts[3:] == (1, 1) for counts in measured(answer.frame).values())
    assert "not observed, hence in no percentile: 5 durations" in answer.notes


def test_the_gap_before_each_token_is_not_told(ledger_of: LedgerOf) -> None:
    answer = latency(ledger_of([call(1)], CONFIGURATION), CONFIGURATION)
    assert "itl" not in answer.frame["measure"].to_list()
    assert any(note.startswith("ITL, the gap before each single token") for note in answer.notes)


def test_groups_may_be_an_hour_and_a_model(ledger_of: LedgerOf) -> None:
    calls = [call(1, model="m"), call(2), call(4000, model="m")]
    frame = latency(ledger_of(calls, CONFIGURATION), CONFIGURATION, by=("hour", "model")).frame
    e2e = frame.filter(frame["measure"] == "e2e").select("hour", "model", "known_count").rows()
    assert e2e == [
        ("2026-10-05T00:00+00:00", "m", 1),
        ("2026-10-05T00:00+00:00", None, 1),
        ("2026-10-05T01:00+00:00", "m", 1),
    ]


def test_one_users_calls_can_be_measured(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, user_id="u1"), call(2, user_id="u2"), call(3)], CONFIGURATION)
    frame = latency(ledger, CONFIGURATION, by=("user_id",), where={"user_id": "u2"}).frame
    assert frame.select("user_id", "measure", "p50_s").rows()[0] == ("u2", "queue", 0.02)


def test_the_histogram_is_within_its_bucket_of_the_exact_percentile(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(number) for number in range(101)], CONFIGURATION)
    exact = measured(latency(ledger, CONFIGURATION).frame)
    rough = latency(ledger, CONFIGURATION, most_exact_calls=100)
    for measure, values in measured(rough.frame).items():
        assert values[:3] == pytest.approx(exact[measure][:3], rel=0.02), measure
        assert values[3:] == exact[measure][3:]
    assert "percentiles are of buckets 1 % wide (many calls)" in rough.notes


def test_the_histogram_keeps_calls_that_never_waited(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(0, call_id=str(number)) for number in range(5)], CONFIGURATION)
    found = measured(latency(ledger, CONFIGURATION, most_exact_calls=1).frame)
    assert found["queue"] == (0.0, 0.0, 0.0, 5, 0)


def test_a_refused_call_waited_for_nothing(ledger_of: LedgerOf) -> None:
    refused = {
        "timing_source": "span",
        "started_at": None,
        "first_token_at": None,
        "http_status": 429,
        "visible_output_tokens": 0,
    }
    ledger = ledger_of([call(1), call(2, **refused)], CONFIGURATION)
    found = measured(latency(ledger, CONFIGURATION).frame)
    assert found["queue"][3:] == found["ttft"][3:] == (1, 1)
    assert found["queue"][0] == pytest.approx(0.01)
    assert found["e2e"][3:] == (2, 0)
