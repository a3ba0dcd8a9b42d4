"""The native format: columns of calls, nothing else, each row by itself."""

import json
from decimal import Decimal

import pytest

from ingest.calls.timing import EARLIEST_AT, LATEST_AT
from ingest.records import Call

MIDNIGHT_AT = 1790812800_000000000
"""2026-10-01T00:00:00Z."""
BUCKETS = ("uncached_input_tokens", "cache_read_tokens", "cache_write_tokens")
INSTANT_HINT = "write integer nanoseconds since 1970 or RFC 3339"
ROW = {"endpoint": "/chat", "arrived_at": "2026-10-01T00:00:00Z"}


def test_a_row_with_its_own_id_and_totals_is_a_call(take_file) -> None:
    call = take_file("native.jsonl", "native").calls[0]
    assert call == Call(
        identity="call_id:c-1",
        endpoint="/chat",
        endpoint_source="record",
        model="m",
        timing_source="engine",
        timing_quality="ok",
        arrived_at=MIDNIGHT_AT,
        started_at=MIDNIGHT_AT + 500_000_000,
        first_token_at=MIDNIGHT_AT + 1_000_000_000,
        ended_at=MIDNIGHT_AT + 3_000_000_000,
        uncached_input_tokens=40,
        cache_read_tokens=60,
        visible_output_tokens=20,
        reported_input_tokens=100,
        reported_output_tokens=20,
        tokens_source="reported",
    )


def test_a_row_with_buckets_pool_and_cost_is_a_call(take_file) -> None:
    call = take_file("native.jsonl", "native").calls[1]
    assert (call.uncached_input_tokens, call.visible_output_tokens, call.reasoning_tokens) == (
        10,
        5,
        2,
    )
    assert (call.started_at, call.ended_at) == (MIDNIGHT_AT, MIDNIGHT_AT + 1_000_000_000)
    assert (call.timing_source, call.timing_quality) == ("span", "ok")
    assert (call.pool_reported, call.user_id) == ("h100", "42")
    assert call.reported_cost == Decimal("0.000225")


def test_rows_that_cannot_be_taken_are_rejected_with_line_and_reason(take_file) -> None:
    taken = take_file("native.jsonl", "native")
    assert len(taken.calls) == 3
    assert [(reject.position, reject.reason) for reject in taken.rejects] == [
        ("line 3", "unknown key 'input_token'; did you mean 'input_tokens'?"),
        (
            "line 4",
            f"input_tokens 11 is not the sum 10 of {' + '.join(BUCKETS)}",
        ),
        ("line 5", "status 'errored' is unknown; did you mean 'error'?"),
        (
            "line 6",
            f"arrived_at 1790812800.5 is a fraction; {INSTANT_HINT}",
        ),
    ]


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        (MIDNIGHT_AT, MIDNIGHT_AT),
        (str(MIDNIGHT_AT), MIDNIGHT_AT),
        ("2026-10-01T00:00:00Z", MIDNIGHT_AT),
        ("2026-10-01T09:00:00+09:00", MIDNIGHT_AT),
        ("2026-10-01 00:00:00", MIDNIGHT_AT),
        ("2026-10-01T00:00:00.123456789Z", MIDNIGHT_AT + 123_456_789),
        ("2026-10-01T00:00:00.5", MIDNIGHT_AT + 500_000_000),
        ("1969-12-31T23:59:59.25Z", -750_000_000),
    ],
)
def test_an_instant_is_a_number_of_nanoseconds_or_rfc_3339(
    take, written: object, nanoseconds: int
) -> None:
    (call,) = take(json.dumps({**ROW, "arrived_at": written}), "native").calls
    assert call.arrived_at == nanoseconds


