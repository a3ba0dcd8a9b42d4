"""Case 28: loops and what only looks like one, from the spans on."""

import json
from typing import Any

import pytest

from analysis.loops import loops
from analysis.window import Window
from ingest.config import Configuration

CONTENT = [Configuration(content="full"), Configuration(content="hash", hash_key="k")]
PAGE = {"q": "x", "page": 1}


@pytest.fixture
def run_tool(make_span: Any) -> Any:
    """Makes the span of a tool run: the `number`-th, ten seconds after the one before it."""

    def made(number: int, arguments: Any, result: Any = None, tool: str = "search") -> Any:
        said = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": None if result is None else json.dumps(result),
        }
        return make_span(
            f"a{number}", said, kind=1, at_s=(10 * number, 10 * number + 1), parent="f"
        )

    return made


def found(case: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = loops(case.ledger, window=Window()).frame.to_dicts()
    return rows


@pytest.mark.parametrize("configuration", CONTENT, ids=["full", "hash"])
def test_case_28_canonical_arguments_make_one_loop(
    case: Any, run_tool: Any, make_chat: Any, configuration: Configuration
) -> None:
    asked = [PAGE, {"page": 1, "q": "x"}, *({**PAGE, "nonce": 7 + more} for more in range(6))]
    spans = [run_tool(number, arguments) for number, arguments in enumerate([*asked, {"q": "y"}])]
    chats = [make_chat(f"b{n}", at_s=(10 * n + 2, 10 * n + 9), parent="f") for n in range(9)]
    case.take(*spans, *chats, configuration=configuration)
    (row,) = found(case)
    assert (row["kind"], row["tool"], row["step_count"]) == ("tool", "search", 1)
    assert (row["run_count"], row["repeat_count"], row["unknown_result_count"]) == (8, 7, 7)
    # The third run establishes it, at 20 s; the calls at 22 to 62 s led to one more repeat each.
    assert (row["established_at"], row["call_count"]) == ("2026-11-10T10:00:20.000000000+00:00", 5)
    assert (row["input_tokens"], row["output_tokens"]) == (5000, 1000)
    assert row["tool_s"] == 5.0


@pytest.mark.parametrize("configuration", CONTENT, ids=["full", "hash"])
def test_case_28_other_arguments_are_no_loop(
    case: Any, run_tool: Any, configuration: Configuration
) -> None:
    case.take(
        *(run_tool(n, {"page": n}, {"rows": 0}) for n in range(8)), configuration=configuration
    )
    assert found(case) == []


def test_case_28_polling_whose_result_changes_is_no_loop(case: Any, run_tool: Any) -> None:
    case.take(*(run_tool(n, PAGE, {"done_percent": 10 * n}) for n in range(8)))
    assert found(case) == []


def test_case_28_a_changing_counter_hides_no_loop(case: Any, run_tool: Any) -> None:
    waits = {"state": "waiting"}
    runs = [run_tool(n, PAGE | {"counter": n}, waits | {"request_id": n}) for n in range(220)]
    case.take(*runs)
    (row,) = found(case)
    assert (row["run_count"], row["unknown_result_count"]) == (220, 0)


def test_case_28_two_steps_in_turn_are_one_loop(case: Any, run_tool: Any) -> None:
    case.take(*(run_tool(n, PAGE, {"rows": 0}, tool="ab"[n % 2]) for n in range(6)))
    (row,) = found(case)
    assert (row["step_count"], row["run_count"], row["repeat_count"]) == (2, 6, 4)
    assert row["established_at"] == "2026-11-10T10:00:30.000000000+00:00"


def test_case_28_without_hashes_the_answer_says_what_is_missing(case: Any, run_tool: Any) -> None:
    runs = [run_tool(n, PAGE, {"rows": 0}) for n in range(8)]
    case.take(*runs, configuration=Configuration(content="off"))
    answer = loops(case.ledger, window=Window())
    assert answer.frame.is_empty()
    assert "not compared: 8 of 8 tool runs tell no arguments" in answer.notes[-1]


@pytest.mark.parametrize("configuration", CONTENT, ids=["full", "hash"])
def test_case_28_in_the_names_of_openinference(
    case: Any, make_span: Any, configuration: Configuration
) -> None:
    def run(number: int) -> Any:
        told = {
            "openinference.span.kind": "TOOL",
            "tool.name": "search",
            "input.value": json.dumps({"arguments": PAGE | {"requestId": number}}),
            "output.value": json.dumps({"rows": 0, "took_ms": number}),
        }
        return make_span(f"a{number}", told, kind=1, at_s=(10 * number, 10 * number + 1))

    case.take(*(run(number) for number in range(4)), configuration=configuration)
    (row,) = found(case)
    assert (row["tool"], row["run_count"], row["unknown_result_count"]) == ("search", 4, 0)


@pytest.mark.parametrize("configuration", CONTENT, ids=["full", "hash"])
def test_case_28_what_is_masked_in_arguments_still_tells_them_apart(
    case: Any, run_tool: Any, configuration: Configuration
) -> None:
    def asked(number: int, mailbox: str) -> Any:
        return run_tool(number, {"to": f"{mailbox}@example.com", "nonce": number}, {"rows": 0})

    case.take(*(asked(n, f"box{n}") for n in range(4)), configuration=configuration)
    assert found(case) == []
    case.take(*(asked(n, "same") for n in range(4, 8)), configuration=configuration)
    assert [row["run_count"] for row in found(case)] == [4]
    stored = case.rows("attributes", "spans")
    assert not [text for (text,) in stored if "@example.com" in text]
