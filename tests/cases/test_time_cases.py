"""Cases about time: days of any zone, and instants that cannot be true."""

from typing import Any

import pytest

from analysis.check import check
from analysis.extent import extent_of
from analysis.latency import latency
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool

POOL = Configuration(pools=(Pool(name="gpus", models=("m",)),))


def record(name: str, at: str, **columns: Any) -> dict[str, Any]:
    """A call that arrives at `at` and is served at once."""
    return {
        "call_id": name * 32,
        "model": "m",
        "endpoint": "/a",
        "timing_source": "span",
        "arrived_at": at,
        "started_at": at,
        "ended_at": at.replace(":00Z", ":05Z"),
        "uncached_input_tokens": 10,
        "visible_output_tokens": 5,
        **columns,
    }


def test_case_30_a_day_of_any_zone_has_each_call_once(case: Any, priced: Any) -> None:
    zone = "Asia/Kolkata"
    case.take(
        records=[
            record("a", "2026-11-09T18:29:00Z"),
            record("b", "2026-11-09T19:00:00Z"),
            record("c", "2026-11-10T18:29:00Z"),
            record("d", "2026-11-10T19:00:00Z"),
        ]
    )
    day = Window.parse("2026-11-10", "2026-11-11", zone)
    (line,) = law(case.ledger, priced, window=day).frame.to_dicts()
    assert (line["N"], line["input_tokens"]) == (2, 20)
    days = law(
        case.ledger, priced, by=("day",), window=Window.parse("2026-11-09", "2026-11-12", zone)
    ).frame.to_dicts()
    assert sorted((str(row["day"]), row["N"]) for row in days) == [
        ("2026-11-09", 1),
        ("2026-11-10", 2),
        ("2026-11-11", 1),
    ]


@pytest.mark.parametrize(
    "times",
    [
        {"ended_at": "2026-11-09T18:59:59.960Z"},
        {"arrived_at": "0001-01-01T00:00:00Z", "started_at": "0001-01-01T00:00:00Z"},
        {"started_at": "2026-11-09T18:59:59.980Z"},
        {"first_token_at": "2026-11-09T19:00:09Z"},
    ],
    ids=["end before start", "year one", "negative queue", "first token after the end"],
)
def test_case_32_impossible_times_are_kept_and_charged_nothing(
    case: Any, times: dict[str, str]
) -> None:
    good = record("a", "2026-11-09T19:00:00Z", replica="r")
    bad = {**record("b", "2026-11-09T19:00:00Z", replica="r"), **times}
    case.take(records=[good, bad], configuration=POOL)
    assert case.rows("call_id[:1], timing_quality, input_tokens") == [
        ("a", "ok", 10),
        ("b", "invalid", 10),
    ]
    charged = case.rows(
        "r.call_id[:1], round(sum(prefill_gpu_seconds + decode_gpu_seconds), 6)",
        "charges c join call_rows r using (call_no) group by all",
    )
    assert charged == [("a", 5.0)]
    found = {row["measure"]: row for row in latency(case.ledger, POOL).frame.to_dicts()}
    assert (found["e2e"]["known_count"], found["e2e"]["unknown_count"]) == (1, 1)
    assert found["e2e"]["p95_s"] == 5.0


@pytest.mark.parametrize("unit", [10**3, 10**6, 10**9], ids=["us", "ms", "s"])
def test_case_32_spans_that_cannot_be_true_are_told_and_stretch_no_window(
    case: Any, make_chat: Any, t0: int, unit: int
) -> None:
    """A queue below 0 alone, a start that is not set, and counts that are not nanoseconds."""
    in_unit = {"startTimeUnixNano": str(t0 // unit), "endTimeUnixNano": str(t0 // unit + 5)}
    case.take(
        make_chat("1"),
        make_chat("2", more={"gen_ai.latency.time_in_queue": -0.02}),
        make_chat("3", startTimeUnixNano="0"),
        make_chat("4", **in_unit),
        configuration=POOL,
    )
    at = "lies in 1970: is it a count of ns?"
    assert case.rows("span_id[16:], timing_quality, tokens_note") == [
        ("1", "ok", None),
        ("2", "invalid", "queue_s -0.02 is below 0"),
        ("3", "unknown", None),
        ("4", "invalid", f"arrived_at {at}; ended_at {at}"),
    ]
    found = {row["check"]: row["evidence"] for row in check(case.ledger, POOL).frame.to_dicts()}
    assert found["times contradict each other"] == "2 calls"
    assert found["no place in time"] == "1 call"
    assert "m 1 (its times are not known)" in found["without a price"]
    reach = extent_of(case.ledger.connection, {"origin": "production"})
    assert (reach.first_at, reach.last_at) == (t0, t0 + 10_000_000_000)
