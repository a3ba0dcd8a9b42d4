"""The Mooncake traces: relative milliseconds and hashed blocks."""

import pytest


def test_a_request_is_a_call_on_the_trace_s_own_clock(take_file) -> None:
    calls = take_file("mooncake.jsonl", "mooncake").calls
    assert [call.arrived_at for call in calls] == [0, 1_500_000_000, 1_500_000_000, 1_600_000_000]
    assert [call.uncached_input_tokens for call in calls] == [1000, 1024, 1025, 10]
    assert [call.visible_output_tokens for call in calls] == [6, 4, 4, 1]
    assert {(call.timing_source, call.timing_quality) for call in calls} == {("tokens", "ok")}


def test_a_block_has_512_tokens_only_where_the_counts_confirm_it(take_file) -> None:
    calls = take_file("mooncake.jsonl", "mooncake").calls
    assert [call.prefix_hashes for call in calls] == [(0, 1), (0, 1), (0, 1), None]
    assert [call.prefix_block_tokens for call in calls] == [512, 512, None, None]
    assert [call.tokens_note for call in calls] == [
        None,
        None,
        "2 hashed blocks are not 1025 tokens in blocks of 512",
        None,
    ]


def test_a_bad_record_is_rejected_with_its_line(take_file) -> None:
    rejects = take_file("mooncake.jsonl", "mooncake").rejects
    assert [(reject.position, reject.reason) for reject in rejects] == [
        ("line 5", "timestamp 'soon' is no whole number")
    ]


@pytest.mark.parametrize(
    "hashes", ['"none"', "[1, null]", "[true]", "[1.5]", "[18446744073709551615]"]
)
def test_hashes_of_another_kind_reject_their_record(take, hashes: str) -> None:
    line = '{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": '
    taken = take(f"{line}{hashes}}}\n", "mooncake")
    assert (taken.calls, len(taken.rejects)) == ([], 1)


def test_an_arrival_that_the_ledger_cannot_hold_is_told_of(take) -> None:
    line = '{"timestamp": 9000000000000000, "input_length": 1, "output_length": 1}'
    (call,) = take(line, "mooncake").calls
    assert call.tokens_note == "arrived_at lies outside of the years 1823 to 2116"
    assert call.timing_quality == "invalid"
