"""The public files of benchmarks give the totals that were computed apart."""

import pytest

pytestmark = pytest.mark.shared


def test_the_responses_of_llmperf_have_their_counts(take_shared) -> None:
    taken = take_shared("A_llmperf/groq_70b.json", "llmperf")
    assert (len(taken.calls), taken.rejects) == (150, [])
    assert len({call.identity for call in taken.calls}) == 150
    assert sum(call.uncached_input_tokens or 0 for call in taken.calls) == 82_500
    assert sum(call.visible_output_tokens or 0 for call in taken.calls) == 22_500
    assert {call.status for call in taken.calls} == {"ok"}
    assert {call.timing_quality for call in taken.calls} == {"unknown"}


def test_the_workload_of_aibrix_has_its_counts_and_its_span(take_shared) -> None:
    taken = take_shared("A_aibrix/ten_requests.jsonl", "aibrix")
    assert (len(taken.calls), taken.rejects) == (10, [])
    assert sum(call.uncached_input_tokens or 0 for call in taken.calls) == 9_169
    assert sum(call.visible_output_tokens or 0 for call in taken.calls) == 816
    arrived = [call.arrived_at or 0 for call in taken.calls]
    assert (min(arrived), max(arrived)) == (21_000_000, 4_334_000_000)


def test_the_log_of_inspect_counts_its_model_events_once(take_shared) -> None:
    path = "A_inspect_ai/2025-05-12T20-28-13-04-00_popularity.json"
    taken = take_shared(path, "inspect-ai")
    assert (len(taken.calls), taken.rejects) == (3, [])
    assert sum(call.uncached_input_tokens or 0 for call in taken.calls) == 192
    assert sum(call.visible_output_tokens or 0 for call in taken.calls) == 6
    assert {call.model for call in taken.calls} == {"gpt-4o-mini-2024-07-18"}
    first = taken.calls[0]
    assert (first.arrived_at, first.ended_at) == (1747096093_301227000, 1747096093_957978000)
