"""Calls one by one: phases, GPU-seconds, money, and why there is none."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.calls import calls
from analysis.errors import WrongQuestionError
from analysis.law import law
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    timezone="Asia/Tokyo",
    pools=(Pool(name="a", price_per_gpu_hour=Decimal("3.60")),),
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(10), output_per_mtok=Decimal(100)),
    ),
)


def call(name: str, start: float, first: float, end: float, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + int((start - 0.5) * S),
        "started_at": MIDNIGHT + int(start * S),
        "first_token_at": MIDNIGHT + int(first * S),
        "ended_at": MIDNIGHT + int(end * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


@pytest.fixture
def rows(ledger_of: LedgerOf) -> dict[str, dict[str, Any]]:
    given = [
        call("1", 0, 1, 4),
        call("2", 2, 3, 6, endpoint="/rag"),
        call("3", 10, 11, 14, pool=None, model="rented", timing_source="stream"),
        call("4", 10, 11, 14, pool="unconfigured"),
        call("5", 20, 21, 5),
        call("6", 30, 31, 34, pool=None, model="nobody-knows", timing_source="stream"),
    ]
    frame = calls(ledger_of(given, CONFIGURATION), CONFIGURATION).frame
    # Ids in the ledger are derived; the names given are those of the order of arrival.
    return dict(zip(("1", "2", "3", "4", "5", "6"), frame.to_dicts(), strict=True))


def test_overlapping_calls_share_the_gpu(rows: dict[str, dict[str, Any]]) -> None:
    assert (rows["1"]["prefill_gpu_seconds"], rows["1"]["decode_gpu_seconds"]) == (1.0, 2.0)
    assert (rows["2"]["prefill_gpu_seconds"], rows["2"]["decode_gpu_seconds"]) == (0.5, 2.5)
    assert (rows["2"]["queue_s"], rows["2"]["prefill_s"], rows["2"]["decode_s"]) == (0.5, 1, 3)
    assert (rows["2"]["cost"], rows["2"]["currency"]) == (Decimal("0.003"), "USD")


def test_an_instant_is_text_in_the_zone(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["1"]["arrived_at"] == "2026-10-05T08:59:59.500000000+09:00"
    assert rows["1"]["ended_at"] == "2026-10-05T09:00:04.000000000+09:00"


def test_a_rented_call_costs_its_tokens(rows: dict[str, dict[str, Any]]) -> None:
    rented = next(row for row in rows.values() if row["model"] == "rented")
    assert (rented["basis"], rented["cost"], rented["gpu_seconds"]) == (
        "token",
        Decimal("0.002"),
        None,
    )


@pytest.mark.parametrize(
    ("model", "pool", "reason"),
    [
        (None, "unconfigured", "the pool has no price"),
        (None, "a", "its times contradict each other"),
        ("nobody-knows", None, "neither a pool nor a price by the token is known for its model"),
    ],
)
def test_a_call_without_a_price_says_why(
    rows: dict[str, dict[str, Any]], model: str | None, pool: str | None, reason: str
) -> None:
    found = [
        (row["model"], row["pool"], row["unpriced_reason"])
        for row in rows.values()
        if row["cost_status"] == "unpriced"
    ]
    assert (model, pool, reason) in found
    assert len(found) == 3


def test_calls_add_up_to_the_law(ledger_of: LedgerOf) -> None:
    given = [call(str(n), n, n + 1, n + 3 + n % 5) for n in range(20)]
    ledger = ledger_of(given, CONFIGURATION)
    frame = calls(ledger, CONFIGURATION).frame
    line = law(ledger, CONFIGURATION, by=("endpoint",)).frame.to_dicts()[0]
    assert frame["gpu_seconds"].sum() == pytest.approx(line["gpu_seconds"], rel=1e-12)
    assert float(frame["cost"].sum()) == pytest.approx(float(line["cost"]), abs=2e-8)


def test_the_dearest_come_first_when_asked_for(ledger_of: LedgerOf) -> None:
    given = [call(str(n), 100 * n, 100 * n + 1, 100 * n + 2 + n % 3) for n in range(6)]
    answer = calls(ledger_of(given, CONFIGURATION), CONFIGURATION, order="cost", limit=2)
    assert answer.frame["gpu_seconds"].to_list() == [4.0, 4.0]
    assert "the first 2 calls; raise --limit for more" in answer.notes


def test_only_the_calls_of_a_filter_are_listed(ledger_of: LedgerOf) -> None:
    given = [call("1", 0, 1, 4), call("2", 2, 3, 6, endpoint="/rag")]
    frame = calls(ledger_of(given, CONFIGURATION), CONFIGURATION, where={"endpoint": "/rag"}).frame
    assert frame["endpoint"].to_list() == ["/rag"]


def test_an_order_that_does_not_exist_is_refused(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("1", 0, 1, 4)], CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="did you mean 'started_at'"):
        calls(ledger, CONFIGURATION, order="started")
