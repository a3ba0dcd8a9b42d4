"""Which letter moved, between two months of a GPU that costs 3.60 an hour."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.errors import NoDataError, WrongQuestionError
from analysis.explain import EFFECT_COLUMNS, IDLE_EFFECT_COLUMNS, explain
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MONTHS = (Window.month("2026-09", "UTC"), Window.month("2026-10", "UTC"))
POOLS = (
    Pool(name="a", price_per_gpu_hour=Decimal("3.60")),
    Pool(
        name="a",
        price_per_gpu_hour=Decimal("7.20"),
        effective_from=datetime(2026, 10, 1, tzinfo=UTC),
    ),
)
CONFIGURATION = Configuration(pools=POOLS[:1])
DEARER = Configuration(pools=POOLS)


def call(month: int, number: int, **columns: Any) -> dict[str, Any]:
    """A call of 1 s prefill and 4 s decode of 20 tokens, alone, on the second of its month."""
    start = (MONTHS[month].since or 0) + 86_400 * S + number * 60 * S
    return {
        "call_id": f"{month}-{number}",
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "started_at": start,
        "first_token_at": start + S,
        "ended_at": start + 5 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 20,
    } | columns


def explained(
    ledger_of: LedgerOf, calls: list[dict[str, Any]], configuration: Configuration = CONFIGURATION
) -> pl.DataFrame:
    before, after = MONTHS
    return explain(ledger_of(calls, configuration), configuration, before=before, after=after).frame


def line(frame: pl.DataFrame, name: str) -> dict[str, Any]:
    return frame.row(by_predicate=pl.col("line") == name, named=True)


def test_twice_the_calls_are_all_calls(ledger_of: LedgerOf) -> None:
    frame = explained(ledger_of, [call(0, 1), call(1, 1), call(1, 2)])
    row = line(frame, "calls")
    assert (row["cost_from"], row["cost_to"]) == (Decimal("0.005"), Decimal("0.01"))
    assert row["N_effect"] == Decimal("0.005")
    assert [row[c] for c in EFFECT_COLUMNS if c != "N_effect"] == [0, 0, 0, 0, 0, None]


def test_twice_the_price_is_all_price_and_idle_time_has_a_row_of_its_own(
    ledger_of: LedgerOf,
) -> None:
    frame = explained(ledger_of, [call(0, 1), call(1, 1)], DEARER)
    assert line(frame, "calls")["p_effect"] == Decimal("0.005")
    # September has 720 hours, October 744; 5 s of each are busy.
    idle = line(frame, "idle")
    assert idle["cost_from"] == Decimal(720) * Decimal("3.6") - Decimal("0.005")
    assert idle["cost_to"] == Decimal(744) * Decimal("7.2") - Decimal("0.010")
    total = line(frame, "total")
    assert total["change"] == Decimal(744) * Decimal("7.2") - Decimal(720) * Decimal("3.6")
    assert total["p_effect"] == Decimal("0.005")


def test_more_calls_are_volume_and_a_larger_share_of_them_is_mix(ledger_of: LedgerOf) -> None:
    # Each call costs 0.005. From 2 and 2 calls to 6 and 2: twice the calls, three quarters of them.
    calls = [call(0, n, endpoint=f"/{n % 2}") for n in range(4)]
    calls += [call(1, n, endpoint="/0" if n < 6 else "/1") for n in range(8)]
    by_endpoint = {row["endpoint"]: row for row in explained(ledger_of, calls).to_dicts()}
    grown, kept = by_endpoint["/0"], by_endpoint["/1"]
    # Weights are 0.02 / ln 3 and 0.01, the growth of all calls is ln 2.
    weight = 0.02 / math.log(3)
    assert float(grown["volume_effect"]) == pytest.approx(weight * math.log(2), abs=1e-9)
    assert float(grown["mix_effect"]) == pytest.approx(weight * math.log(1.5), abs=1e-9)
    assert float(kept["volume_effect"]) == pytest.approx(0.01 * math.log(2), abs=1e-9)
    assert float(kept["mix_effect"]) == pytest.approx(0.01 * math.log(0.5), abs=1e-9)
    for row in (grown, kept):
        assert row["volume_effect"] + row["mix_effect"] == row["N_effect"]


def test_equal_growth_of_all_is_no_mix_and_what_is_new_is_none_of_it(ledger_of: LedgerOf) -> None:
    calls = [call(0, n, endpoint=f"/{n % 2}") for n in range(4)]
    calls += [call(1, n, endpoint=f"/{n % 2}") for n in range(8)]
    frame = explained(ledger_of, [*calls, call(1, 9, endpoint="/young")])
    for row in frame.filter(pl.col("line") == "calls").to_dicts():
        assert (row["mix_effect"], row["volume_effect"]) == (0, row["N_effect"])
    assert line(frame, "new")["mix_effect"] is None
    assert line(frame, "total")["mix_effect"] == 0


def test_more_output_splits_between_its_length_and_nothing_else(ledger_of: LedgerOf) -> None:
    start = call(1, 1)["started_at"]
    longer = call(1, 1, visible_output_tokens=40, ended_at=start + 9 * S)
    row = line(explained(ledger_of, [call(0, 1), longer]), "calls")
    assert row["change"] == row["L_effect"] == Decimal("0.004")


def test_endpoints_of_one_month_alone_are_new_or_retired(ledger_of: LedgerOf) -> None:
    calls = [
        call(0, 1, endpoint="/old"),
        call(0, 2),
        call(1, 1, endpoint="/young"),
        call(1, 2),
    ]
    frame = explained(ledger_of, calls)
    found = {row["endpoint"]: (row["line"], row["change"]) for row in frame.to_dicts()}
    assert found["/old"] == ("retired", Decimal("-0.005"))
    assert found["/young"] == ("new", Decimal("0.005"))
    assert found["/chat"] == ("calls", 0)


def test_calls_priced_by_the_token_move_by_price_calls_and_tokens(ledger_of: LedgerOf) -> None:
    prices = tuple(
        TokenPrice(
            model="rented", input_per_mtok=price, output_per_mtok=price, effective_from=since
        )
        for price, since in (
            (Decimal(10), None),
            (Decimal(20), datetime(2026, 10, 1, tzinfo=UTC)),
        )
    )
    configuration = Configuration(token_prices=prices)
    rented = {"pool": None, "replica": None, "model": "rented", "timing_source": "stream"}
    frame = explained(ledger_of, [call(0, 1, **rented), call(1, 1, **rented)], configuration)
    row = line(frame, "calls")
    # 120 tokens at 10, then at 20 a million.
    assert (row["cost_from"], row["cost_to"]) == (Decimal("0.0012"), Decimal("0.0024"))
    assert (row["p_effect"], row["N_effect"], row["tokens_effect"]) == (Decimal("0.0012"), 0, 0)
    assert row["Td_effect"] is None


def test_effects_of_each_row_add_up_to_its_change_to_the_last_digit(ledger_of: LedgerOf) -> None:
    calls = [
        call(month, number, endpoint=f"/{number % 3}", ended_at=end, visible_output_tokens=tokens)
        for month in (0, 1)
        for number in range(9)
        for tokens in [7 + 5 * number + 11 * month]
        for end in [call(month, number)["started_at"] + (2 + number + 3 * month) * S]
    ]
    frame = explained(ledger_of, calls, DEARER)
    for row in frame.filter(pl.col("line") == "calls").to_dicts():
        assert sum(row[column] or 0 for column in EFFECT_COLUMNS) == row["change"]
    parts = frame.filter(pl.col("line") != "total")["change"].sum()
    assert line(frame, "total")["change"] == parts


def test_decode_without_known_output_moves_by_decode_per_call(ledger_of: LedgerOf) -> None:
    silent = {"visible_output_tokens": None}
    start = call(1, 1)["started_at"]
    frame = explained(
        ledger_of, [call(0, 1, **silent), call(1, 1, ended_at=start + 9 * S, **silent)]
    )
    row = line(frame, "calls")
    assert row["change"] == row["Td_effect"] == Decimal("0.004")
    assert row["L_effect"] == 0


def test_a_month_with_neither_calls_nor_a_pool_says_what_the_ledger_has(
    ledger_of: LedgerOf,
) -> None:
    since_october = Configuration(pools=POOLS[1:])
    with pytest.raises(NoDataError, match="the ledger's 1 call reaches from 2026-10-02"):
        explained(ledger_of, [call(1, 1)], since_october)


def test_after_a_month_of_idle_time_alone_endpoints_are_new_and_the_parts_add_up(
    ledger_of: LedgerOf,
) -> None:
    before, after = MONTHS
    ledger = ledger_of([call(1, 1), call(1, 2, endpoint="/rag")], CONFIGURATION)
    answer = explain(ledger, CONFIGURATION, before=before, after=after)
    found = [(row["line"], row["endpoint"], row["change"]) for row in answer.frame.to_dicts()]
    # October has 24 hours more than September; 10 s of it are busy.
    assert found == [
        ("idle", None, 24 * Decimal("3.6") - Decimal("0.010")),
        ("new", "/chat", Decimal("0.005")),
        ("new", "/rag", Decimal("0.005")),
        ("total", None, 24 * Decimal("3.6")),
    ]
    said = "before: no calls with origin=production from 2026-09"
    assert any(note.startswith(said) for note in answer.notes)


def test_before_a_month_of_idle_time_alone_endpoints_are_retired(ledger_of: LedgerOf) -> None:
    frame = explained(ledger_of, [call(0, 1)])
    assert line(frame, "retired")["change"] == Decimal("-0.005")
    assert line(frame, "idle")["change"] == 24 * Decimal("3.6") + Decimal("0.005")
    assert line(frame, "total")["change"] == 24 * Decimal("3.6")


def test_columns_of_time_are_refused(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(0, 1), call(1, 1)], CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="no column of time"):
        explain(ledger, CONFIGURATION, before=MONTHS[0], after=MONTHS[1], by=("day",))


def test_a_price_that_did_not_move_has_no_effect_on_the_smallest_bill(ledger_of: LedgerOf) -> None:
    short, long = call(0, 1), call(1, 1)
    at = short["started_at"]
    calls = [
        short | {"first_token_at": at + 500, "ended_at": at + 1000},
        long | {"ended_at": long["started_at"] + 5 * 86_400 * S},
    ]
    pools = (Pool(name="a", price_per_gpu_hour=Decimal("2.99")),)
    row = line(explained(ledger_of, calls, Configuration(pools=pools)), "calls")
    assert row["p_effect"] == 0


PERIODS = ("2026-09", "2026-10-02", "2026-09-02/2026-09-05", "2026-09-20T01:02:03.5Z/2026-10-11")
MIXED = Configuration(
    pools=POOLS,
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(10), output_per_mtok=Decimal("0.7")),
    ),
)


@pytest.fixture(scope="module")
def mixed(ledger_of: LedgerOf) -> Ledger:
    """Two months of calls of three endpoints, on a pool that gets dearer and by the token."""
    rented = {"pool": None, "replica": None, "model": "rented", "timing_source": "stream"}
    calls = [
        call(month, n, endpoint=f"/{n % 3}", team=f"t{n % 2}", **(rented if n % 4 == 0 else {}))
        for month in (0, 1)
        for n in range(20 + 7 * month)
    ]
    return ledger_of(calls, MIXED)


@pytest.mark.parametrize("before", PERIODS)
@pytest.mark.parametrize("after", PERIODS)
def test_between_any_two_periods_the_parts_add_up_to_the_change_of_the_bill(
    mixed: Ledger, before: str, after: str
) -> None:
    by = ("endpoint", "team")
    windows = [Window.period(text, "UTC") for text in (before, after)]
    frame = explain(mixed, MIXED, before=windows[0], after=windows[1], by=by).frame
    total, rows = line(frame, "total"), frame.filter(pl.col("line") != "total")
    bills = [law(mixed, MIXED, by=by, window=window).frame["cost"].sum() for window in windows]
    assert [total["cost_from"], total["cost_to"]] == bills
    assert rows["change"].sum() == total["change"] == bills[1] - bills[0]
    for row in rows.filter(~pl.col("line").is_in(["new", "retired"])).to_dicts():
        effects = [row[name] for name in (*EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS)]
        assert sum(effect for effect in effects if effect is not None) == row["change"]
        if row["N_effect"] is not None:
            assert row["volume_effect"] + row["mix_effect"] == row["N_effect"]