@pytest.mark.parametrize(
    "bad",
    [
        {"arrived_at": "2026-13-01T00:00:00Z"},
        {"arrived_at": True},
        {"arrived_at": [1]},
        {"arrived_at": "1" * 41},
        {"endpoint": ["/chat"]},
        {"endpoint": True},
        {"cache_read_tokens": -1},
        {"max_tokens": 1.5},
        {"temperature": "hot"},
        {"stream": 1},
        {"reported_cost": "free"},
        {"reported_cost": True},
        {"prefix_hashes": 7},
        {"prefix_hashes": [1, None]},
        {"volatile_spans": [0, 4]},
        {"volatile_spans": [0, 4, 6]},
        {"volatile_spans": [-1, 4, 1]},
        {"timing_source": "guess"},
        {"call_id": 7},
        {"call_id": ""},
        {"identity": "x"},
    ],
)
def test_a_value_of_another_kind_rejects_its_row_alone(take, bad: dict[str, object]) -> None:
    taken = take(f"{json.dumps(ROW)}\n{json.dumps({**ROW, **bad})}\n", "native")
    assert (len(taken.calls), [reject.position for reject in taken.rejects]) == (1, ["line 2"])


def test_null_is_not_known_whatever_the_column(take) -> None:
    row = {**ROW, "input_tokens": None, "status": None, "prefix_hashes": None, "pool": None}
    (call,) = take(json.dumps(row), "native").calls
    assert (call.uncached_input_tokens, call.status, call.prefix_hashes) == (None, "ok", None)
    assert (call.tokens_source, call.timing_source) == ("unknown", "tokens")


def test_internal_numbers_of_another_ledger_are_ignored(take) -> None:
    (call,) = take(
        json.dumps({**ROW, "call_no": 1, "cohort_id": 2, "delivery_id": 3}), "native"
    ).calls
    assert call.endpoint == "/chat"


def test_a_reported_pool_wins_over_the_resolved_one(take) -> None:
    row = {**ROW, "pool": "resolved", "pool_reported": "reported"}
    (call,) = take(json.dumps(row), "native").calls
    assert call.pool_reported == "reported"


def test_identity_is_the_call_s_id_then_its_span_then_what_the_row_says(take) -> None:
    span = {**ROW, "trace_id": "t", "span_id": "s"}
    rows = [{**span, "call_id": "c"}, span, ROW, dict(reversed(ROW.items()))]
    identities = [call.identity for call in take("\n".join(map(json.dumps, rows)), "native").calls]
    assert identities[:2] == ["call_id:c", "span:t:s"]
    first, second = identities[2:]
    assert (first.removesuffix(":1"), first[-2:]) == (second.removesuffix(":2"), ":1")


def test_a_retry_names_the_call_id_of_the_first_attempt(take) -> None:
    (call,) = take(json.dumps({**ROW, "attempt": 2, "retry_of": "c"}), "native").calls
    assert (call.attempt, call.retry_of) == (2, "call_id:c")


def test_an_observed_first_token_without_arrival_is_seen_by_the_client(take) -> None:
    row = {
        "started_at": MIDNIGHT_AT,
        "first_token_at": MIDNIGHT_AT + 1,
        "ended_at": MIDNIGHT_AT + 2,
        "error_type": "Timeout",
    }
    (call,) = take(json.dumps(row), "native").calls
    assert (call.timing_source, call.timing_quality, call.status) == ("stream", "ok", "error")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("0001-01-01T00:00:00Z", EARLIEST_AT),
        ("-62135596800000000000", EARLIEST_AT),
        (-62135596800000000000, EARLIEST_AT),
        ("9999-12-31T23:59:59Z", LATEST_AT),
        (253402300799000000000, LATEST_AT),
        (2**63, LATEST_AT),
    ],
)
def test_an_instant_that_the_ledger_cannot_hold_keeps_its_row(
    take, written: object, kept: int
) -> None:
    row = {"started_at": written, "ended_at": written, "input_tokens": 7, "output_tokens": 2}
    (call,) = take(json.dumps(row), "native").calls
    assert (call.started_at, call.ended_at, call.timing_quality) == (kept, kept, "invalid")
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (7, 2)
    outside = "lies outside of the years 1823 to 2116"
    assert call.tokens_note == f"started_at {outside}; ended_at {outside}"


def test_impossible_times_are_kept_and_marked(take) -> None:
    row = {"started_at": MIDNIGHT_AT + 1, "ended_at": MIDNIGHT_AT}
    (call,) = take(json.dumps(row), "native").calls
    assert (call.started_at, call.ended_at, call.timing_quality) == (
        MIDNIGHT_AT + 1,
        MIDNIGHT_AT,
        "invalid",
    )


