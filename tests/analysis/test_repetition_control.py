"""Traffic without repeated work, look-alikes included: none of the five questions finds any."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from analysis.answer import Answer
from analysis.duplicates import duplicates, in_flight
from analysis.loops import loops
from analysis.retries import retries
from analysis.tool_repeats import tool_repeats
from analysis.window import Window
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing

S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
TURNS = 6
QUESTIONS = [duplicates, in_flight, retries, loops, tool_repeats]


def span(trace: int, number: int, begin_s: int, **attributes: Any) -> dict[str, Any]:
    """A span of two seconds in a trace."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace * 100 + number:016x}",
        "name": "step",
        "kind": 3,
        "startTimeUnixNano": str(T0 + begin_s * S),
        "endTimeUnixNano": str(T0 + (begin_s + 2) * S),
        "attributes": [
            {"key": f"gen_ai.{key}", "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }


def chat(trace: int, turn: int, begin_s: int, prompt: str, **more: Any) -> dict[str, Any]:
    said = {"request.model": "m", "input.messages": prompt, "request.temperature": "0", **more}
    return span(trace, turn, begin_s, **{"operation.name": "chat", **said})


def tool(trace: int, turn: int, begin_s: int, name: str, told: tuple[Any, Any]) -> dict[str, Any]:
    """The run of a tool: `told` are its arguments and its result."""
    arguments, result = (json.dumps(each) for each in told)
    said = {"tool.name": name, "tool.call.arguments": arguments, "tool.call.result": result}
    return span(trace, 50 + turn, begin_s, **{"operation.name": "execute_tool", **said})


def traffic() -> list[dict[str, Any]]:
    """Conversations that grow, tools that page and poll, a prompt a day later, a failure alone."""
    spans = []
    for trace in range(1, 9):
        for turn in range(TURNS):
            begin_s = 1000 * trace + 10 * turn
            prompt = f"conversation {trace}: " + " and ".join(map(str, range(turn + 1)))
            answer = {"output.messages": f"answer {trace} {turn}"}
            spans.append(chat(trace, turn, begin_s, prompt, **answer))
            page = {"of": trace, "page": turn}
            spans.append(tool(trace, turn, begin_s + 3, "list", (page, {"rows": turn})))
            poll = {"job": trace}
            spans.append(tool(trace, turn + 20, begin_s + 6, "poll", (poll, {"done": turn})))
    for day in range(3):
        at_s = 20_000 + 86_400 * day
        spans.append(chat(20 + day, 0, at_s, "what is new?", **{"output.messages": "nothing"}))
    spans.append(chat(30, 0, 40_000, "a question of its own") | {"status": {"code": 2}})
    return spans


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A ledger of the traffic, ingested from a file."""
    path = tmp_path_factory.mktemp("control") / "traces.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": traffic()}]}]}))
    with open_for_writing(None) as ledger:
        results = deliver_paths(ledger, [str(path)], Configuration())
        assert [result.error for result in results] == [None]
        yield ledger


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.__name__ for one in QUESTIONS])
def test_traffic_without_repeated_work_has_none(
    control: Ledger, question: Callable[..., Answer]
) -> None:
    answer = question(control, window=Window())
    assert answer.frame.is_empty()
    assert answer.notes[0].startswith("no ")


def test_the_control_has_what_the_questions_compare(control: Ledger) -> None:
    counts = control.connection.execute(
        "select count(prompt_hash), count(output_hash) from call_rows "
        "union all select count(arguments_hash), count(result_hash) from tool_runs"
    ).fetchall()
    assert counts == [(8 * TURNS + 4, 8 * TURNS + 3), (16 * TURNS, 16 * TURNS)]
