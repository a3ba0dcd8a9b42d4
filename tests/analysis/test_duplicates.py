"""Identical calls: one after the other within a time to live, and in flight at once."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answer import Answer
from analysis.duplicates import duplicates, in_flight
from analysis.errors import WrongQuestionError
from analysis.ttl import parsed_ttl_ns
from analysis.window import Window
from ingest.config import Configuration, Pool

POOL = Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6"), replicas=9)
CONFIGURATION = Configuration(pools=(POOL,))
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
WINDOW = Window()
TTL_NS = 60 * S


def call(number: int, begin_s: int, prompt: str | None = "p", **columns: Any) -> dict[str, Any]:
    """A call of ten seconds alone on a replica: ten GPU-seconds, a hundredth of a dollar."""
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/ask",
        "replica": f"r{number % 9}",
        "timing_source": "engine",
        "temperature": 0.0,
        "prompt_hash": prompt,
        "arrived_at": T0 + begin_s * S,
        "started_at": T0 + begin_s * S,
        "first_token_at": T0 + (begin_s + 1) * S,
        "ended_at": T0 + (begin_s + 10) * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
        **columns,
    }


def test_a_call_within_the_life_of_an_answer_is_a_duplicate(ledger_of: Any) -> None:
    # The first fills the cache from 10 to 70 s; the one at 70 s is computed and fills it again.
    begins = (0, 5, 10, 69, 70, 90)
    ledger = ledger_of([call(n, at) for n, at in enumerate(begins)], CONFIGURATION)
    answer = duplicates(ledger, window=WINDOW, ttl_ns=TTL_NS)
    (row,) = answer.frame.to_dicts()
    assert (row["call_id"], row["endpoint"]) == ("0" * 32, "/ask")
    assert (row["call_count"], row["computed_count"], row["duplicate_count"]) == (6, 3, 3)
    assert row["gpu_seconds"] == pytest.approx(60.0)
    assert row["saved_gpu_seconds"] == row["duplicate_gpu_seconds"] == pytest.approx(30.0)
    assert (row["cost"], row["saved_cost"]) == (Decimal("0.06"), Decimal("0.03"))
    assert answer.notes[0] == (
        "1 group with calls sent within 60 s of an answer to the same; saved: 3 calls, "
        "30.000 GPU-seconds, 0.03 USD"
    )


def test_in_flight_the_first_is_computed_and_the_others_wait(ledger_of: Any) -> None:
    calls = [call(n, at) for n, at in enumerate((0, 3, 9, 10, 15, 40))]
    (row,) = in_flight(ledger_of(calls, CONFIGURATION), window=WINDOW).frame.to_dicts()
    # 3 and 9 s wait for the call of 0 s; 15 s waits for that of 10 s; 40 s is alone.
    assert (row["call_count"], row["computed_count"], row["duplicate_count"]) == (5, 2, 3)
    assert row["saved_gpu_seconds"] == pytest.approx(30.0)


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": "q"},
        {"prompt": None},
        {"tenant": "b"},
        {"origin": "replay"},
        {"begin_s": 100},
        {"is_cache_hit": True},
    ],
)
def test_other_prompts_tenants_origins_and_times_are_no_duplicates(
    ledger_of: Any, other: dict[str, Any]
) -> None:
    pair = [call(1, 0, tenant="a"), call(2, **{"begin_s": 20, "tenant": "a", **other})]
    assert duplicates(ledger_of(pair, CONFIGURATION), window=WINDOW, ttl_ns=TTL_NS).frame.is_empty()


@pytest.mark.parametrize("status", ["error", "timeout", "cancelled"])
def test_a_call_that_failed_fills_no_cache_and_is_waited_for_by_none(
    ledger_of: Any, status: str
) -> None:
    ledger = ledger_of([call(1, 0, status=status), call(2, 5), call(3, 20)], CONFIGURATION)
    (row,) = duplicates(ledger, window=WINDOW, ttl_ns=TTL_NS).frame.to_dicts()
    assert (row["computed_count"], row["duplicate_count"]) == (2, 1)
    assert in_flight(ledger, window=WINDOW).frame.is_empty()


@pytest.mark.parametrize(
    ("asked", "saved_count"),
    [
        ({"temperature": 0.0}, 1),
        ({"temperature": 0.7, "seed": 7}, 1),
        ({"temperature": 0.7}, 0),
        ({"temperature": None}, 0),
        ({"temperature": None, "operation": "embeddings"}, 1),
    ],
)
@pytest.mark.parametrize("question", [duplicates, in_flight])
def test_only_what_is_answered_the_same_each_time_is_saved(
    ledger_of: Any, question: Callable[..., Answer], asked: dict[str, Any], saved_count: int
) -> None:
    begin_s = 20 if question is duplicates else 5
    ledger = ledger_of([call(1, 0, **asked), call(2, begin_s, **asked)], CONFIGURATION)
    answer = question(ledger, window=WINDOW)
    (row,) = answer.frame.to_dicts()
    assert row["duplicate_gpu_seconds"] == pytest.approx(10.0)
    assert row["saved_gpu_seconds"] == pytest.approx(10.0 * saved_count)
    assert row["saved_cost"] == Decimal("0.01") * saved_count
    assert any(note.startswith("counted apart: 1 call") for note in answer.notes) != saved_count


def test_a_list_is_cut_below_its_sums_and_says_so(ledger_of: Any) -> None:
    calls = [call(n, 20 * (n % 3), f"p{n // 3}") for n in range(9)]
    answer = duplicates(ledger_of(calls, CONFIGURATION), window=WINDOW, ttl_ns=TTL_NS, limit=2)
    assert answer.frame.height == 2
    assert "saved: 6 calls, 60.000 GPU-seconds, 0.06 USD" in answer.notes[0]
    assert answer.notes[1] == "the first 2 rows are shown, 1 more; raise --limit"


def test_without_hashes_of_prompts_the_answer_says_what_to_send(ledger_of: Any) -> None:
    ledger = ledger_of([call(1, 0, None), call(2, 20, None)], CONFIGURATION)
    for question in (duplicates, in_flight):
        note = question(ledger, window=WINDOW).notes[-1]
        assert note.startswith("not compared: 2 of 2 calls tell no prompt; send prompts")


def test_a_filter_and_a_window_select_the_calls_that_are_compared(ledger_of: Any) -> None:
    calls = [call(1, 0, user_id="u"), call(2, 20), call(3, 40, user_id="u", endpoint="/other")]
    ledger = ledger_of(calls, CONFIGURATION)
    for where, count in (({}, 2), ({"user_id": "u"}, 1), ({"endpoint": "/ask"}, 1)):
        (row,) = duplicates(ledger, window=WINDOW, where=where, ttl_ns=TTL_NS).frame.to_dicts()
        assert row["duplicate_count"] == count
    late = Window.parse("2026-11-10T10:00:15Z", None, "UTC")
    (row,) = duplicates(ledger, window=late, ttl_ns=TTL_NS).frame.to_dicts()
    assert row["duplicate_count"] == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604_800)]
)
def test_a_life_is_told_in_seconds_minutes_hours_or_days(text: str, seconds: int) -> None:
    assert parsed_ttl_ns(text) == seconds * S
    with pytest.raises(WrongQuestionError, match="write it as 90s, 15m, 1h or 7d"):
        parsed_ttl_ns(text.upper() + "x")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 120), st.sampled_from("pq"), st.sampled_from(["ok", "error"]),
            st.sampled_from([0.0, 0.7]),
        ),
        max_size=14,
    )
)  # fmt: skip
def test_computed_and_duplicates_are_all_calls_of_a_group(ledger_of: Any, drawn: Any) -> None:
    calls = [
        call(n, at, f"{prompt}{temperature}", status=status, temperature=temperature)
        for n, (at, prompt, status, temperature) in enumerate(drawn)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    sizes = {prompt: sum(one["prompt_hash"] == prompt for one in calls)
             for prompt in {one["prompt_hash"] for one in calls}}  # fmt: skip
    for question in (duplicates, in_flight):
        for row in question(ledger, window=WINDOW).frame.to_dicts():
            assert row["call_count"] == row["computed_count"] + row["duplicate_count"]
            assert row["computed_count"] >= 1
            assert row["saved_gpu_seconds"] <= row["duplicate_gpu_seconds"] < row["gpu_seconds"]
            first = calls[int(row["call_id"], 16)]["prompt_hash"]
            assert row["call_count"] <= sizes[first]
            if question is duplicates:
                assert row["call_count"] == sizes[first]


def test_what_is_not_compared_is_of_the_calls_selected(ledger_of: Any) -> None:
    calls = [call(1, 0, None), *(call(n, 20 * n, None, endpoint="/other") for n in (2, 3))]
    ledger = ledger_of(calls, CONFIGURATION)
    early = Window.parse(None, "2026-11-10T10:00:50Z", "UTC")
    for question in (duplicates, in_flight):
        for window, where, text in (
            (WINDOW, {"endpoint": "/ask"}, "1 of 1 calls"),
            (early, {"endpoint": "/other"}, "1 of 1 calls"),
            (early, None, "2 of 2 calls"),
        ):
            note = question(ledger, window=window, where=where).notes[-1]
            assert note.startswith(f"not compared: {text} tell no prompt")
