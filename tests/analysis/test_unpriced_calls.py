"""Calls without a price can be listed first, whatever kept them from having one."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.calls import calls
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
POOLS = (Pool(name="a", price_per_gpu_hour=Decimal("3.60")), Pool(name="free"))
CONFIGURATION = Configuration(pools=POOLS)

LedgerOf = Callable[..., Ledger]


def call(name: str, start: int, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "pool": "a",
        "replica": name,
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + start * S,
        "started_at": MIDNIGHT + start * S,
        "first_token_at": MIDNIGHT + (start + 1) * S,
        "ended_at": MIDNIGHT + (start + 2) * S,
    } | columns


def test_calls_without_a_price_come_first_the_earliest_before_the_others(
    ledger_of: LedgerOf,
) -> None:
    given = (
        call("1", 0),
        call("2", 10, pool="free"),
        call("3", 20),
        call(
            "4",
            30,
            pool=None,
            model="no-such-model",
            timing_source="stream",
            uncached_input_tokens=1,
            visible_output_tokens=1,
        ),
    )
    frame = calls(ledger_of(given, CONFIGURATION), CONFIGURATION, order="unpriced").frame
    assert frame.select("started_at", "unpriced_reason").rows() == [
        ("2026-10-05T00:00:10.000000000+00:00", "the pool has no price"),
        (
            "2026-10-05T00:00:30.000000000+00:00",
            "neither a pool nor a price by the token is known for its model",
        ),
        ("2026-10-05T00:00:00.000000000+00:00", None),
        ("2026-10-05T00:00:20.000000000+00:00", None),
    ]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"uncached_input_tokens": None}, "its input tokens are not known"),
        ({"visible_output_tokens": None}, "its output tokens are not known"),
        ({"arrived_at": None}, "its times are not known"),
        ({}, "neither a pool nor a price by the token is known for its model"),
    ],
)
def test_the_reason_names_what_is_missing(
    ledger_of: LedgerOf, columns: dict[str, Any], reason: str
) -> None:
    rented = {
        "call_id": "1",
        "model": "no-such-model",
        "arrived_at": MIDNIGHT,
        "uncached_input_tokens": 1,
        "visible_output_tokens": 1,
    }
    given = {name: value for name, value in (rented | columns).items() if value is not None}
    frame = calls(ledger_of([given], CONFIGURATION), CONFIGURATION).frame
    assert frame["unpriced_reason"].to_list() == [reason]