@pytest.mark.parametrize(
    ("ended_after_s", "given", "kept"),
    [
        (50, "ok", "invalid"),
        (50, "unknown", "invalid"),
        (None, "ok", "ok"),
        (200, "unknown", "unknown"),
        (200, "invalid", "invalid"),
    ],
)
def test_a_timing_quality_in_the_row_is_never_better_than_its_times(
    take, ended_after_s: int | None, given: str, kept: str
) -> None:
    row = {
        "started_at": MIDNIGHT_AT + 10_000_000_000,
        "first_token_at": MIDNIGHT_AT + 100_000_000_000,
        "ended_at": None if ended_after_s is None else MIDNIGHT_AT + ended_after_s * 10**9,
        "timing_quality": given,
    }
    (call,) = take(json.dumps(row), "native").calls
    assert call.timing_quality == kept


def test_a_timing_quality_in_a_row_without_a_start_is_unknown(take) -> None:
    (call,) = take(json.dumps({"ended_at": MIDNIGHT_AT, "timing_quality": "ok"}), "native").calls
    assert call.timing_quality == "unknown"


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"http_status": 429}, "HTTP 429 without usage: input and output tokens are unknown"),
        (
            {"status": "timeout", "input_tokens": 7},
            "timeout without usage: output tokens are unknown",
        ),
        ({"stream": True}, "stream without usage; ask for stream_options.include_usage"),
        ({"operation": "embeddings", "input_tokens": 7}, None),
        ({"input_tokens": 7, "output_tokens": 0}, None),
    ],
)
def test_a_row_without_usage_says_why_its_tokens_are_unknown(
    take, columns: dict[str, object], note: str | None
) -> None:
    (call,) = take(json.dumps({**ROW, **columns}), "native").calls
    assert call.tokens_note == note
    (again,) = take(json.dumps({**ROW, **columns, "tokens_note": note}), "native").calls
    assert again.tokens_note == note


def test_reasoning_is_a_part_of_the_output_total(take) -> None:
    row = {**ROW, "input_tokens": 5, "output_tokens": 10, "reasoning_tokens": 4}
    (call,) = take(json.dumps(row), "native").calls
    assert (call.visible_output_tokens, call.reasoning_tokens) == (6, 4)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (
            {"visible_output_tokens": 2**63 - 1},
            f"visible_output_tokens {2**63 - 1} is no count of one call; the most is 1000000000",
        ),
        (
            {"input_tokens": 1_000_000_001},
            "input_tokens 1000000001 is no count of one call; the most is 1000000000",
        ),
        ({"n_choices": 0}, "n_choices 0 is not from 1 to 2147483647"),
        ({"n_choices": -1}, "n_choices -1 is not from 1 to 2147483647"),
        ({"n_choices": 10**12}, "n_choices 1000000000000 is not from 1 to 2147483647"),
        ({"max_tokens": 10**12}, "max_tokens 1000000000000 is not from 0 to 2147483647"),
        ({"http_status": 0}, "http_status 0 is not from 100 to 599"),
        ({"http_status": 2**40}, "http_status 1099511627776 is not from 100 to 599"),
        ({"attempt": 2**31}, "attempt 2147483648 is not from 0 to 2147483647"),
        ({"prefix_block_tokens": 0}, "prefix_block_tokens 0 is not from 1 to 2147483647"),
        (
            {"reported_cost": -3},
            "reported_cost -3 is no cost of one call; it is from 0 to below 1,000,000,000",
        ),
        (
            {"reported_cost": "1e40"},
            "reported_cost 1e40 is no cost of one call; it is from 0 to below 1,000,000,000",
        ),
    ],
)
def test_a_number_that_no_call_can_have_rejects_its_row_in_words(
    take, bad: dict[str, object], reason: str
) -> None:
    taken = take(f"{json.dumps(ROW)}\n{json.dumps({**ROW, **bad})}\n", "native")
    assert len(taken.calls) == 1
    assert [(each.position, each.reason) for each in taken.rejects] == [("line 2", reason)]


@pytest.mark.parametrize("column", ["temperature", "top_p", "reported_cost", "n_choices"])
def test_what_is_no_number_is_unknown_and_noted(take, column: str) -> None:
    (call,) = take(json.dumps({**ROW, column: "NaN"}), "native").calls
    assert getattr(call, column) is None
    assert f"{column} NaN is no number" in str(call.tokens_note)
