"""The Azure LLM inference traces: seven digits, naive UTC, CRLF."""

import pytest

from ingest.errors import UnreadableSourceError


def test_a_row_is_a_call_that_knows_its_arrival_and_its_counts(take_file) -> None:
    first, again, zoned = take_file("azure.csv", "azure-llm-trace").calls
    assert first.arrived_at == again.arrived_at == 1790035200_123456700
    assert zoned.arrived_at == 1790035202_500000000
    assert (first.started_at, first.first_token_at, first.ended_at) == (None, None, None)
    assert (first.uncached_input_tokens, first.visible_output_tokens) == (4808, 10)
    assert (zoned.uncached_input_tokens, zoned.visible_output_tokens) == (5, 0)
    assert (first.timing_source, first.timing_quality) == ("tokens", "ok")
    assert (first.model, first.pool_reported, first.tokens_source) == (None, None, "reported")


def test_two_identical_rows_are_two_calls_and_the_same_file_is_the_same_calls(take_file) -> None:
    first = [call.identity for call in take_file("azure.csv", "azure-llm-trace").calls]
    again = [call.identity for call in take_file("azure.csv", "azure-llm-trace").calls]
    assert len(set(first)) == 3
    assert first == again


def test_a_bad_row_is_rejected_with_its_line(take_file) -> None:
    rejects = take_file("azure.csv", "azure-llm-trace").rejects
    assert [(reject.position, reject.reason) for reject in rejects] == [
        ("line 4", "2 cells in a row, 3 in the header"),
        ("line 5", "'yesterday' is no instant such as 2026-10-01T08:00:00.5Z"),
    ]


@pytest.mark.parametrize("cell", ["", "-1", "1.5", "ten", "9223372036854775808", "٣"])
def test_a_cell_that_is_no_count_rejects_its_row(take, cell: str) -> None:
    header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    taken = take(
        f"{header}2026-09-22 00:00:00,{cell},1\n2026-09-22 00:00:00,2,1", "azure-llm-trace"
    )
    assert [call.uncached_input_tokens for call in taken.calls] == [2]
    assert [reject.position for reject in taken.rejects] == ["line 2"]


def test_columns_are_found_by_name_and_a_missing_one_is_said(take) -> None:
    taken = take(
        "GeneratedTokens,Extra,TIMESTAMP,ContextTokens\n1,x,2026-09-22 00:00:00,2\n",
        "azure-llm-trace",
    )
    assert [call.uncached_input_tokens for call in taken.calls] == [2]
    with pytest.raises(UnreadableSourceError, match="a CSV file without the column ContextTokens"):
        take("TIMESTAMP,GeneratedTokens\n", "azure-llm-trace")


def test_an_arrival_that_the_ledger_cannot_hold_is_told_of(take) -> None:
    row = "TIMESTAMP,ContextTokens,GeneratedTokens\n0001-01-01 00:00:00,2,1\n"
    (call,) = take(row, "azure-llm-trace").calls
    assert call.tokens_note == "arrived_at lies outside of the years 1823 to 2116"
    assert call.timing_quality == "invalid"
