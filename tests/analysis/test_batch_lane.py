"""The batch lane: whether somebody waits for a call, by what its trace and its hours tell."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.batch_lane import batch_lane
from analysis.errors import NoDataError
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool, Slo
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(pools=(Pool(name="a", replicas=1000),))

Root = tuple[str, str, str, str]
"""Trace, span, kind and name of a root."""


def call(number: int, hour: float = 12, **columns: Any) -> dict[str, Any]:
    """Two GPU-seconds, alone on its replica, in the trace of its number."""
    begin = MIDNIGHT + round(hour * 3600) * S
    return {
        "call_id": str(number),
        "trace_id": f"t{number}",
        "span_id": "call",
        "endpoint": "nightly",
        "endpoint_source": "root",
        "pool": "a",
        "replica": f"r{number}",
        "timing_source": "engine",
        "arrived_at": begin,
        "started_at": begin,
        "first_token_at": begin + S,
        "ended_at": begin + 2 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


def ledger_with(
    ledger_of: LedgerOf, calls: Sequence[dict[str, Any]], roots: Sequence[Root]
) -> Ledger:
    ledger = ledger_of(calls, CONFIGURATION)
    for trace, span, kind, name in roots:
        ledger.connection.execute(
            "insert into spans values (?, ?, null, ?, ?, ?, ?, 'ok', null, 'app', null, '{}', '{}',"
            " '[]', 1, '', 1)",
            [trace, span, name, kind, MIDNIGHT, MIDNIGHT + S],
        )
    return ledger


def only(ledger: Ledger, **asked: Any) -> dict[str, Any]:
    frame = batch_lane(ledger, CONFIGURATION, **asked).frame
    assert frame.height == 1
    return frame.row(0, named=True)


def who(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["waited_count"], row["background_count"], row["untold_count"]


def test_below_the_root_of_a_job_nobody_waits(ledger_of: LedgerOf) -> None:
    ledger = ledger_with(ledger_of, [call(1)], [("t1", "root", "internal", "nightly")])
    row = only(ledger)
    assert (row["lane"], row["evidence"], who(row)) == ("batch", "telemetry", (0, 1, 0))
    assert (row["gpu_seconds"], row["background_gpu_seconds"], row["share_ratio"]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({}, "server"),
        ({"stream": True}, "internal"),
        ({"conversation_id": "c"}, "internal"),
        ({"endpoint": "POST /chat", "endpoint_source": "route"}, "internal"),
    ],
)
def test_a_request_a_stream_and_a_conversation_are_waited_for(
    ledger_of: LedgerOf, columns: dict[str, Any], kind: str
) -> None:
    ledger = ledger_with(ledger_of, [call(1, **columns)], [("t1", "root", kind, "x")])
    row = only(ledger, by=())
    assert (row["lane"], who(row), row["background_gpu_seconds"]) == (
        "interactive", (1, 0, 0), None,
    )  # fmt: skip


def test_a_root_that_is_the_call_or_a_model_servers_tells_nothing(ledger_of: LedgerOf) -> None:
    calls = [call(n, hour=8 + n) for n in range(1, 8)]
    calls[0] |= {"endpoint": "/v1/chat/completions", "endpoint_source": "route"}
    roots = [
        ("t1", "root", "server", "POST /v1/chat/completions"),
        ("t2", "call", "server", "llm_request"),
    ]
    row = only(ledger_with(ledger_of, calls, roots), by=())
    assert (row["lane"], row["evidence"], who(row)) == ("unknown", None, (0, 0, 7))


def test_where_nothing_is_told_the_hours_speak(ledger_of: LedgerOf) -> None:
    tokyo = Configuration(timezone="Asia/Tokyo")
    calls = [call(n, hour=n % 3 * 24 + 14.9 + n % 4 / 10, trace_id=None) for n in range(60)]
    answer = batch_lane(ledger_of(calls, CONFIGURATION), tokyo)
    row = answer.frame.row(0, named=True)
    # 23:54 to 00:12 in Tokyo.
    assert (row["lane"], row["evidence"], row["night_ratio"]) == ("batch", "hours", 1.0)
    assert (row["busiest_hour"], row["busiest_4_hours_ratio"], row["day_count"]) == (0, 1.0, 4)
    assert "where evidence is hours, only the hours speak for a job" in answer.notes


@pytest.mark.parametrize(
    ("days", "count", "slo"),
    [(1, 120, None), (2, 120, None), (3, 49, None), (3, 120, Slo(endpoint="/a", ttft_p95_s=1.0))],
)
def test_few_days_few_calls_and_a_promised_first_token_are_no_job(
    ledger_of: LedgerOf, days: int, count: int, slo: Slo | None
) -> None:
    calls = [
        call(n, hour=n % days * 24 + 10 + n / 120, trace_id=None, endpoint="/a")
        for n in range(count)
    ]
    asked = Configuration(slos=(slo,) if slo else ())
    answer = batch_lane(ledger_of(calls, CONFIGURATION), asked)
    row = answer.frame.row(0, named=True)
    assert (row["lane"], row["evidence"], row["busiest_4_hours_ratio"]) == ("unknown", None, 1.0)
    assert any(note.startswith("hours speak for a job from 3 days") for note in answer.notes)


def test_a_promise_of_whole_answers_lets_the_hours_speak(ledger_of: LedgerOf) -> None:
    calls = [call(n, hour=n % 3 * 24 + 10, trace_id=None, endpoint="/a") for n in range(60)]
    asked = Configuration(slos=(Slo(endpoint="/a", e2e_p95_s=600.0),))
    frame = batch_lane(ledger_of(calls, CONFIGURATION), asked).frame
    assert frame.select("lane", "evidence").rows() == [("batch", "hours")]


def test_a_day_of_even_traffic_that_tells_nothing_is_unknown(ledger_of: LedgerOf) -> None:
    calls = [call(n, hour=n, trace_id=None) for n in range(24)]
    answer = batch_lane(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    row = answer.frame.row(0, named=True)
    assert (row["lane"], row["night_ratio"]) == ("unknown", pytest.approx(8 / 24))
    assert any(note.startswith("not told who waits for 24 calls") for note in answer.notes)


def test_batch_comes_first_and_says_its_sum(ledger_of: LedgerOf) -> None:
    calls = [call(n) for n in (1, 2)] + [call(n, stream=True, endpoint="/chat") for n in (3, 4)]
    calls += [call(5, endpoint="both"), call(6, endpoint="both", stream=True)]
    roots = [(f"t{n}", "root", "internal", "job") for n in range(1, 7)]
    answer = batch_lane(ledger_with(ledger_of, calls, roots), CONFIGURATION)
    assert answer.frame.select("endpoint", "lane", "background_gpu_seconds").rows() == [
        ("nightly", "batch", 4.0),
        ("both", "mixed", 2.0),
        ("/chat", "interactive", None),
    ]
    assert "1 group of batch: 4.000 GPU-seconds" in answer.notes


def test_without_calls_there_is_no_lane(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match="no calls with"):
        batch_lane(ledger_of([], CONFIGURATION), CONFIGURATION)


@settings(max_examples=10, deadline=None)
@given(
    drawn=st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.integers(0, 95), st.booleans(), st.sampled_from("isn")
        ),
        min_size=1,
        max_size=25,
    )
)
def test_calls_and_gpu_seconds_of_all_lanes_are_those_of_the_law(
    ledger_of: LedgerOf, drawn: list[tuple[str, int, bool, str]]
) -> None:
    calls = [
        call(n, hour=hour / 4 + 0.249, endpoint=endpoint, stream=stream)
        for n, (endpoint, hour, stream, _) in enumerate(drawn)
    ]
    kinds = {"i": "internal", "s": "server"}
    roots = [(f"t{n}", "r", kinds[k], "x") for n, (*_, k) in enumerate(drawn) if k in kinds]
    ledger = ledger_with(ledger_of, calls, roots)
    whole = law(ledger, CONFIGURATION, by=(), window=Window()).frame
    served = whole.filter(whole["line"] == "calls")
    for by in (("endpoint",), (), ("hour",)):
        frame = batch_lane(ledger, CONFIGURATION, by=by).frame
        assert frame["call_count"].sum() == len(drawn) == served["N"].sum()
        assert frame["gpu_seconds"].sum() == pytest.approx(served["gpu_seconds"].sum())
        for row in frame.to_dicts():
            assert sum(who(row)) == row["call_count"]
