"""Months in which pools were provisioned and nobody called: busy is nothing, idle is all."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.errors import NoDataError
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
OCTOBER = 1_790_812_800 * S  # 2026-10-01T00:00:00Z
CONFIGURATION = Configuration(
    pools=(
        Pool(
            name="a",
            gpus_per_replica=4,
            replicas=2,
            price_per_gpu_hour=Decimal("2.50"),
            effective_from=datetime(2026, 6, 1, tzinfo=UTC),
        ),
        Pool(
            name="b",
            price_per_gpu_hour=Decimal("1.00"),
            schedule=("mon-fri 08:00-20:00",),
            effective_from=datetime(2026, 6, 1, tzinfo=UTC),
        ),
    )
)
CALL: dict[str, Any] = {
    "call_id": "1",
    "endpoint": "/chat",
    "pool": "a",
    "replica": "r0",
    "timing_source": "engine",
    "started_at": OCTOBER,
    "first_token_at": OCTOBER + S,
    "ended_at": OCTOBER + 5 * S,
    "uncached_input_tokens": 100,
    "visible_output_tokens": 10,
}
NOVEMBER = Window.month("2026-11", "UTC")


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    """One call in October on pool a; pool b never had one."""
    return ledger_of([CALL], CONFIGURATION)


@pytest.mark.parametrize("by", [(), ("endpoint",), ("team", "model"), ("pool",)])
def test_idle_is_what_was_provisioned_however_it_is_grouped(
    ledger: Ledger, by: tuple[str, ...]
) -> None:
    answer = law(ledger, CONFIGURATION, by=by, window=NOVEMBER)
    # 720 hours of 8 GPUs; 12 hours on each of 21 weekdays of one GPU.
    assert answer.frame.select("line", "pool", "gpu_seconds", "cost", "N").rows() == [
        ("idle", "a", 720 * 3600 * 8, 720 * 8 * Decimal("2.50"), None),
        ("idle", "b", 21 * 12 * 3600, 21 * 12 * Decimal("1.00"), None),
    ]
    assert answer.frame["share_ratio"].sum() == pytest.approx(1)


def test_the_days_of_an_idle_month_add_up_to_the_month(ledger: Ledger) -> None:
    days = law(ledger, CONFIGURATION, by=("day", "endpoint"), window=NOVEMBER).frame
    assert set(days["line"]) == {"idle"}
    assert days["day"].n_unique() == 30
    assert days["cost"].sum() == 720 * 8 * Decimal("2.50") + 21 * 12


def test_an_idle_month_and_a_busy_one_add_up_to_both(ledger: Ledger) -> None:
    both = Window.parse("2026-10", "2026-12", "UTC")
    months = [Window.month(month, "UTC") for month in ("2026-10", "2026-11")]
    apart = [law(ledger, CONFIGURATION, window=month).frame for month in months]
    together = law(ledger, CONFIGURATION, window=both).frame
    assert sum(frame["cost"].sum() for frame in apart) == together["cost"].sum()
    assert sum(frame["gpu_seconds"].sum() for frame in apart) == together["gpu_seconds"].sum()


def test_the_note_says_how_far_the_calls_reach(ledger: Ledger) -> None:
    notes = law(ledger, CONFIGURATION, window=NOVEMBER).notes
    assert any(
        "no calls with origin=production from 2026-11-01" in note
        and "the ledger's 1 call reaches from 2026-10-01" in note
        and "all that was provisioned is idle" in note
        for note in notes
    )


def test_one_pool_can_be_asked_for(ledger: Ledger) -> None:
    frame = law(ledger, CONFIGURATION, where={"pool": "b"}, window=NOVEMBER).frame
    assert frame.select("line", "pool", "cost").rows() == [("idle", "b", 21 * 12)]


def test_a_ledger_without_a_call_has_the_idle_time_of_its_pools(ledger_of: LedgerOf) -> None:
    elsewhere = CALL | {"origin": "replay", "pool": None, "model": "m"}
    empty = ledger_of([elsewhere], CONFIGURATION)
    answer = law(empty, CONFIGURATION, window=NOVEMBER)
    assert answer.frame["cost"].sum() == 720 * 8 * Decimal("2.50") + 21 * 12
    assert any("the ledger has none of that origin" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("window", "where"),
    [
        pytest.param(Window.month("2026-05", "UTC"), {}, id="before a pool is provisioned"),
        pytest.param(NOVEMBER, {"pool": "none"}, id="a pool that is not there"),
        pytest.param(NOVEMBER, {"endpoint": "/chat"}, id="a part of the calls"),
        pytest.param(NOVEMBER, {"origin": "replay"}, id="replays"),
        pytest.param(Window(), {"origin": "replay"}, id="replays without a window"),
        pytest.param(
            Window.parse("2026-11-07", "2026-11-09", "UTC"), {"pool": "b"}, id="a closed weekend"
        ),
    ],
)
def test_without_a_call_and_a_provisioned_second_there_is_no_answer(
    ledger: Ledger, window: Window, where: dict[str, str | None]
) -> None:
    with pytest.raises(NoDataError, match="no calls with"):
        law(ledger, CONFIGURATION, window=window, where=where)
