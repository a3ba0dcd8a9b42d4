"""Cases about time: days of any zone, and instants that cannot be true."""

from typing import Any

import pytest

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
