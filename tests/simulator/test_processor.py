"""Processor seconds of each call: one reading that grows, divided where it can be divided."""

from simulator.client import Outcome, Status
from simulator.processor import PhaseSeconds, phase_seconds


def outcome(
    position: int,
    seconds: tuple[float, float],
    readings: tuple[float, float, float] | None,
    status: Status = "ok",
) -> Outcome:
    """A request in flight for `seconds`; `readings` at its send, first token and last frame."""
    sent, first, end = readings or (None, None, None)
    return Outcome(
        position=position,
        sent_s=seconds[0],
        ended_s=seconds[1],
        sent_processor_s=sent,
        first_token_processor_s=first,
        ended_processor_s=end,
        status=status,
    )


def test_a_call_alone_has_what_the_reading_grew_by() -> None:
    calls = [
        outcome(0, (0.0, 2.0), (10.0, 10.5, 10.75)),
        outcome(1, (3.0, 9.0), (10.75, 11.0, 11.125)),
    ]
    expected = {
        0: PhaseSeconds(prefill_s=0.5, decode_s=0.25),
        1: PhaseSeconds(prefill_s=0.25, decode_s=0.125),
    }
    assert phase_seconds(calls, slots=1) == expected
    assert phase_seconds(calls, slots=4) == expected


def test_behind_another_in_one_slot_the_prompt_begins_where_the_other_ended() -> None:
    waiting = outcome(1, (1.0, 4.0), (10.25, 11.5, 12.0))  # sent while the other is computed
    found = phase_seconds([outcome(0, (0.0, 2.0), (10.0, 10.5, 11.0)), waiting], slots=1)
    assert found[1] == PhaseSeconds(prefill_s=0.5, decode_s=0.5)
    assert sum(one.prefill_s + one.decode_s for one in found.values()) == 2.0


def test_calls_side_by_side_in_several_slots_are_not_known() -> None:
    calls = [
        outcome(0, (0.0, 2.0), (10.0, 10.5, 11.0)),
        outcome(1, (1.0, 4.0), (10.25, 11.5, 12.0)),
        outcome(2, (5.0, 6.0), (12.0, 12.5, 13.0)),
    ]
    assert phase_seconds(calls, slots=2) == {2: PhaseSeconds(prefill_s=0.5, decode_s=0.5)}


def test_beside_a_failed_request_nothing_is_known() -> None:
    calls = [
        outcome(0, (0.0, 2.0), (10.0, 10.5, 11.0)),
        outcome(1, (1.0, 1.5), None, status="error"),
        outcome(2, (5.0, 6.0), (12.0, 12.5, 13.0)),
    ]
    assert phase_seconds(calls, slots=1) == {2: PhaseSeconds(prefill_s=0.5, decode_s=0.5)}


def test_without_readings_nothing_is_known() -> None:
    assert phase_seconds([outcome(0, (0.0, 2.0), None)], slots=1) == {}
