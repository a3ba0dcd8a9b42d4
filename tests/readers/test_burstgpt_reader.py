"""The BurstGPT traces: seconds since a midnight, sessions, and requests that failed."""

import pytest

from ingest.errors import LedgerError
from ingest.records import Call

NS = 10**9
HEADER = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


def test_every_column_of_a_row_is_read(take_file) -> None:
    taken = take_file("burstgpt.csv", "burstgpt")
    call = taken.calls[0]
    assert taken.rejects == []
    assert call == Call(
        identity=call.identity,
        timing_source="span",
        model="ChatGPT",
        feature="Conversation log",
        conversation_id="s1",
        arrived_at=5 * NS,
        ended_at=7_500_000_000,
        uncached_input_tokens=472,
        visible_output_tokens=18,
        reported_input_tokens=472,
        reported_output_tokens=18,
        reported_total_tokens=490,
    )


def test_a_request_without_an_answer_failed(take_file) -> None:
    _, failed, empty = take_file("burstgpt.csv", "burstgpt").calls
    assert (failed.status, failed.uncached_input_tokens, failed.visible_output_tokens) == (
        "error",
        1_087,
        0,
    )
    assert (failed.arrived_at, failed.ended_at) == (45_250_000_000, 46 * NS)
    assert (empty.status, empty.uncached_input_tokens) == ("error", None)
    assert empty.tokens_note == "a request of 0 tokens: its input is unknown"
    assert (empty.conversation_id, empty.ended_at) == (None, None)


def test_the_first_release_knows_no_session_and_no_duration(take) -> None:
    rows = "5,ChatGPT,472,18,490,Conversation log\n"
    first, second = take(HEADER + rows + rows, "burstgpt").calls
    assert (first.timing_source, first.ended_at, first.conversation_id) == ("tokens", None, None)
    assert first.identity != second.identity


def test_a_negative_duration_is_kept_as_an_impossible_one(take) -> None:
    header = "Timestamp,Elapsed time,Model,Request tokens,Response tokens\n"
    (call,) = take(header + "50,-2,GPT-4,10,1\n", "burstgpt").calls
    assert (call.timing_quality, call.ended_at) == ("invalid", 48 * NS)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("5,ChatGPT,472", "3 cells in a row, 6 in the header"),
        (",ChatGPT,472,18,490,API log", "Timestamp is missing"),
        ("noon,ChatGPT,472,18,490,API log", "Timestamp 'noon' is no number of seconds"),
        ("1e99,ChatGPT,472,18,490,API log", "Timestamp '1e99' is no number of seconds"),
        ("5,ChatGPT,,18,490,API log", "Request tokens is missing"),
        ("5,ChatGPT,472,-1,490,API log", "Response tokens -1 is below 0"),
        ("5,ChatGPT,4.5,18,490,API log", "Request tokens '4.5' is no whole number"),
    ],
)
def test_a_bad_row_is_rejected_without_its_neighbour(take, row: str, reason: str) -> None:
    taken = take(f"{HEADER}{row}\r\n7,GPT-4,10,1,11,API log", "burstgpt")
    assert [call.model for call in taken.calls] == ["GPT-4"]
    assert [(each.position, each.reason) for each in taken.rejects] == [("line 2", reason)]


def test_a_csv_file_of_other_columns_is_refused(take) -> None:
    with pytest.raises(LedgerError, match="a CSV file without the column Timestamp"):
        take("a,b\n1,2\n", "burstgpt")
