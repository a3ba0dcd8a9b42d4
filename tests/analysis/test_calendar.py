"""Hours of a day on which clocks are set back come in the order in which they passed."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from analysis.calendar import numbered_times
from analysis.idle import idle
from analysis.latency import latency
from analysis.law import law
from analysis.lengths import limits
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]
S = 1_000_000_000
MIDNIGHT_UTC = 1_792_886_400 * S  # 2026-10-25T00:00:00Z; clocks in Berlin go back at 01:00Z
WINDOW = Window.parse("2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "Europe/Berlin")
HOURS = ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"]
CONFIGURATION = Configuration(
    timezone="Europe/Berlin", pools=(Pool(name="a", price_per_gpu_hour=Decimal(1), replicas=1),)
)


@pytest.fixture
def ledger(ledger_of: LedgerOf) -> Ledger:
    calls = [
        {
            "call_id": f"{hour}",
            "endpoint": "/chat",
            "pool": "a",
            "timing_source": "engine",
            "arrived_at": MIDNIGHT_UTC + hour * 3_600 * S,
            "started_at": MIDNIGHT_UTC + hour * 3_600 * S,
            "first_token_at": MIDNIGHT_UTC + (hour * 3_600 + 1) * S,
            "ended_at": MIDNIGHT_UTC + (hour * 3_600 + 3) * S,
            "uncached_input_tokens": 100,
            "visible_output_tokens": 10,
        }
        for hour in range(3)
    ]
    return ledger_of(calls, CONFIGURATION)


@pytest.mark.parametrize("question", [law, idle, latency, limits])
def test_the_hour_that_a_clock_shows_twice_is_summer_time_first(
    ledger: Ledger, question: Callable[..., Any]
) -> None:
    frame = question(ledger, CONFIGURATION, by=("hour",), window=WINDOW).frame
    assert frame["hour"].unique(maintain_order=True).to_list() == HOURS


def test_hours_are_numbered_as_they_passed() -> None:
    quarters = [MIDNIGHT_UTC // (900 * S) + 4 * hour for hour in range(3)]
    numbered = numbered_times(quarters, "Europe/Berlin", "hour")
    assert numbered["hour"].to_list() == HOURS
    assert numbered["time_number"].to_list() == [1, 2, 3]
