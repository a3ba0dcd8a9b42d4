"""Identities of the law on generated traffic: nothing is lost, counted twice, or left over."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.columns import COHORT_COLUMNS, TIME_COLUMNS
from analysis.errors import NoDataError
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
# New York falls back on 2026-11-01, so these two months hold a 25-hour day.
FIRST = datetime(2026, 10, 1, tzinfo=UTC)
BEGIN = int(FIRST.timestamp()) * S
SPAN_S = 61 * 86_400

CONFIGURATION = Configuration(
    timezone="Asia/Tokyo",
    pools=(
        Pool(name="chat", gpus_per_replica=2, replicas=3, price_per_gpu_hour=Decimal("2.99")),
        Pool(
            name="chat",
            gpus_per_replica=4,
            replicas=2,
            price_per_gpu_hour=Decimal("3.4375"),
            effective_from=FIRST + timedelta(days=20, hours=5, minutes=7),
        ),
        Pool(
            name="batch",
            price_per_gpu_hour=Decimal("1.1"),
            schedule=("mon-fri 08:00-20:00",),
        ),
    ),
    token_prices=(
        TokenPrice(
            model="rented",
            input_per_mtok=Decimal("0.15"),
            output_per_mtok=Decimal("0.6"),
            currency="EUR",
        ),
    ),
)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """One call of any kind: measured or estimated, on a pool, rented, unpriced or broken."""
    start = BEGIN + draw(st.integers(0, SPAN_S * 10)) * (S // 10)
    queue, prefill, decode = (draw(st.integers(0, 40_000)) * 1_000_000 for _ in range(3))
    output = draw(st.one_of(st.none(), st.integers(0, 500)))
    kind = draw(st.sampled_from(["engine", "engine", "engine", "span", "rented", "broken"]))
    row: dict[str, Any] = {
        "endpoint": draw(st.sampled_from(["/chat", "/rag", None])),
        "team": draw(st.sampled_from(["search", "ads", None])),
        "user_id": draw(st.sampled_from(["u1", "u2", None])),
        "model": "m",
        "pool": draw(st.sampled_from(["chat", "chat", "batch", "unconfigured"])),
        "replica": draw(st.sampled_from(["r0", "r1", None])),
        "timing_source": "engine",
        "arrived_at": start - queue,
        "started_at": start,
        "first_token_at": start + prefill,
        "ended_at": start + prefill + decode,
        "uncached_input_tokens": draw(st.integers(0, 3_000)),
        "visible_output_tokens": output,
    }
    if kind == "span":
        row |= {"timing_source": "span", "started_at": None, "first_token_at": None}
    elif kind == "rented":
        row |= {"pool": None, "replica": None, "model": "rented", "timing_source": "stream"}
    elif kind == "broken":
        row["ended_at"] = start - queue - S
    return {key: value for key, value in row.items() if value is not None}


QUARTERS = st.integers(1, SPAN_S // 900 - 1).map(lambda number: number * 900 * S)
TRAFFIC = st.lists(calls(), min_size=1, max_size=12).map(
    lambda rows: [row | {"call_id": str(number)} for number, row in enumerate(rows)]
)
ONCE = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])


def has_calls(ledger: Ledger) -> bool:
    return bool(ledger.connection.execute("select count(*) from call_rows").fetchall()[0][0])


def sums(frame: pl.DataFrame) -> dict[str, float]:
    columns = ("N", "input_tokens", "output_tokens", "gpu_seconds")
    busy = frame.filter(pl.col("line") != "idle")
    return {column: busy[column].sum() for column in columns}


def bills(frame: pl.DataFrame) -> dict[str, Decimal]:
    found: dict[str, Decimal] = defaultdict(Decimal)
    for currency, cost in frame.select("currency", "cost").drop_nulls().rows():
        found[currency] += cost
    return found


@given(
    traffic=TRAFFIC,
    by=st.lists(
        st.sampled_from([*COHORT_COLUMNS, "user_id", *TIME_COLUMNS]), max_size=2, unique=True
    ),
)
@ONCE
def test_the_letters_of_every_line_multiply_to_its_cost(
    ledger_of: LedgerOf, traffic: list[dict[str, Any]], by: list[str]
) -> None:
    if sum(column in TIME_COLUMNS for column in by) > 1:
        by = by[:1]
    frame = law(ledger_of(traffic, CONFIGURATION), CONFIGURATION, by=by).frame
    for row in frame.filter(pl.col("basis") == "gpu", pl.col("line") != "idle").to_dicts():
        if row["N"] and row["Td_s"] is not None and row["cost"] is not None:
            product = row["N"] * (row["Tp_s"] + row["L_tokens"] * row["Td_s"]) / row["B"]
            assert product == pytest.approx(row["gpu_seconds"], rel=1e-9)
            cost = float(row["price_per_gpu_hour"]) / 3600 * product
            assert cost == pytest.approx(float(row["cost"]), rel=1e-6, abs=2e-9)


@given(traffic=TRAFFIC, by=st.sampled_from(["team", "pool", "user_id", "day", "status", "hour"]))
@ONCE
def test_any_grouping_has_the_same_sums_as_none(
    ledger_of: LedgerOf, traffic: list[dict[str, Any]], by: str
) -> None:
    ledger = ledger_of(traffic, CONFIGURATION)
    whole = law(ledger, CONFIGURATION, by=()).frame
    grouped = law(ledger, CONFIGURATION, by=(by,)).frame
    assert sums(grouped) == pytest.approx(sums(whole), rel=1e-12, abs=1e-9)
    assert bills(grouped) == pytest.approx(bills(whole), abs=Decimal("1e-8"))
    assert sum(whole["N"].drop_nulls()) == len(traffic)


@given(traffic=TRAFFIC, cut=st.one_of(QUARTERS, st.floats(0, 1)))
@ONCE
def test_two_halves_of_a_window_add_up_to_the_whole(
    ledger_of: LedgerOf, traffic: list[dict[str, Any]], cut: float
) -> None:
    ledger = ledger_of(traffic, CONFIGURATION)
    first = traffic[0]
    inside = first["arrived_at"] + int(cut * abs(first["ended_at"] - first["arrived_at"]))
    at = BEGIN + cut if isinstance(cut, int) else inside
    begin, end = BEGIN - 86_400 * S, BEGIN + (SPAN_S + 86_400) * S
    whole = law(ledger, CONFIGURATION, window=Window(since=begin, until=end)).frame
    halves = [
        answer
        for since, until in ((begin, at), (at, end))
        if (answer := lines_between(ledger, since, until)) is not None
    ]
    assert sums(pl.concat(halves)) == pytest.approx(sums(whole), rel=1e-12, abs=1e-9)
    if len(halves) == 2:
        assert bills(pl.concat(halves)) == pytest.approx(bills(whole), abs=Decimal("1e-8"))


def lines_between(ledger: Ledger, since: int, until: int) -> pl.DataFrame | None:
    try:
        return law(ledger, CONFIGURATION, window=Window(since=since, until=until)).frame
    except NoDataError:
        return None
