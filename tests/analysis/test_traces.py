"""Traces are found by cost, by length and by how their id begins."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.errors import NoDataError, WrongQuestionError
from analysis.traces import TraceSearch, traces
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(pools=(Pool(name="a", price_per_gpu_hour=Decimal("3.60")),))

LedgerOf = Callable[..., Ledger]


def call(name: str, trace: str | None, start: int, end: int, **columns: Any) -> dict[str, Any]:
    """A call alone on its replica: as many GPU-seconds as seconds, a thousandth each."""
    return {
        "call_id": name,
        "trace_id": trace,
        "endpoint": "/chat",
        "pool": "a",
        "replica": name,
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + start * S,
        "started_at": MIDNIGHT + start * S,
        "first_token_at": MIDNIGHT + (start + 1) * S,
        "ended_at": MIDNIGHT + end * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


CALLS = (
    call("1", "aa01", 0, 10, endpoint="/agent", team="search"),
    call("2", "aa01", 20, 30, endpoint="/later", team="search", status="error"),
    call("3", "aa02", 0, 60),
    call("4", "bb03", 100, 105, pool="unknown-pool"),
    call("5", None, 0, 500),
)


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    """Three traces and a call without one."""
    return ledger_of(CALLS, CONFIGURATION)


def found(ledger: Ledger, **search: Any) -> list[str]:
    frame = traces(ledger, CONFIGURATION, search=TraceSearch(**search)).frame
    return frame["trace_id"].to_list()


def test_a_trace_is_the_sum_of_its_calls_from_the_first_begin_to_the_last_end(
    ledger: Ledger,
) -> None:
    frame = traces(ledger, CONFIGURATION, search=TraceSearch(prefix="aa01")).frame
    assert frame.to_dicts() == [
        {
            "trace_id": "aa01",
            "endpoint": "/agent",
            "team": "search",
            "call_count": 2,
            "failed_count": 1,
            "started_at": "2026-10-05T00:00:00.000000000+00:00",
            "duration_s": 30.0,
            "gpu_seconds": pytest.approx(20.0),
            "cost": Decimal("0.020000000"),
            "currency": "USD",
            "fitting_count": 1,
        }
    ]


def test_the_dearest_come_first_and_those_without_a_price_last(ledger: Ledger) -> None:
    assert found(ledger) == ["aa02", "aa01", "bb03"]


def test_each_order_has_its_first(ledger: Ledger) -> None:
    firsts = [found(ledger, order=order)[0] for order in ("duration_s", "call_count", "started_at")]
    assert firsts == ["aa02", "aa01", "bb03"]


def test_lower_bounds_leave_out_what_is_below_them_and_what_is_not_known(ledger: Ledger) -> None:
    assert found(ledger, least_cost=0.0) == ["aa02", "aa01"]
    assert found(ledger, least_duration_s=31) == ["aa02"]


def test_how_many_fit_is_told_beyond_the_limit(ledger: Ledger) -> None:
    frame = traces(ledger, CONFIGURATION, search=TraceSearch(limit=1)).frame
    assert (frame.height, frame["fitting_count"].to_list()) == (1, [3])


def test_a_search_that_finds_nothing_is_an_error_that_says_what_there_is(ledger: Ledger) -> None:
    with pytest.raises(NoDataError, match="5 calls"):
        found(ledger, prefix="ff")


def test_an_unknown_order_names_the_nearest(ledger: Ledger) -> None:
    with pytest.raises(WrongQuestionError, match="did you mean 'duration_s'"):
        found(ledger, order="duration")
