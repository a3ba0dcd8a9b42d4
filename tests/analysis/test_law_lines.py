"""The lines of the law, worked by hand on a GPU that costs 3.60 an hour, a thousandth a second."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.calls import calls as calls_of
from analysis.errors import NoDataError, WrongQuestionError
from analysis.law import law
from analysis.lines import IdleSums, idle_lines
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
QUARTER = Window(since=MIDNIGHT, until=MIDNIGHT + 900 * S)
POOL = Pool(name="a", price_per_gpu_hour=Decimal("3.60"))
CONFIGURATION = Configuration(pools=(POOL,))

LedgerOf = Callable[..., Ledger]


def call(name: str, start: float, first: float, end: float, **columns: Any) -> dict[str, Any]:
    """A call on pool a with 100 input and 10 output tokens; times in seconds after midnight."""
    return {
        "call_id": name,
        "endpoint": "/chat",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT + int(start * S),
        "started_at": MIDNIGHT + int(start * S),
        "first_token_at": MIDNIGHT + int(first * S),
        "ended_at": MIDNIGHT + int(end * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


# Alone for 2 s, together for 2 s, alone for 2 s: 3 GPU-seconds each.
OVERLAPPING = (call("1", 0, 1, 4), call("2", 2, 3, 6, endpoint="/rag"))


def test_calls_and_idle_add_up_to_the_bill_of_the_quarter_hour(ledger_of: LedgerOf) -> None:
    answer = law(ledger_of(OVERLAPPING, CONFIGURATION), CONFIGURATION, window=QUARTER)
    rows = answer.frame.to_dicts()
    assert [(row["line"], row["endpoint"], row["cost"]) for row in rows] == [
        ("idle", None, Decimal("0.894")),
        ("calls", "/chat", Decimal("0.003")),
        ("calls", "/rag", Decimal("0.003")),
    ]
    assert sum(row["cost"] for row in rows) == Decimal("0.9")
    assert [row["gpu_seconds"] for row in rows] == [894, 3, 3]
    assert [row["share_ratio"] for row in rows] == pytest.approx([894 / 900, 3 / 900, 3 / 900])


def test_letters_of_one_call_are_its_own(ledger_of: LedgerOf) -> None:
    answer = law(ledger_of(OVERLAPPING, CONFIGURATION), CONFIGURATION, window=QUARTER)
    row = next(row for row in answer.frame.to_dicts() if row["endpoint"] == "/rag")
    letters = ("N", "Tp_s", "L_tokens", "Td_s", "price_per_gpu_hour")
    assert [row[letter] for letter in letters] == [1, 1.0, 10.0, 0.3, Decimal("3.6")]
    assert row["B"] == pytest.approx(4 / 3)
    assert (row["prefill_gpu_seconds"], row["decode_gpu_seconds"]) == (0.5, 2.5)
    assert (row["input_tokens"], row["output_tokens"]) == (100, 10)


def test_without_a_window_it_is_from_the_first_start_to_the_last_end(ledger_of: LedgerOf) -> None:
    answer = law(ledger_of(OVERLAPPING, CONFIGURATION), CONFIGURATION)
    assert (answer.window.since, answer.window.until) == (MIDNIGHT, MIDNIGHT + 6 * S)
    idle = answer.frame.row(by_predicate=pl.col("line") == "idle", named=True)
    assert (idle["gpu_seconds"], idle["cost"]) == (0, 0)


def test_cost_of_an_unknown_group_is_unattributed(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([OVERLAPPING[0], call("2", 2, 3, 6, team="search")], CONFIGURATION)
    rows = law(ledger, CONFIGURATION, by=("team",)).frame.to_dicts()
    found = {row["line"]: (row["team"], row["cost"]) for row in rows}
    assert found["unattributed"] == (None, Decimal("0.003"))
    assert found["calls"] == ("search", Decimal("0.003"))


def test_a_pool_without_a_price_has_gpu_seconds_and_no_money(ledger_of: LedgerOf) -> None:
    calls = [call("1", 0, 1, 4, pool="b"), call("2", 0, 1, 4)]
    answer = law(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    rows = [row for row in answer.frame.to_dicts() if row["line"] == "calls"]
    assert [(row["cost"], row["currency"], row["gpu_seconds"]) for row in rows] == [
        (Decimal("0.004"), "USD", 4.0),
        (None, None, 4.0),
    ]
    assert any("not configured" in note and note.endswith(": b") for note in answer.notes)


def test_a_refused_call_is_counted_and_costs_nothing(ledger_of: LedgerOf) -> None:
    refused = call("2", 2, 3, 6, started_at=None, first_token_at=None, visible_output_tokens=0)
    refused |= {"http_status": 429, "status": "error", "timing_source": "span"}
    answer = law(
        ledger_of([call("1", 0, 1, 4), refused], CONFIGURATION), CONFIGURATION, by=("status",)
    )
    found = {row["status"]: row for row in answer.frame.to_dicts() if row["line"] == "calls"}
    counted = ("N", "basis", "gpu_seconds", "cost")
    assert [found["error"][name] for name in counted] == [1, "gpu", 0.0, 0]
    assert [found["ok"][name] for name in counted] == [1, "gpu", 4.0, Decimal("0.004")]


def test_currencies_are_never_added(ledger_of: LedgerOf) -> None:
    price = TokenPrice(
        model="rented", input_per_mtok=Decimal(10), output_per_mtok=Decimal(100), currency="EUR"
    )
    configuration = Configuration(pools=(POOL,), token_prices=(price,))
    rented = call("2", 2, 3, 6, pool=None, replica=None, model="rented", timing_source="stream")
    rows = law(ledger_of([OVERLAPPING[0], rented], configuration), configuration).frame.to_dicts()
    found = {(row["line"], row["basis"]): row for row in rows}
    # 100 input at 10 and 10 output at 100 a million tokens: 0.001 + 0.001.
    token = found["calls", "token"]
    assert (token["cost"], token["currency"]) == (Decimal("0.002"), "EUR")
    assert (token["N"], token["gpu_seconds"], token["Tp_s"], token["B"]) == (1, None, None, None)
    assert token["share_ratio"] == 1.0
    gpu = found["calls", "gpu"]
    assert (gpu["cost"], gpu["currency"]) == (Decimal("0.004"), "USD")


def test_calls_whose_times_contradict_each_other_are_unpriced_with_their_tokens(
    ledger_of: LedgerOf,
) -> None:
    broken = call("2", 6, 3, 2, endpoint="/rag")
    answer = law(ledger_of([OVERLAPPING[0], broken], CONFIGURATION), CONFIGURATION)
    row = answer.frame.row(by_predicate=pl.col("line") == "unpriced", named=True)
    found = (row["endpoint"], row["N"], row["input_tokens"], row["output_tokens"], row["cost"])
    assert found == (None, 1, 100, 10, None)
    assert any("1 unpriced call, coverage" in note for note in answer.notes)


def test_a_filter_hides_idle_time_and_says_so(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(OVERLAPPING, CONFIGURATION)
    answer = law(ledger, CONFIGURATION, where={"endpoint": "/rag"}, window=QUARTER)
    assert answer.frame["line"].to_list() == ["calls"]
    assert answer.frame["share_ratio"].to_list() == [1.0]
    assert any("idle time is not shown" in note for note in answer.notes)


def test_a_filter_by_pool_shows_the_idle_time_of_that_pool_alone(ledger_of: LedgerOf) -> None:
    configuration = Configuration(
        pools=(POOL, Pool(name="b", replicas=2, price_per_gpu_hour=Decimal("7.20")))
    )
    ledger = ledger_of(OVERLAPPING, configuration)
    answer = law(ledger, configuration, where={"pool": "a"}, window=QUARTER)
    idle = answer.frame.filter(answer.frame["line"] == "idle")
    assert idle.select("pool", "cost").rows() == [("a", Decimal("0.894"))]


def test_a_pool_without_a_call_is_idle_all_the_time(ledger_of: LedgerOf) -> None:
    configuration = Configuration(
        pools=(POOL, Pool(name="b", replicas=2, price_per_gpu_hour=Decimal("7.20")))
    )
    answer = law(ledger_of(OVERLAPPING, configuration), configuration, window=QUARTER)
    idle = answer.frame.filter(answer.frame["line"] == "idle")
    assert idle.select("pool", "gpu_seconds", "cost").rows() == [
        ("b", 1800.0, Decimal("3.6")),
        ("a", 894.0, Decimal("0.894")),
    ]


def test_more_replicas_than_configured_make_idle_time_negative(ledger_of: LedgerOf) -> None:
    calls = [call("1", 0, 1, 900), call("2", 0, 1, 900, replica="r1")]
    answer = law(ledger_of(calls, CONFIGURATION), CONFIGURATION, window=QUARTER)
    idle = answer.frame.row(by_predicate=pl.col("line") == "idle", named=True)
    assert (idle["gpu_seconds"], idle["cost"]) == (-900, Decimal("-0.9"))
    said = "pool 'a' was busy for 900 GPU-seconds more than is provisioned"
    assert any(note.startswith(said) and "`gpuledger check`" in note for note in answer.notes)


def test_replays_are_not_production_unless_asked_for(ledger_of: LedgerOf) -> None:
    replay = call("2", 2, 3, 6, origin="replay", scenario="s", arm="baseline", model="m", pool=None)
    ledger = ledger_of([OVERLAPPING[0], replay], CONFIGURATION)
    assert law(ledger, CONFIGURATION).frame["N"].sum() == 1
    answer = law(ledger, CONFIGURATION, by=("arm",), where={"origin": "replay"})
    assert answer.frame.select("line", "arm", "N").rows() == [("calls", "baseline", 1)]


def test_a_call_counts_where_it_starts_and_its_seconds_where_they_pass(
    ledger_of: LedgerOf,
) -> None:
    # 100 s before the hour ends and 50 s after it, alone: 150 GPU-seconds.
    crossing = call("1", 3500, 3550, 3650, endpoint="/chat")
    ledger = ledger_of([crossing], CONFIGURATION)
    frame = law(ledger, CONFIGURATION, by=("hour",)).frame
    rows = frame.filter(frame["line"] == "calls").to_dicts()
    assert [(row["hour"], row["N"], row["gpu_seconds"]) for row in rows] == [
        ("2026-10-05T00:00+00:00", 1, 100.0),
        ("2026-10-05T01:00+00:00", 0, 50.0),
    ]
    assert [row["Tp_s"] for row in rows] == [50.0, None]
    assert [row["Td_s"] for row in rows] == [5.0, None]


def test_the_largest_pool_is_added_up_for_days(ledger_of: LedgerOf) -> None:
    """10,000 GPUs a replica, 2^31 - 1 replicas, six days: sums are far above 2^63."""
    days = 6 * 86_400
    replicas = 2**31 - 1
    huge = Pool(
        name="a",
        gpus_per_replica=10_000,
        replicas=replicas,
        price_per_gpu_hour=Decimal("9999999.999999999"),
    )
    configuration = Configuration(pools=(huge,))
    ledger = ledger_of([call("1", 0, 1, days)], configuration)
    frame = law(ledger, configuration).frame
    found = {row["line"]: row["gpu_seconds"] for row in frame.to_dicts()}
    assert found == {"calls": 10_000.0 * days, "idle": 10_000.0 * days * (replicas - 1)}
    row = calls_of(ledger, configuration).frame.row(0, named=True)
    assert row["gpu_seconds"] == 10_000.0 * days
    cost = frame.filter(pl.col("line") == "calls")["cost"].item()
    assert float(row["cost"]) == pytest.approx(float(cost), rel=1e-12)


def test_calls_before_a_pool_has_a_price_are_a_line_without_money(ledger_of: LedgerOf) -> None:
    at_one = Configuration(
        pools=(
            Pool(
                name="a",
                price_per_gpu_hour=Decimal("3.60"),
                effective_from=datetime(2026, 10, 5, 1, tzinfo=UTC),
            ),
        )
    )
    calls = [call("1", 0, 1, 4), call("2", 3600, 3601, 3604), call("3", 3700, 3701, 3704)]
    frame = law(ledger_of(calls, at_one), at_one).frame
    rows = frame.filter(frame["line"] == "calls").select("N", "cost", "gpu_seconds").rows()
    assert rows == [(2, Decimal("0.008"), 8.0), (1, None, 4.0)]


def test_groups_may_be_two_columns_a_user_and_a_day(ledger_of: LedgerOf) -> None:
    calls = [
        call("1", 0, 1, 4, user_id="u1"),
        call("2", 86_400, 86_401, 86_402, user_id="u1"),
        call("3", 86_500, 86_501, 86_503, user_id="u2"),
    ]
    frame = law(ledger_of(calls, CONFIGURATION), CONFIGURATION, by=("user_id", "day")).frame
    rows = frame.filter(frame["line"] == "calls").to_dicts()
    assert [(str(row["day"]), row["user_id"], row["cost"]) for row in rows] == [
        ("2026-10-05", "u1", Decimal("0.004")),
        ("2026-10-06", "u2", Decimal("0.003")),
        ("2026-10-06", "u1", Decimal("0.002")),
    ]


def test_one_user_can_be_asked_for(ledger_of: LedgerOf) -> None:
    calls = [
        call("1", 0, 1, 4, user_id="u1"),
        call("2", 10, 11, 12, user_id="u2"),
        call("3", 20, 21, 25),
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    assert law(ledger, CONFIGURATION, where={"user_id": "u2"}).frame["cost"].to_list() == [
        Decimal("0.002")
    ]
    unknown = law(ledger, CONFIGURATION, where={"user_id": None}).frame
    assert unknown["cost"].to_list() == [Decimal("0.005")]


def test_output_that_is_not_told_is_taken_as_the_mean_of_the_others(ledger_of: LedgerOf) -> None:
    silent = call("2", 10, 11, 14, visible_output_tokens=None)
    answer = law(ledger_of([OVERLAPPING[0], silent], CONFIGURATION), CONFIGURATION)
    row = next(row for row in answer.frame.to_dicts() if row["line"] == "calls")
    assert (row["N"], row["L_tokens"], row["output_tokens"]) == (2, 10.0, 10)
    product = row["N"] * (row["Tp_s"] + row["L_tokens"] * row["Td_s"]) / row["B"]
    assert product == pytest.approx(row["gpu_seconds"], rel=1e-12)
    assert any(note.startswith("output tokens not told: 1 call") for note in answer.notes)


def test_a_window_without_a_call_says_what_the_ledger_has(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(OVERLAPPING, CONFIGURATION)
    with pytest.raises(NoDataError, match=r"from 2026-10-05T00:00:00.* to 2026-10-05T00:00:06"):
        law(ledger, CONFIGURATION, window=QUARTER, where={"endpoint": "/none"})


def test_a_column_that_does_not_exist_is_refused_with_the_nearest(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(OVERLAPPING, CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="did you mean 'endpoint'"):
        law(ledger, CONFIGURATION, by=("endpiont",))
    with pytest.raises(WrongQuestionError, match="did you mean 'team'"):
        law(ledger, CONFIGURATION, where={"teem": "x"})


def test_a_window_that_decodes_without_tokens_says_so(ledger_of: LedgerOf) -> None:
    """A call of before decodes into the window; the one that begins there has no output."""
    calls = [
        call("1", 890, 895, 950),
        call("2", 960, 970, 970, visible_output_tokens=0),
    ]
    window = Window(since=MIDNIGHT + 900 * S, until=MIDNIGHT + 1800 * S)
    ledger = ledger_of(calls, CONFIGURATION)
    answer = law(ledger, CONFIGURATION, window=window)
    row = next(row for row in answer.frame.to_dicts() if row["line"] == "calls")
    assert [row[name] for name in ("N", "Tp_s", "L_tokens", "Td_s")] == [1, 10.0, 0.0, None]
    assert (row["gpu_seconds"], row["cost"]) == (60.0, Decimal("0.06"))
    assert any(note.startswith("Td is not defined on 1 line") for note in answer.notes)


def test_an_hour_outside_of_the_schedule_has_no_idle_line_and_a_pool_without_time_has_one() -> None:
    nothing = IdleSums(
        pool="a",
        time="2026-10-01T00",
        currency="USD",
        gpu_ps=0,
        excess_ps=0,
        cost=Decimal(0),
        provisioned_ps=0,
        provisioned_cost=Decimal(0),
        replayed_ps=0,
        replayed_cost=Decimal(0),
    )
    full = replace(nothing, time="2026-10-01T01", provisioned_ps=1)
    overrun = replace(nothing, time="2026-10-01T02", gpu_ps=-1)
    lines = idle_lines([nothing, full, overrun], ("hour",))
    assert [line.values["hour"] for line in lines] == ["2026-10-01T01", "2026-10-01T02"]
    assert len(idle_lines([replace(nothing, time=None)], ("endpoint",))) == 1
