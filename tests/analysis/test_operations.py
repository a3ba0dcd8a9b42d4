"""Attempts of one operation: one latency over all of them, and what the failed ones used."""

from typing import Any

import pytest

from analysis.errors import WrongQuestionError
from analysis.operations import operations
from analysis.window import Window
from ingest.config import Configuration, Pool

CONFIGURATION = Configuration(pools=(Pool(name="gpus", models=("m",)),))
WINDOW = Window(timezone="UTC")
FIRST = "a" * 32


def attempt(number: int, begin_s: int, end_s: int, **columns: Any) -> dict[str, Any]:
    """Attempt `number` between two seconds of a minute, its prefill one second long."""
    name = FIRST if number == 1 else f"{number:032x}"
    return {
        "call_id": name,
        "attempt": number,
        "retry_of": None if number == 1 else FIRST,
        "model": "m",
        "endpoint": "/ask",
        "timing_source": "engine",
        "arrived_at": f"2026-11-10T10:00:{begin_s:02}Z",
        "started_at": f"2026-11-10T10:00:{begin_s:02}Z",
        "first_token_at": f"2026-11-10T10:00:{begin_s + 1:02}Z",
        "ended_at": f"2026-11-10T10:00:{end_s:02}Z",
        **columns,
    }


REFUSED = {
    **attempt(1, 0, 1, status="error", http_status=429),
    "started_at": None,
    "first_token_at": None,
    "uncached_input_tokens": 0,
    "visible_output_tokens": 0,
    "tokens_source": "estimated",
}
TIMED_OUT = attempt(
    2, 2, 12, status="timeout", uncached_input_tokens=1000, visible_output_tokens=400
)
GOOD = attempt(3, 13, 20, uncached_input_tokens=1000, visible_output_tokens=300)


def test_latency_spans_all_attempts_and_failed_ones_are_waste(ledger_of: Any) -> None:
    alone = attempt(4, 30, 40, call_id="d" * 32, attempt=None, retry_of=None)
    ledger = ledger_of([REFUSED, TIMED_OUT, GOOD, alone], CONFIGURATION)
    answer = operations(ledger, window=WINDOW)
    (row,) = answer.frame.to_dicts()
    assert (row["operation_id"], row["latency_s"], row["status"]) == (FIRST, 20.0, "ok")
    assert (row["attempt_count"], row["failed_count"]) == (3, 2)
    assert (row["input_tokens"], row["output_tokens"]) == (2000, 700)
    assert (row["wasted_input_tokens"], row["wasted_output_tokens"]) == (1000, 400)
    assert (row["gpu_seconds"], row["wasted_gpu_seconds"]) == pytest.approx((17.0, 10.0))
    assert answer.notes == ("1 operation of several attempts, the slowest first",)


def test_a_filter_selects_by_the_last_attempt(ledger_of: Any) -> None:
    ledger = ledger_of([TIMED_OUT | {"call_id": FIRST, "retry_of": None}, GOOD], CONFIGURATION)
    for endpoint, height in (("/ask", 1), ("/other", 0)):
        found = operations(ledger, window=WINDOW, where={"endpoint": endpoint})
        assert found.frame.height == height
    with pytest.raises(WrongQuestionError, match="by a known team: team=value"):
        operations(ledger, window=WINDOW, where={"team": None})
