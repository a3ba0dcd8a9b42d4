"""The analytics log of aider: calls, what began them, and calls that told no result."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ingest.records import Call

NS = 10**9
START = 1790000000


def event(name: str, at: Any, user: str = "u", **properties: Any) -> str:
    record = {"event": name, "properties": properties, "user_id": user, "time": at}
    return json.dumps(record)


def sent(at: Any, **properties: Any) -> str:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return event("message_send", at, main_model="gpt-x", **{**usage, **properties})


def begun(at: Any, user: str = "u") -> str:
    return event("message_send_starting", at, user)


def test_a_call_begins_with_the_starting_event_of_its_user(take_file) -> None:
    taken = take_file("aider.jsonl", "aider")
    call = taken.calls[0]
    assert taken.rejects == []
    assert call == Call(
        identity=call.identity,
        timing_source="span",
        model="gpt-x",
        model_requested="gpt-x",
        user_id="u1",
        arrived_at=1790000010 * NS,
        ended_at=1790000016 * NS,
        uncached_input_tokens=100,
        visible_output_tokens=20,
        reported_input_tokens=100,
        reported_output_tokens=20,
        reported_total_tokens=120,
        reported_cost=Decimal("0.0035"),
        reported_currency="USD",
    )


def test_a_message_without_a_result_is_a_call_of_unknown_tokens(take_file) -> None:
    _, lost = take_file("aider.jsonl", "aider").calls
    assert (lost.status, lost.user_id, lost.model) == ("cancelled", "u2", None)
    assert (lost.arrived_at, lost.ended_at) == (1790000012 * NS, None)
    assert (lost.tokens_source, lost.uncached_input_tokens) == ("unknown", None)
    assert lost.tokens_note == (
        "begun and never told a result: it failed, was aborted, or is not over; "
        "cancelled without usage: input and output tokens are unknown"
    )


def test_a_result_that_arrives_later_is_of_the_same_call(take) -> None:
    (early,) = take(begun(START), "aider").calls
    (late,) = take(begun(START) + "\n" + sent(START + 9), "aider").calls
    assert early.identity == late.identity
    assert (early.status, late.status) == ("cancelled", "ok")


def test_two_messages_at_once_have_a_result_each(take) -> None:
    lines = [begun(START), begun(START + 5), sent(START + 20), sent(START + 30)]
    first, second = take("\n".join(lines), "aider").calls
    assert (first.arrived_at, second.arrived_at) == ((START + 5) * NS, START * NS)
    assert first.tokens_note == "2 messages had begun, it is assumed to be the latest"
    assert second.tokens_note is None


def test_a_message_that_began_an_hour_before_is_not_that_of_a_result(take) -> None:
    lines = [begun(START), sent(START + 3_601)]
    lost, call = take("\n".join(lines), "aider").calls
    assert (lost.arrived_at, lost.status) == (START * NS, "cancelled")
    assert (call.arrived_at, call.ended_at) == (None, (START + 3_601) * NS)
    assert (call.timing_source, call.timing_quality) == ("tokens", "unknown")


def test_a_cost_beyond_the_ledger_is_none_and_the_call_is_kept(take) -> None:
    (call,) = take(event("message_send", START, main_model="m", cost=1e30), "aider").calls
    assert (call.reported_cost, call.reported_currency, call.model) == (None, None, "m")


def test_a_cost_of_0_is_unknown_and_so_is_a_model_without_a_name(take) -> None:
    line = event("message_send", START, main_model="None", cost=0, total_cost=3)
    (call,) = take(line, "aider").calls
    assert (call.reported_cost, call.reported_currency, call.model) == (None, None, None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (sent("noon"), "time 'noon' is no number of seconds"),
        (sent(START, cost="dear"), "reported_cost 'dear' is no amount"),
        (sent(START, cost=-1), "cost -1 is below 0"),
        ('{"event": "message_send", "time": 1}', "no JSON object but 'None'"),
        ("7", "no JSON object but '7'"),
        ("{oops", "no valid JSON"),
    ],
)
def test_a_bad_line_is_rejected_without_its_neighbour(take, bad: str, reason: str) -> None:
    taken = take(bad + "\n" + sent(START), "aider")
    assert [call.visible_output_tokens for call in taken.calls] == [2]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason
