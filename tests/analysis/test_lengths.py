"""How long prompts and answers are, how they end, and on how few calls GPU time gathers."""

from collections.abc import Callable
from math import ceil
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.context_limits import context_limits
from analysis.law import law
from analysis.lengths import concentration, finish_reasons, length, limits
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()
QUESTIONS = (length, limits, finish_reasons, concentration)


def call(number: int, **columns: Any) -> dict[str, Any]:
    """Alone on its replica: its GPU-seconds are the seconds from start to end."""
    seconds = columns.pop("seconds", 1)
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "pool": "a",
        "replica": f"r{number}",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT,
        "started_at": MIDNIGHT,
        "first_token_at": MIDNIGHT,
        "ended_at": MIDNIGHT + int(seconds * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


def only(frame: pl.DataFrame, **values: Any) -> dict[str, Any]:
    found = frame.filter(*[pl.col(name) == value for name, value in values.items()])
    assert found.height == 1
    return found.row(0, named=True)


def test_a_percentile_is_interpolated_between_two_calls(ledger_of: LedgerOf) -> None:
    calls = [call(n, uncached_input_tokens=n) for n in range(1, 201)]
    found = only(length(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame, measure="input")
    names = ("mean_tokens", "p50_tokens", "p95_tokens", "p99_tokens", "longest_tokens", "tokens")
    assert [found[name] for name in names] == pytest.approx(
        [100.5, 100.5, 190.05, 198.01, 200, 20_100]
    )


@settings(max_examples=12, deadline=None)
@given(tokens=st.lists(st.integers(1, 900), min_size=1, max_size=60))
def test_a_length_has_one_percentile_whoever_is_asked(
    ledger_of: LedgerOf, tokens: list[int]
) -> None:
    calls = [call(n, visible_output_tokens=count) for n, count in enumerate(tokens)]
    ledger = ledger_of(calls, CONFIGURATION)
    found = only(length(ledger, CONFIGURATION).frame, measure="output")
    limit = limits(ledger, CONFIGURATION).frame.row(0, named=True)
    totals = context_limits(ledger, CONFIGURATION).frame.row(0, named=True)
    for name, ratio in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        expected = pl.Series(tokens).quantile(ratio, "linear")
        assert found[f"{name}_tokens"] == pytest.approx(expected)
        if name != "p95":
            assert limit[f"output_{name}_tokens"] == pytest.approx(expected)
            assert totals[f"{name}_tokens"] == pytest.approx(expected + 100)


def test_a_call_that_tells_no_tokens_is_in_no_length(ledger_of: LedgerOf) -> None:
    calls = [call(1), call(2, visible_output_tokens=None)]
    answer = length(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    output = only(answer.frame, measure="output")
    assert (output["mean_tokens"], output["known_count"], output["unknown_count"]) == (10, 1, 1)
    assert "not told, hence in no percentile: the length of 1 call" in answer.notes


@pytest.mark.parametrize("http_status", [429, 200])
def test_a_call_of_which_no_token_was_processed_has_no_length(
    ledger_of: LedgerOf, http_status: int
) -> None:
    """Refused, or answered by a gateway's cache; an embedding has no output, and so a length."""
    none = {"uncached_input_tokens": 0, "visible_output_tokens": 0}
    calls = [call(1), call(2, http_status=http_status, **none), call(3, visible_output_tokens=0)]
    ledger = ledger_of(calls, CONFIGURATION)
    answer = length(ledger, CONFIGURATION)
    output, prompt = (only(answer.frame, measure=name) for name in ("output", "input"))
    assert (output["mean_tokens"], output["known_count"], output["unknown_count"]) == (5, 2, 1)
    assert (prompt["mean_tokens"], prompt["known_count"], prompt["unknown_count"]) == (100, 2, 1)
    answer = limits(ledger, CONFIGURATION)
    found = answer.frame.row(0, named=True)
    assert (found["output_p50_tokens"], found["unknown_output_count"]) == (5, 1)
    assert "not told, hence in no percentile: the length of 1 call" in answer.notes


def test_no_length_is_null_and_not_zero(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, visible_output_tokens=None)], CONFIGURATION)
    output = only(length(ledger, CONFIGURATION).frame, measure="output")
    assert (output["p50_tokens"], output["mean_tokens"], output["tokens"]) == (None, None, None)
    assert output["unknown_count"] == 1


def test_an_answer_is_measured_against_its_limit_choice_by_choice(ledger_of: LedgerOf) -> None:
    calls = [
        call(1, max_tokens=100, visible_output_tokens=100, finish_reason="length"),
        call(2, max_tokens=200, visible_output_tokens=400, n_choices=4, finish_reason="stop"),
        call(3, visible_output_tokens=50, finish_reason="MAX_TOKENS"),
        call(4, max_tokens=400, visible_output_tokens=40),
    ]
    answer = limits(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    found = answer.frame.row(0, named=True)
    assert (found["call_count"], found["limited_count"], found["unlimited_count"]) == (4, 3, 1)
    assert (found["least_limit_tokens"], found["largest_limit_tokens"]) == (100, 400)
    assert found["longest_output_tokens"] == 100
    assert found["used_p99_ratio"] == pytest.approx(0.5 + 0.98 * 0.5)
    assert (found["cut_count"], found["whole_count"], found["unknown_end_count"]) == (2, 1, 1)
    assert "not told, hence neither cut nor whole: the end of 1 call" in answer.notes


def test_the_ends_of_answers_add_up_to_the_law(ledger_of: LedgerOf) -> None:
    ends = ("stop", "length", None, "stop")
    calls = [call(n, finish_reason=end, seconds=n) for n, end in enumerate(ends, start=1)]
    ledger = ledger_of(calls, CONFIGURATION)
    frame = finish_reasons(ledger, CONFIGURATION).frame
    assert frame.rows() == [
        ("/chat", "length", 1, 10, 2.0),
        ("/chat", "stop", 2, 20, 5.0),
        ("/chat", None, 1, 10, 3.0),
    ]
    whole = law(ledger, CONFIGURATION).frame.row(0, named=True)
    sums = frame.sum().row(0, named=True)
    assert (sums["call_count"], sums["output_tokens"]) == (whole["N"], whole["output_tokens"])
    assert sums["gpu_seconds"] == pytest.approx(whole["gpu_seconds"])


def test_equal_calls_have_equal_shares(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(n) for n in range(200)], CONFIGURATION)
    found = concentration(ledger, CONFIGURATION).frame.row(0, named=True)
    assert (found["top_1_ratio"], found["top_5_ratio"], found["top_10_ratio"]) == (0.01, 0.05, 0.1)
    assert found["gini_ratio"] == pytest.approx(0, abs=1e-12)


def test_calls_that_nothing_is_charged_to_are_told_apart(ledger_of: LedgerOf) -> None:
    untimed = dict.fromkeys(("arrived_at", "started_at", "first_token_at", "ended_at"))
    answer = concentration(ledger_of([call(1), call(2, **untimed)], CONFIGURATION), CONFIGURATION)
    found = answer.frame.row(0, named=True)
    assert (found["charged_count"], found["uncharged_count"]) == (1, 1)
    assert "no GPU time is charged to 1 call" in answer.notes


@settings(max_examples=12, deadline=None)
@given(seconds=st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_concentration_is_that_of_the_sorted_calls(ledger_of: LedgerOf, seconds: list[int]) -> None:
    calls = [call(n, seconds=ms / 1000) for n, ms in enumerate(seconds)]
    ledger = ledger_of(calls, CONFIGURATION)
    found = concentration(ledger, CONFIGURATION).frame.row(0, named=True)
    costs = sorted(seconds, reverse=True)
    n, total = len(costs), sum(costs)
    for percent in (1, 5, 10):
        top = sum(costs[: ceil(n * percent / 100)])
        assert found[f"top_{percent}_ratio"] == pytest.approx(top / total)
    differences = sum(abs(a - b) for a in costs for b in costs)
    assert found["gini_ratio"] == pytest.approx(differences / (2 * n * total), abs=1e-9)
    assert found["most_gpu_seconds"] == pytest.approx(costs[0] / 1000)
    assert found["p95_gpu_seconds"] == pytest.approx(costs[n - ceil(n * 95 / 100)] / 1000)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("by", [("model",), ("hour",), ("user_id",), ("hour", "model"), ()])
def test_groups_of_any_kind_add_up_to_the_whole(
    ledger_of: LedgerOf, question: Callable[..., Any], by: tuple[str, ...]
) -> None:
    calls = [
        call(
            n,
            model=f"m{n % 3}",
            user_id=f"u{n % 5}" if n % 4 else None,
            started_at=MIDNIGHT + n * 600 * S,
            first_token_at=MIDNIGHT + n * 600 * S,
            ended_at=MIDNIGHT + (n * 600 + 5) * S,
            finish_reason="stop" if n % 2 else "length",
        )
        for n in range(30)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    counted = ("call_count", "known_count", "charged_count", "output_tokens", "tokens")
    sums = [c for c in question(ledger, CONFIGURATION, by=()).frame.columns if c in counted]
    assert sums
    parts = question(ledger, CONFIGURATION, by=by).frame.select(sums).sum().row(0)
    assert parts == question(ledger, CONFIGURATION, by=()).frame.select(sums).sum().row(0)
