"""The default window: from the first service start to the last end of calls with a time."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.answer import Answer
from analysis.extent import extent_of
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
OCTOBER = 1_790_812_800 * S  # 2026-10-01T00:00:00Z
CONFIGURATION = Configuration(
    pools=(Pool(name="a", models=("m",), price_per_gpu_hour=Decimal("3.60")),)
)


def call(name: str, start: int, first: int, end: int, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": name,
        "model": "m",
        "replica": "r",
        "timing_source": "engine",
        "started_at": OCTOBER + start * S,
        "first_token_at": OCTOBER + first * S,
        "ended_at": OCTOBER + end * S,
        "uncached_input_tokens": 10,
        "visible_output_tokens": 5,
    } | columns


def idle_gpu_seconds(frame: pl.DataFrame) -> float:
    seconds: float = frame.row(by_predicate=pl.col("line") == "idle", named=True)["gpu_seconds"]
    return seconds


@pytest.mark.parametrize("other", ["production", "replay"])
def test_times_that_contradict_each_other_stretch_no_window(
    ledger_of: LedgerOf, other: str
) -> None:
    centuries = 173 * 365 * 86_400
    calls = [
        call("good", 0, 1, 10),
        call("bad", 0, -1, centuries),
        call("of another origin", 0, 1, 10, origin=other),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    answer = law(ledger, CONFIGURATION)
    assert (answer.window.since, answer.window.until) == (OCTOBER, OCTOBER + 10 * S)
    assert idle_gpu_seconds(answer.frame) == 0
    assert extent_of(ledger.connection, {"origin": "production"}).call_count >= 2


def test_the_default_window_reaches_to_an_estimated_end(ledger_of: LedgerOf) -> None:
    arrived = {
        "call_id": "1",
        "endpoint": "/chat",
        "model": "m",
        "arrived_at": OCTOBER,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 1000,
    }
    answer = law(ledger_of([arrived], CONFIGURATION), CONFIGURATION)
    busy = answer.frame.row(by_predicate=pl.col("line") == "calls", named=True)["gpu_seconds"]
    # The default pace: 0.310 ms an input token, 32.370 ms an output token.
    assert busy == pytest.approx(0.3097 + 32.3699, abs=1e-3)
    assert answer.window.until == pytest.approx(OCTOBER + busy * S, abs=1)
    assert idle_gpu_seconds(answer.frame) == pytest.approx(0, abs=1e-9)


def test_days_reach_to_an_estimated_end_that_is_after_midnight(ledger_of: LedgerOf) -> None:
    arrived = {
        "call_id": "1",
        "endpoint": "/chat",
        "model": "m",
        "arrived_at": OCTOBER + 86_390 * S,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 1000,
    }
    frame = law(ledger_of([arrived], CONFIGURATION), CONFIGURATION, by=("day",)).frame
    assert None not in frame["day"]
    idle = frame.filter(pl.col("line") == "idle")
    assert idle["gpu_seconds"].to_list() == pytest.approx([0, 0], abs=1e-9)


def test_a_call_that_tells_only_its_end_is_counted_where_it_ended(ledger_of: LedgerOf) -> None:
    ended = {"call_id": "1", "model": "no-such-model", "ended_at": OCTOBER + 10 * S}
    ledger = ledger_of([ended, call("2", 0, 1, 10)], CONFIGURATION)
    october = Window.month("2026-10", "UTC")
    months = law(ledger, CONFIGURATION, by=("month",)).frame
    assert set(months["month"]) == {"2026-10"}
    assert months["N"].sum() == 2
    assert law(ledger, CONFIGURATION, window=october).frame["N"].sum() == 2


def window_note(answer: Answer) -> str:
    [said] = [note for note in answer.notes if note.startswith("window: ")]
    return said


def test_the_note_says_what_the_default_window_is_taken_from_and_how_to_ask_for_a_month(
    ledger_of: LedgerOf,
) -> None:
    ledger = ledger_of([call("1", 60, 61, 70)], CONFIGURATION)
    tokyo = Configuration(pools=CONFIGURATION.pools, timezone="Asia/Tokyo")
    assert window_note(law(ledger, tokyo)) == (
        "window: 2026-10-01T09:01:00+09:00 to 2026-10-01T09:01:10+09:00 (Asia/Tokyo), from the "
        "first service start to the last end of the ledger's production calls; idle time outside "
        "it is not counted; for a whole month: --since 2026-10 --until 2026-11"
    )


def test_the_note_says_which_bound_was_taken(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("1", 0, 1, 10)], CONFIGURATION)
    since, until = Window(since=OCTOBER - S), Window(until=OCTOBER + 60 * S)
    assert "(UTC), to the last end of" in window_note(law(ledger, CONFIGURATION, window=since))
    assert "(UTC), from the first service start of" in window_note(
        law(ledger, CONFIGURATION, window=until)
    )


def test_the_note_of_a_month_is_that_month(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("1", 0, 1, 10)], CONFIGURATION)
    october = Window.month("2026-10", "UTC")
    assert window_note(law(ledger, CONFIGURATION, window=october)) == (
        "window: 2026-10-01T00:00:00+00:00 to 2026-11-01T00:00:00+00:00 (UTC)"
    )


@pytest.mark.parametrize(
    ("first_day", "last_day", "months"),
    [
        pytest.param(3, 20, "--since 2026-10 --until 2026-11", id="the month that runs"),
        pytest.param(-9, 20, "--since 2026-09 --until 2026-10", id="the month that is over"),
        pytest.param(-40, 31, "--since 2026-10 --until 2026-11", id="a month to its last instant"),
        pytest.param(-40, -35, "--since 2026-08 --until 2026-09", id="a month of the past"),
    ],
)
def test_the_month_to_ask_for_is_the_newest_that_is_over(
    ledger_of: LedgerOf, first_day: int, last_day: int, months: str
) -> None:
    day, end = 86_400, last_day * 86_400
    calls = [
        call("1", first_day * day, first_day * day + 1, first_day * day + 10),
        call("2", end - 10, end - 9, end),
    ]
    answer = law(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    assert window_note(answer).endswith(f"for a whole month: {months}")
