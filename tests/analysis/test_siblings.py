"""Siblings: steps that ran one after the other, and by which sign they need not have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.critical_path import critical_path
from analysis.errors import NoDataError
from analysis.siblings import siblings
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
BEGIN = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()
FIGURES = ("kind", "evidence", "trace_count", "group_count", "step_count", "path_s", "gained_s")


@dataclass(frozen=True, kw_only=True)
class Step:
    """A span from `begin` to `end` in s after `BEGIN`, and the call or run at it."""

    name: str
    begin: float
    end: float
    part: str | None = None
    parent: str | None = "root"
    trace: str = "t"
    asked: str | None = None
    found: str | None = None
    tokens: tuple[int, int] = (1000, 100)
    status: str = "ok"
    operation: str = "chat"


def at(seconds: float) -> int:
    return BEGIN + round(seconds * S)


def ledger_with(ledger_of: LedgerOf, steps: Sequence[Step]) -> Ledger:
    """One root of 20 s for each trace, and the steps."""
    calls = [
        {
            "call_id": f"{step.trace} {step.name}",
            "trace_id": step.trace,
            "span_id": step.name,
            "endpoint": "/agent",
            "pool": "a",
            "timing_source": "span",
            "arrived_at": at(step.begin),
            "ended_at": at(step.end),
            "uncached_input_tokens": step.tokens[0],
            "visible_output_tokens": step.tokens[1],
            "prompt_hash": step.asked,
            "status": step.status,
            "operation": step.operation,
        }
        for step in steps
        if step.part == "model"
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    roots = [
        Step(name="root", begin=0, end=20, parent=None, trace=trace)
        for trace in {step.trace for step in steps}
    ]
    for step in (*roots, *steps):
        times = (at(step.begin), at(step.end))
        ledger.connection.execute(
            "insert into spans values (?, ?, ?, ?, 'internal', ?, ?, 'ok', null, 'app', null, '{}',"
            " '{}', '[]', 1, '', 1)",
            [step.trace, step.name, step.parent, step.name, *times],
        )
        if step.part in ("tool", "retrieval"):
            table = {"tool": "tool_runs", "retrieval": "retrievals"}[step.part]
            ledger.connection.execute(
                f"insert into {table} values (?, ?, ?, 'x', ?, ?, ?, ?, ?, 1)",
                [step.trace, step.name, step.parent, *times, step.status, step.asked, step.found],
            )
    return ledger


def found_in(ledger_of: LedgerOf, *steps: Step) -> list[tuple[Any, ...]]:
    answer = siblings(ledger_with(ledger_of, steps), CONFIGURATION)
    return answer.frame.select(FIGURES).rows()


CHAT = Step(name="chat", begin=0, end=4, part="model")


def tool(name: str, begin: float, end: float, **columns: Any) -> Step:
    return Step(name=name, begin=begin, end=end, part="tool", **columns)


def test_tools_of_one_answer_gain_all_but_the_longest(ledger_of: LedgerOf) -> None:
    steps = (CHAT, tool("a", 4, 6), tool("b", 6, 11), tool("c", 12, 13))
    assert found_in(ledger_of, *steps) == [("tool", "one answer", 1, 1, 3, 8.0, 3.0)]


def test_tools_that_ran_side_by_side_gain_nothing(ledger_of: LedgerOf) -> None:
    assert found_in(ledger_of, CHAT, tool("a", 4, 6), tool("b", 5, 11)) == []


def test_a_step_between_them_may_have_carried_something_over(ledger_of: LedgerOf) -> None:
    again = Step(name="again", begin=6, end=8, part="model", tokens=(1200, 100))
    assert found_in(ledger_of, CHAT, tool("a", 4, 6), again, tool("b", 8, 11)) == []


def test_steps_inside_of_a_sibling_stand_between(ledger_of: LedgerOf) -> None:
    steps = (
        CHAT,
        tool("a", 4, 5),
        Step(name="sub", begin=5, end=9),
        Step(name="one", begin=5, end=6, part="model", parent="sub"),
        Step(name="two", begin=6, end=9, part="retrieval", parent="sub"),
        tool("b", 9, 12),
    )
    assert found_in(ledger_of, *steps) == []


def test_spans_around_a_step_stand_for_it(ledger_of: LedgerOf) -> None:
    steps = (
        Step(name="client 1", begin=0, end=5),
        Step(name="one", begin=1, end=4, part="model", parent="client 1", asked="p"),
        Step(name="client 2", begin=5, end=9),
        Step(name="two", begin=6, end=8, part="model", parent="client 2", asked="p"),
    )
    assert found_in(ledger_of, *steps) == [("model", "one prompt", 1, 1, 2, 9.0, 4.0)]


def test_a_prompt_shorter_than_the_answer_before_has_no_room_for_it(ledger_of: LedgerOf) -> None:
    one = Step(name="one", begin=0, end=4, part="model", tokens=(50, 300))
    short = Step(name="two", begin=4, end=6, part="model", tokens=(299, 10))
    long = Step(name="two", begin=4, end=6, part="model", tokens=(300, 10))
    assert found_in(ledger_of, one, short) == [("model", "no room", 1, 1, 2, 6.0, 2.0)]
    assert found_in(ledger_of, one, long) == []


def test_embeddings_give_no_text_to_the_next(ledger_of: LedgerOf) -> None:
    kind = {"part": "model", "operation": "embeddings"}
    one = Step(name="one", begin=0, end=4, **kind)
    two = Step(name="two", begin=4, end=7, **kind)
    chat = Step(name="three", begin=7, end=9, part="model")
    assert found_in(ledger_of, one, two, chat) == [("model", "no text", 1, 1, 2, 7.0, 3.0)]


def test_no_earlier_answer_has_room_in_a_later_prompt(ledger_of: LedgerOf) -> None:
    steps = [
        Step(name="one", begin=0, end=4, part="model", tokens=(50, 100)),
        Step(name="two", begin=4, end=6, part="model", tokens=(60, 300)),
        Step(name="three", begin=6, end=8, part="model", tokens=(200, 10)),
    ]
    # The answer to the first, of 100 tokens, may be in the third prompt.
    assert found_in(ledger_of, *steps) == []


def test_an_attempt_after_a_failed_one_had_to_wait(ledger_of: LedgerOf) -> None:
    one = Step(name="one", begin=0, end=4, part="model", asked="p", status="error")
    two = Step(name="two", begin=4, end=6, part="model", asked="p")
    assert found_in(ledger_of, one, two) == []
    failed = tool("a", 4, 6, status="error")
    assert found_in(ledger_of, CHAT, failed, tool("b", 6, 9)) == []


def test_a_result_in_the_next_arguments_is_a_flow(ledger_of: LedgerOf) -> None:
    first = Step(name="q1", begin=4, end=6, part="retrieval", asked="x", found="y")
    fed = Step(name="q2", begin=6, end=9, part="retrieval", asked="y", found="z")
    other = Step(name="q2", begin=6, end=9, part="retrieval", asked="w", found="z")
    untold = Step(name="q2", begin=6, end=9, part="retrieval")
    assert found_in(ledger_of, CHAT, first, fed) == []
    assert found_in(ledger_of, CHAT, first, untold) == []
    assert found_in(ledger_of, CHAT, first, other) == [("retrieval", "hashes", 1, 1, 2, 5.0, 2.0)]


def test_off_the_critical_path_there_is_nothing_to_gain(ledger_of: LedgerOf) -> None:
    steps = (
        Step(name="branch", begin=0, end=9),
        Step(name="chat", begin=0, end=2, part="model", parent="branch"),
        tool("a", 2, 4, parent="branch"),
        tool("b", 4, 6, parent="branch"),
        Step(name="long", begin=0, end=12, part="model"),
    )
    assert found_in(ledger_of, *steps) == []


def test_an_answer_says_what_it_looked_at_and_what_a_sign_is(ledger_of: LedgerOf) -> None:
    q1 = Step(name="q1", begin=4, end=6, part="retrieval", asked="x")
    q2 = Step(name="q2", begin=6, end=9, part="retrieval", asked="w")
    notes = siblings(ledger_with(ledger_of, [CHAT, q1, q2]), CONFIGURATION).notes
    assert "looked at 1 trace" in notes
    assert any(note.startswith("hashes is a sign, no proof") for note in notes)
    notes = siblings(ledger_with(ledger_of, [CHAT]), CONFIGURATION).notes
    assert "no siblings ran one after the other that need not have" in notes


def test_without_spans_it_is_said_that_they_are_needed(ledger_of: LedgerOf) -> None:
    alone = {"call_id": "1", "arrived_at": BEGIN, "ended_at": BEGIN + S, "endpoint": "/chat"}
    with pytest.raises(NoDataError, match="siblings need spans"):
        siblings(ledger_of([alone], CONFIGURATION), CONFIGURATION)
    with pytest.raises(NoDataError, match="no calls with"):
        siblings(ledger_of([], CONFIGURATION), CONFIGURATION)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["model", "tool", "retrieval", None]),
        st.integers(0, 3),
        st.integers(1, 3),
        st.integers(0, 4),
        st.sampled_from(["p", "q", None]),
        st.sampled_from([10, 200]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=8, deadline=None)
@given(drawn=STEPS, trace_count=st.integers(1, 2))
def test_what_is_gained_is_on_the_path_and_adds_up(
    ledger_of: LedgerOf, drawn: list[tuple[Any, ...]], trace_count: int
) -> None:
    steps = []
    for trace in map(str, range(trace_count)):
        now = 0
        steps.append(Step(name="first", begin=0, end=1, part="model", trace=trace))
        for number, (part, gap, length, parent, asked, tokens) in enumerate(drawn):
            above = str(parent) if parent < number else "root"
            steps.append(
                Step(
                    name=str(number), begin=now + gap, end=now + gap + length, part=part,
                    parent=above, asked=asked, tokens=(tokens, 100), trace=trace,
                )
            )  # fmt: skip
            now += gap
    ledger = ledger_with(ledger_of, steps)
    whole = siblings(ledger, CONFIGURATION).frame
    again = siblings(ledger, CONFIGURATION, spans_at_once=9).frame
    assert whole.rows() == again.rows()
    assert whole.filter(
        (pl.col("path_s") - pl.col("parallel_s") - pl.col("gained_s")).abs() > 1e-9
    ).is_empty()
    assert set(whole["trace_count"].to_list()) <= {trace_count}
    path = critical_path(ledger, CONFIGURATION, by=()).frame
    assert whole["path_s"].sum() <= float(path.filter(path["part"] == "trace")["total_s"].item())


def test_steps_without_a_hash_are_not_compared(ledger_of: LedgerOf) -> None:
    steps = [Step(name=f"q{n}", begin=4 + n, end=5 + n, part="retrieval") for n in range(2)]
    notes = siblings(ledger_with(ledger_of, [CHAT, *steps]), CONFIGURATION).notes
    assert any(note.startswith("not compared: 2 of 2 retrievals tell no query") for note in notes)
    told = [Step(name="q", begin=4, end=5, part="retrieval", asked="x")]
    notes = siblings(ledger_with(ledger_of, [CHAT, *told]), CONFIGURATION).notes
    assert not any("retrievals tell no query" in note for note in notes)
