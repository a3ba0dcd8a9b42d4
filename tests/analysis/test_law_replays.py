"""Replays on a pool of production: what they use of it is neither idle nor production's."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.check import check
from analysis.explain import explain
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 1_000_000_000
START = 1_793_404_800 * S
CONFIGURATION = Configuration(pools=(Pool(name="p", price_per_gpu_hour=Decimal("3.6")),))
WINDOW = Window(since=START, until=START + 2000 * S)

LedgerOf = Callable[..., Ledger]


def call(name: str, start: int = 0, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": "p",
        "started_at": START + start * S,
        "first_token_at": START + (start + 1) * S,
        "ended_at": START + (start + 2000) * S,
        "input_tokens": 10,
        "output_tokens": 5,
    } | columns


@pytest.fixture(scope="module")
def shared(ledger_of: LedgerOf) -> Ledger:
    """A call of production and one of a replay, 2000 s side by side on one GPU."""
    return ledger_of([call("a"), call("b", origin="replay")], CONFIGURATION)


def test_the_lines_add_up_to_what_is_provisioned(shared: Ledger) -> None:
    answer = law(shared, CONFIGURATION, window=WINDOW)
    rows = answer.frame.select("line", "endpoint", "pool", "N", "gpu_seconds", "cost").rows()
    assert sorted(rows, key=str) == [
        ("calls", "/chat", None, 1, 1000.0, Decimal(1)),
        ("idle", None, "p", None, 0.0, Decimal(0)),
        ("unattributed", None, "p", None, 1000.0, Decimal(1)),
    ]
    assert any("1,000 GPU-seconds of pool 'p'" in note for note in answer.notes)


@pytest.mark.parametrize(
    "by", [(), ("pool",), ("pool", "endpoint"), ("hour",), ("endpoint", "day")]
)
def test_however_they_are_grouped(shared: Ledger, by: tuple[str, ...]) -> None:
    frame = law(shared, CONFIGURATION, by=by, window=WINDOW).frame
    assert frame["gpu_seconds"].sum() == 2000
    assert frame["cost"].sum() == 2
    assert frame["N"].sum() == 1


def test_the_replay_itself_has_its_lines_alone_and_says_why(shared: Ledger) -> None:
    answer = law(shared, CONFIGURATION, where={"origin": "replay"}, window=WINDOW)
    assert answer.frame.select("line", "N", "gpu_seconds").rows() == [("calls", 1, 1000.0)]
    assert any(note.startswith("idle time is not shown") for note in answer.notes)


def test_a_window_of_replays_alone_is_on_the_bill(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("b", origin="replay")], CONFIGURATION)
    answer = law(ledger, CONFIGURATION, window=WINDOW)
    rows = answer.frame.select("line", "gpu_seconds").rows()
    assert sorted(rows) == [("idle", 0.0), ("unattributed", 2000.0)]
    assert any("what replays did not use" in note for note in answer.notes)


def test_check_agrees(shared: Ledger) -> None:
    found = check(shared, CONFIGURATION).frame
    assert found.filter(pl.col("result") == "failed").rows() == []


def test_what_moved_adds_up_with_replays(ledger_of: LedgerOf) -> None:
    calls = [call("a"), call("b", origin="replay"), call("c", 2000), call("d", 2000)]
    ledger = ledger_of([*calls, call("e", 2000, origin="replay")], CONFIGURATION)
    after = Window(since=START + 2000 * S, until=START + 4000 * S)
    answer = explain(ledger, CONFIGURATION, before=WINDOW, after=after, by=("pool", "endpoint"))
    rows = {row["line"]: row for row in answer.frame.to_dicts()}
    assert rows["replays"]["change"] == Decimal("-0.333333333")
    assert rows["total"]["change"] == 0
