"""Views that were joined without a trace in common are listed, with the rule that joined them."""

from typing import Any

import pytest

from analysis.errors import WrongQuestionError
from analysis.pairs import PROBABLE_NOTE, pairs
from analysis.window import Window
from ingest.config import Configuration

WINDOW = Window(timezone="UTC")
VIEW = {
    "model": "m",
    "operation": "chat",
    "uncached_input_tokens": 1000,
    "visible_output_tokens": 200,
    "arrived_at": "2026-11-10T10:00:00Z",
    "started_at": "2026-11-10T10:00:00Z",
    "ended_at": "2026-11-10T10:00:10Z",
}
INSIDE = {
    "arrived_at": "2026-11-10T10:00:01Z",
    "started_at": "2026-11-10T10:00:01Z",
    "ended_at": "2026-11-10T10:00:09Z",
}


def three_calls(second_answer: str | None) -> list[dict[str, Any]]:
    """Two views that agree, and a call of other tokens."""
    return [
        {**VIEW, "call_id": "a" * 32, "service": "shop", "response_id": "r1"},
        {**VIEW, **INSIDE, "call_id": "b" * 32, "service": "gateway", "response_id": second_answer},
        {**VIEW, "call_id": "c" * 32, "service": "shop", "visible_output_tokens": 7},
    ]


@pytest.mark.parametrize(("answer", "rule"), [(None, "probable"), ("r1", "response_id")])
def test_the_views_of_a_call_are_listed_with_their_rule(
    ledger_of: Any, answer: str | None, rule: str
) -> None:
    ledger = ledger_of(three_calls(answer), Configuration())
    answered = pairs(ledger, window=WINDOW)
    columns = ["pairing", "call_id", "view_id", "is_innermost", "service", "ended_at"]
    assert answered.frame.select(columns).rows() == [
        (rule, "b" * 32, "a" * 32, False, "shop", "2026-11-10T10:00:10.000000000+00:00"),
        (rule, "b" * 32, "b" * 32, True, "gateway", "2026-11-10T10:00:09.000000000+00:00"),
    ]
    assert answered.notes[0] == "2 views of 1 call"
    assert (PROBABLE_NOTE in answered.notes) == (rule == "probable")
    other = "probable" if rule == "response_id" else "response_id"
    assert pairs(ledger, window=WINDOW, where={"pairing": other}).frame.is_empty()


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(ledger_of: Any) -> None:
    with pytest.raises(WrongQuestionError, match="allowed: probable, response_id"):
        pairs(ledger_of([], Configuration()), window=WINDOW, where={"pairing": "likely"})
