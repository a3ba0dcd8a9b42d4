"""Attempts that were made again: by reason, and together what operations call wasted."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import WrongQuestionError
from analysis.operations import operations
from analysis.retries import TRUNCATION_NOTE, retries
from analysis.window import Window
from ingest.config import Configuration, Pool

POOL = Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6"))
CONFIGURATION = Configuration(pools=(POOL,))
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
WINDOW = Window()


def call(number: int, **columns: Any) -> dict[str, Any]:
    """A call of ten seconds on a GPU alone: ten GPU-seconds, a hundredth of a dollar."""
    begin = T0 + 20 * number * S
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/ask",
        "timing_source": "engine",
        "arrived_at": begin,
        "started_at": begin,
        "first_token_at": begin + S,
        "ended_at": begin + 10 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
        **columns,
    }


def operation(first: int, *statuses: str, **columns: Any) -> list[dict[str, Any]]:
    """The attempts of one operation, of which the first has that number."""
    return [
        call(
            first + place,
            status=status,
            attempt=place + 1,
            retry_of=f"{first:032x}" if place else None,
            **columns,
        )
        for place, status in enumerate(statuses)
    ]


def test_attempts_in_vain_are_counted_by_their_reason(ledger_of: Any) -> None:
    calls = [
        *operation(1, "timeout", "timeout", "ok"),
        *operation(10, "timeout", "error"),
        call(20, status="error"),
        call(21),
    ]
    answer = retries(ledger_of(calls, CONFIGURATION), window=WINDOW)
    timed_out, failed = answer.frame.to_dicts()
    assert (timed_out["reason"], timed_out["attempt_count"]) == ("timeout", 3)
    assert (timed_out["operation_count"], timed_out["recovered_count"]) == (2, 1)
    assert timed_out["gpu_seconds"] == pytest.approx(30.0)
    assert (timed_out["cost"], timed_out["currency"]) == (Decimal("0.03"), "USD")
    assert (timed_out["attempt_s"], timed_out["output_tokens"]) == (30.0, 30)
    assert (failed["reason"], failed["attempt_count"], failed["recovered_count"]) == ("error", 1, 0)
    assert answer.notes[:2] == (
        "4 attempts in vain: 40.000 GPU-seconds, 0.04 USD",
        (
            "at most: 1 of these, 10.000 GPU-seconds, is the first attempt of an operation that "
            "recovered, which no cap avoids"
        ),
    )
    # The one that failed alone tells no prompt: a later call may be its second attempt.
    assert answer.notes[2].startswith("not compared: 1 of 5 failed calls tell no prompt; send")
    assert len(answer.notes) == 3


def test_what_was_refused_is_told_apart_from_what_failed(ledger_of: Any) -> None:
    first, last = operation(1, "error", "ok")
    ledger = ledger_of([first | {"http_status": 429}, last], CONFIGURATION)
    assert retries(ledger, window=WINDOW).frame["reason"].to_list() == ["refused"]


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_truncated_answer_that_is_asked_for_again_is_in_vain(ledger_of: Any, reason: str) -> None:
    asked = {"trace_id": "a" * 32, "input_hash": "p"}
    calls = [call(1, finish_reason=reason, **asked), call(2, finish_reason="stop", **asked)]
    answer = retries(ledger_of(calls, CONFIGURATION), window=WINDOW)
    (row,) = answer.frame.to_dicts()
    assert (row["reason"], row["attempt_count"], row["recovered_count"]) == ("truncation", 1, 1)
    assert row["gpu_seconds"] == pytest.approx(10.0)
    assert answer.notes[-1] == TRUNCATION_NOTE


@pytest.mark.parametrize(
    "second",
    [
        {"trace_id": "b" * 32, "input_hash": "p"},
        {"trace_id": "a" * 32, "input_hash": "q"},
        {"trace_id": "a" * 32, "input_hash": "p", "arrived_at": T0 + 25 * S},
    ],
)
def test_a_truncated_answer_that_is_not_asked_for_again_is_no_retry(
    ledger_of: Any, second: dict[str, Any]
) -> None:
    first = call(1, finish_reason="length", trace_id="a" * 32, input_hash="p")
    ledger = ledger_of([first, call(2, **second)], CONFIGURATION)
    answer = retries(ledger, window=WINDOW)
    assert answer.frame.is_empty()
    assert answer.notes == ("no attempt was made again",)


def test_filters_and_windows_select_by_the_operation(ledger_of: Any) -> None:
    ledger = ledger_of(operation(1, "error", "error", "ok", team="a"), CONFIGURATION)
    for where, height in (({"team": "a"}, 1), ({"team": "b"}, 0), ({"model": "m"}, 1)):
        assert retries(ledger, window=WINDOW, where=where).frame.height == height
    late = Window.parse("2026-11-10T10:00:30Z", None, "UTC")
    assert retries(ledger, window=late).frame.is_empty()
    with pytest.raises(WrongQuestionError, match="by a known team: team=value"):
        retries(ledger, window=WINDOW, where={"team": None})


STATUSES = st.lists(st.sampled_from(["error", "timeout", "cancelled"]), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(STATUSES, st.sampled_from(["ok", "error"]), st.sampled_from("ab")), max_size=4
    )
)
def test_reasons_add_up_to_what_operations_wasted(ledger_of: Any, drawn: Any) -> None:
    calls = [
        one
        for number, (failed, last, team) in enumerate(drawn)
        for one in operation(1 + 10 * number, *failed, last, team=team)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    by_reason = retries(ledger, window=WINDOW).frame
    whole = operations(ledger, window=WINDOW).frame
    assert by_reason["attempt_count"].sum() == whole["failed_count"].sum()
    for ours, theirs in (
        ("input_tokens", "wasted_input_tokens"),
        ("output_tokens", "wasted_output_tokens"),
        ("gpu_seconds", "wasted_gpu_seconds"),
    ):
        assert by_reason[ours].sum() == pytest.approx(float(whole[theirs].sum()))


def test_truncated_answers_without_a_prompt_are_not_compared(ledger_of: Any) -> None:
    calls = [
        call(n, finish_reason="length", trace_id="a" * 32, endpoint=endpoint)
        for n, endpoint in enumerate(["/ask", "/ask", "/other"])
    ]
    answer = retries(ledger_of(calls, CONFIGURATION), window=WINDOW, where={"endpoint": "/ask"})
    assert answer.notes[0] == "no attempt was made again"
    assert answer.notes[1].startswith("not compared: 2 of 2 truncated answers tell no prompt; send")
