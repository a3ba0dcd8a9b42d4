"""Trajectories of SWE-agent: a call a step, and one line for what they used together."""

import json
from decimal import Decimal
from typing import Any

import pytest


def test_each_step_is_a_call_of_unknown_tokens_and_time(take_file) -> None:
    taken = take_file("swe-agent.json", "swe-agent")
    first, second, _ = taken.calls
    assert taken.rejects == []
    assert (first.operation, first.model, first.completion) == (
        "chat",
        "gpt-x",
        "I look.\n```\nls\n```",
    )
    assert (first.tokens_source, first.uncached_input_tokens) == ("unknown", None)
    assert (first.timing_quality, first.arrived_at, first.ended_at) == ("unknown", None, None)
    assert first.tokens_note == (
        "no usage reported: input and output tokens are unknown; the run tells them together"
    )
    assert first.identity != second.identity


def test_what_a_run_used_is_a_line_that_is_not_itemised(take_file) -> None:
    *_, total = take_file("swe-agent.json", "swe-agent").calls
    assert (total.operation, total.uncached_input_tokens, total.visible_output_tokens) == (
        "not_itemised",
        1_000,
        40,
    )
    assert (total.reported_cost, total.reported_currency) == (Decimal("0.25"), "USD")
    assert total.tokens_note == "not itemised: 2 model calls used it together"


def run(**changed: Any) -> str:
    step = {"action": "ls", "observation": "", "response": "I look."}
    return json.dumps({"environment": "e", "trajectory": [step], **changed})


def test_calls_that_are_no_steps_are_told_of(take) -> None:
    stats = {"tokens_sent": 5, "tokens_received": 1, "api_calls": 3, "instance_cost": 0}
    _, total = take(run(info={"model_stats": stats}), "swe-agent").calls
    assert total.tokens_note == (
        "not itemised: 3 model calls used it together; 1 of them are steps"
    )
    assert (total.reported_cost, total.reported_currency) == (None, None)


def test_a_cost_beyond_the_ledger_is_none_and_the_run_is_kept(take) -> None:
    stats = {"tokens_sent": 5, "tokens_received": 1, "instance_cost": 1e30}
    _, total = take(run(info={"model_stats": stats}), "swe-agent").calls
    assert (total.reported_cost, total.uncached_input_tokens) == (None, 5)


def test_a_run_without_totals_has_its_steps_alone(take) -> None:
    for info in (None, {}, {"model_stats": None}):
        (step,) = take(run(info=info), "swe-agent").calls
        assert (step.operation, step.model) == ("chat", None)
        assert step.tokens_note == "no usage reported: input and output tokens are unknown"


def test_runs_in_a_row_are_told_apart(take) -> None:
    calls = take(run(environment="a") + "\n" + run(environment="b"), "swe-agent").calls
    assert len({call.identity for call in calls}) == 2


def test_a_bad_step_is_rejected_without_its_neighbour(take) -> None:
    steps = [7, {"response": "I look."}, {"action": "no model was asked"}]
    taken = take(run(trajectory=steps), "swe-agent")
    assert [call.completion for call in taken.calls] == ["I look."]
    ((position, reason),) = [(reject.position, reject.reason) for reject in taken.rejects]
    assert (position, reason) == ("line 1, trajectory[0]", "no JSON object but '7'")


@pytest.mark.parametrize(
    ("bad", "position", "reason"),
    [
        ('{"trajectory": 7}', "line 1", "no trajectory: no list of steps"),
        (run(trajectory=[], info=7), "line 1, info", "no JSON object but '7'"),
        (
            run(trajectory=[], info={"model_stats": {"instance_cost": -1}}),
            "line 1, info",
            "instance_cost -1 is below 0",
        ),
    ],
)
def test_what_is_no_run_is_rejected(take, bad: str, position: str, reason: str) -> None:
    taken = take(bad + "\n" + run(), "swe-agent")
    assert len(taken.calls) == 1
    assert [(each.position, each.reason) for each in taken.rejects] == [(position, reason)]
