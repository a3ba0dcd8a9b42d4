"""The public files of coding agents give the totals that were computed apart."""

from decimal import Decimal

import pytest

from ingest.records import Call

pytestmark = pytest.mark.shared

_BUCKETS = (
    "uncached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "visible_output_tokens",
    "reasoning_tokens",
)


def sums_of(calls: list[Call]) -> tuple[int, ...]:
    return tuple(sum(getattr(call, name) or 0 for call in calls) for name in _BUCKETS)


@pytest.mark.parametrize(
    ("path", "format_name", "call_count", "sums"),
    [
        ("C_ccusage/claude/session-alpha.jsonl", "claude-code", 3, (600, 70, 75, 250, 0)),
        (
            "C_claude_code_log/representative_messages.jsonl",
            "claude-code",
            5,
            (218, 0, 0, 445, 0),
        ),
        ("C_ccusage/codex/session-alpha.jsonl", "codex", 2, (2_750, 750, 0, 150, 275)),
        ("C_gemini_cli/tool-success.json", "gemini-responses", 8, (57_193, 0, 0, 39, 0)),
    ],
)
def test_a_session_has_its_counts(
    take_shared, path: str, format_name: str, call_count: int, sums: tuple[int, ...]
) -> None:
    taken = take_shared(path, format_name)
    assert (len(taken.calls), taken.rejects) == (call_count, [])
    assert len({call.identity for call in taken.calls}) == call_count
    assert sums_of(taken.calls) == sums


def test_the_cost_that_a_session_tells_is_kept(take_shared) -> None:
    calls = take_shared("C_ccusage/claude/session-alpha.jsonl", "claude-code").calls
    assert sum(call.reported_cost for call in calls) == Decimal("1.02")
    ended = [call.ended_at for call in calls]
    assert (ended[0], ended[-1]) == (1767952800_000000000, 1768036500_000000000)


def test_the_log_of_aider_has_its_calls_and_those_that_told_no_result(take_shared) -> None:
    taken = take_shared("A_aider_analytics/sample-analytics.jsonl", "aider")
    told = [call for call in taken.calls if call.tokens_source == "reported"]
    lost = [call for call in taken.calls if call.status == "cancelled"]
    assert (len(told), len(lost), taken.rejects) == (107, 156 - 107, [])
    assert len({call.identity for call in taken.calls}) == 156
    assert sums_of(told) == (2_484_349, 0, 0, 45_772, 0)
    assert sum(call.reported_total_tokens or 0 for call in told) == 2_530_121
    assert round(sum(call.reported_cost for call in told), 6) == Decimal("5.305332")
    assert max(call.ended_at for call in told) == 1777090834_000000000
    assert {call.timing_quality for call in taken.calls} == {"ok"}


def test_a_trajectory_has_its_calls_and_one_line_of_what_they_used(take_shared) -> None:
    taken = take_shared("A_swe_agent/pydicom__pydicom-1458.traj", "swe-agent")
    *steps, total = taken.calls
    assert (len(steps), taken.rejects) == (12, [])
    assert sums_of(steps) == (0, 0, 0, 0, 0)
    assert (total.operation, sums_of([total])) == ("not_itemised", (122_612, 0, 0, 1_369, 0))
    assert total.reported_cost == Decimal("1.26719")


def test_a_recording_has_the_output_and_the_cost_of_its_result(take_shared) -> None:
    taken = take_shared("D_logfire/basic_conversation.json", "claude-code-stream")
    assert (len(taken.calls), taken.rejects) == (1, [])
    assert sums_of(taken.calls) == (3, 7_166, 2_175, 5, 0)
    assert taken.calls[0].reported_cost == Decimal("0.01039005")


def test_no_total_of_a_codex_session_is_taken_for_more_output(take_shared) -> None:
    calls = take_shared("C_ccusage/codex/session-alpha.jsonl", "codex").calls
    assert [call.tokens_note for call in calls] == [
        "total 1200 is not input 1000 + output 125",
        "total 3000 is not input 2500 + output 300",
    ]
