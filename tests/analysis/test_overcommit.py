"""A pool that is busier than its configuration provisions is said beside the law, once."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.explain import explain
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
QUARTER = Window(since=MIDNIGHT, until=MIDNIGHT + 900 * S)
POOL = Pool(name="a", price_per_gpu_hour=Decimal("3.60"))
CONFIGURATION = Configuration(pools=(POOL,))


def call(name: str, start: float, first: float, end: float, **columns: Any) -> dict[str, Any]:
    """A call on pool a, alone on its replica; times in seconds after midnight."""
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "started_at": MIDNIGHT + int(start * S),
        "first_token_at": MIDNIGHT + int(first * S),
        "ended_at": MIDNIGHT + int(end * S),
        "visible_output_tokens": 10,
    } | columns


def test_one_sentence_tells_of_a_pool_that_is_too_busy_on_many_days(ledger_of: LedgerOf) -> None:
    calls = [
        call(
            f"{day}-{replica}", day * 86_400, day * 86_400 + 1, (day + 1) * 86_400, replica=replica
        )
        for day in range(3)
        for replica in ("r0", "r1")
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    for by in ((), ("day",)):
        notes = law(ledger, CONFIGURATION, by=by).notes
        [said] = [note for note in notes if "busier than its configuration" in note]
        assert said.startswith("pool 'a' was busy for 259,200 GPU-seconds more")


def test_idle_time_after_a_pool_grew_does_not_hide_that_it_was_too_small(
    ledger_of: LedgerOf,
) -> None:
    grown = Configuration(
        pools=(
            POOL,
            Pool(
                name="a",
                replicas=9,
                price_per_gpu_hour=Decimal("3.60"),
                effective_from=datetime(2026, 10, 5, 1, tzinfo=UTC),
            ),
        )
    )
    calls = [call("1", 0, 1, 3600), call("2", 0, 1, 3600, replica="r1")]
    until = MIDNIGHT + 7200 * S
    answer = law(ledger_of(calls, grown), grown, window=Window(since=MIDNIGHT, until=until))
    idle = answer.frame.row(by_predicate=pl.col("line") == "idle", named=True)
    assert idle["gpu_seconds"] == 3600 + 9 * 3600 - 7200
    assert any("busy for 3,600 GPU-seconds more" in note for note in answer.notes)


def test_a_pool_that_is_busy_all_the_time_is_not_too_busy(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("1", 0, 1 / 3, 900)], CONFIGURATION)
    notes = law(ledger, CONFIGURATION, window=QUARTER).notes
    assert [note for note in notes if "busier" in note] == []


def test_explain_says_in_which_period_a_pool_was_too_busy(ledger_of: LedgerOf) -> None:
    calls = [call("1", 0, 1, 900), call("2", 0, 1, 900, replica="r1"), call("3", 900, 901, 999)]
    after = Window(since=MIDNIGHT + 900 * S, until=MIDNIGHT + 1800 * S)
    notes = explain(
        ledger_of(calls, CONFIGURATION), CONFIGURATION, before=QUARTER, after=after
    ).notes
    [said] = [note for note in notes if "busier" in note]
    assert said.startswith("before: pool 'a' was busy for 900 GPU-seconds more")
