"""Loops: steps of a trace that were all taken before, and the calls after that could be seen."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import WrongQuestionError
from analysis.loops import loops
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger, open_for_writing

CONFIGURATION = Configuration(
    pools=(Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6")),)
)
S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
WINDOW = Window()


def call(number: int, begin_s: int, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": f"{number:032x}",
        "trace_id": "a" * 32,
        "model": "m",
        "endpoint": "/agent",
        "timing_source": "engine",
        "arrived_at": T0 + begin_s * S,
        "started_at": T0 + begin_s * S,
        "first_token_at": T0 + (begin_s + 1) * S,
        "ended_at": T0 + (begin_s + 2) * S,
        "uncached_input_tokens": 100 + number,
        "visible_output_tokens": 10,
        **columns,
    }


def add_runs(ledger: Ledger, deeds: Sequence[str | None], *, trace: str = "a" * 32) -> None:
    """Tool runs of a second, one every ten seconds; a deed is a tool and what it was told."""
    rows = [
        (trace, f"{number:016x}", "tool", T0 + 10 * number * S, T0 + (10 * number + 1) * S, deed)
        for number, deed in enumerate(deeds)
    ]
    ledger.connection.executemany(
        "insert into tool_runs (trace_id, span_id, tool, started_at, ended_at, status, "
        "arguments_hash, result_hash, delivery_id) values ($1, $2, $3, $4, $5, 'ok', $6, 'r', 1)",
        rows,
    )


def test_calls_after_the_third_run_and_before_the_last_are_what_it_cost(ledger_of: Any) -> None:
    ledger = ledger_of([call(number, 10 * number + 5) for number in range(6)], CONFIGURATION)
    add_runs(ledger, ["x"] * 5 + ["y"])
    answer = loops(ledger, window=WINDOW)
    (row,) = answer.frame.to_dicts()
    # Runs at 0, 10, 20, 30, 40 s; the one at 20 s establishes it, calls at 25 and 35 s follow.
    assert (row["endpoint"], row["call_count"], row["gpu_seconds"]) == ("/agent", 2, 4.0)
    assert (row["cost"], row["currency"]) == (Decimal("0.004"), "USD")
    assert (row["least_input_tokens"], row["most_input_tokens"]) == (100, 103)
    assert answer.notes[0] == "1 loop: 4.000 GPU-seconds, 0.00 USD once established"


@pytest.mark.parametrize(
    ("deeds", "loop_count"),
    [
        ("xx", 0),
        ("xxx", 1),
        ("xyxy", 1),
        ("xyzxy", 0),
        ("xyzxyz", 1),
        ("xyxzx", 0),
        ("xxxyxxx", 2),
        ("xxxyzzz", 2),
        ("abcdefgh", 0),
    ],
)
def test_a_loop_is_a_whole_round_without_a_new_step(
    ledger_of: Any, deeds: str, loop_count: int
) -> None:
    ledger = ledger_of([], CONFIGURATION)
    add_runs(ledger, list(deeds))
    assert loops(ledger, window=WINDOW).frame.height == loop_count


def test_runs_beside_each_other_and_in_other_traces_repeat_nothing(ledger_of: Any) -> None:
    ledger = ledger_of([], CONFIGURATION)
    for trace in "abc":
        add_runs(ledger, ["x"], trace=trace * 32)
    add_runs(ledger, ["y"] * 6, trace="d" * 32)
    ledger.connection.execute("update tool_runs set ended_at = ended_at + 100000000000")
    assert loops(ledger, window=WINDOW).frame.is_empty()


def test_equal_answers_to_equal_prompts_are_a_loop_and_to_others_are_none(ledger_of: Any) -> None:
    same = [call(n, 10 * n, prompt_hash="p", output_hash="o") for n in range(4)]
    other = [
        call(n, 10 * n, trace_id="b" * 32, prompt_hash=f"p{n}", output_hash="o")
        for n in range(10, 14)
    ]
    (row,) = loops(ledger_of(same + other, CONFIGURATION), window=WINDOW).frame.to_dicts()
    assert (row["trace_id"], row["kind"], row["run_count"]) == ("a" * 32, "answer", 4)
    assert (row["call_count"], row["gpu_seconds"]) == (1, 2.0)


def test_a_conversation_that_grows_without_another_answer_is_a_loop(ledger_of: Any) -> None:
    turns = [
        call(n, 10 * n, conversation_id="c", prompt_hash=f"p{n}", output_hash="o") for n in range(4)
    ]
    (row,) = loops(ledger_of(turns, CONFIGURATION), window=WINDOW).frame.to_dicts()
    assert (row["kind"], row["run_count"]) == ("answer", 4)


def test_a_filter_selects_by_the_first_call_and_a_window_by_the_first_step(ledger_of: Any) -> None:
    ledger = ledger_of([call(1, 5)], CONFIGURATION)
    add_runs(ledger, ["x"] * 4)
    for endpoint, height in (("/agent", 1), ("/other", 0)):
        assert loops(ledger, window=WINDOW, where={"endpoint": endpoint}).frame.height == height
    later = Window.parse("2026-11-10T10:00:01Z", None, "UTC")
    assert loops(ledger, window=later).frame.is_empty()
    with pytest.raises(WrongQuestionError, match="by a known team: team=value"):
        loops(ledger, window=WINDOW, where={"team": None})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from("xyz"), min_size=1, max_size=14), min_size=1, max_size=3))
def test_runs_are_repeats_and_first_steps_and_no_call_is_counted_twice(traces: Any) -> None:
    with open_for_writing(None) as ledger:
        for number, deeds in enumerate(traces):
            add_runs(ledger, deeds, trace=f"{number}" * 32)
        ledger.connection.execute(
            "insert into cohorts (cohort_id, origin, operation, status, timing_source, "
            "timing_quality, tokens_source, pairing, digest) "
            "values (1, 'production', 'chat', 'ok', 'engine', 'ok', 'reported', 'single', '')"
        )
        ledger.connection.execute(
            "insert into call_rows (call_no, call_id, cohort_id, trace_id, delivery_id, "
            "arrived_at, ended_at, output_hash, prompt_hash, fullness, digest) "
            "select row_number() over (), span_id || trace_id, 1, trace_id, 1, "
            "started_at + 5000000000, started_at + 6000000000, arguments_hash, arguments_hash, "
            "1, '' from tool_runs"
        )
        rows = loops(ledger, window=WINDOW).frame.to_dicts()
        for row in rows:
            first_count = row["run_count"] - row["repeat_count"]
            assert 0 <= first_count <= row["step_count"] <= row["repeat_count"]
        runs = sum(len(deeds) for deeds in traces)
        for kind in ("tool", "answer"):
            assert sum(row["run_count"] for row in rows if row["kind"] == kind) <= runs
        assert sum(row["call_count"] for row in rows) <= runs


def test_answers_without_a_hash_are_not_compared(ledger_of: Any) -> None:
    calls = [call(1, 0), call(2, 10, output_hash="o"), call(3, 20, endpoint="/other")]
    ledger = ledger_of(calls, CONFIGURATION)
    notes = loops(ledger, window=WINDOW, where={"endpoint": "/agent"}).notes
    assert "the window has no spans of tools: only repeated answers can be seen" in notes
    assert notes[-1].startswith("not compared: 1 of 2 answers tell no text; send answers")
    notes = loops(ledger, window=WINDOW, where={"endpoint": "/other"}).notes
    assert notes[0] == "no loop was found"
    assert notes[1].startswith("not compared: 1 of 1 answers tell no text; send answers")


def test_tool_runs_are_those_in_traces_of_the_calls_selected(ledger_of: Any) -> None:
    other = call(2, 10, endpoint="/other", trace_id="b" * 32)
    ledger = ledger_of([call(1, 0, output_hash="o"), other], CONFIGURATION)
    add_runs(ledger, [None])
    add_runs(ledger, [None] * 2, trace="b" * 32)
    for where, text in (({"endpoint": "/agent"}, "1 of 1"), ({}, "3 of 3")):
        notes = loops(ledger, window=WINDOW, where=where).notes
        assert any(n.startswith(f"not compared: {text} tool runs tell no arg") for n in notes)
