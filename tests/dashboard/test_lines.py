"""Lines have a label each, and their rounded money adds up."""

from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.lines import (
    idle_cost,
    labelled,
    other_currencies,
    total_cost,
    with_rounded_cost,
)
from dashboard.rounding import rounded

SCHEMA = {
    "line": pl.String,
    "endpoint": pl.String,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
}


def frame_of(*rows: tuple[str, str | None, str | None, str | None]) -> pl.DataFrame:
    cells: list[tuple[Any, ...]] = [
        (line, endpoint, None if cost is None else Decimal(cost), currency)
        for line, endpoint, cost, currency in rows
    ]
    return pl.DataFrame(cells, schema=SCHEMA, orient="row")


def test_a_group_has_its_name_and_every_other_line_says_what_it_is() -> None:
    frame = frame_of(
        ("calls", "/chat", "1", "USD"),
        ("unattributed", None, "1", "USD"),
        ("idle", None, "1", "USD"),
        ("unpriced", None, None, None),
    )
    assert labelled(frame, ("endpoint",))["label"].to_list() == [
        "/chat",
        "unattributed",
        "idle",
        "unpriced",
    ]


def test_idle_is_the_same_amount_however_the_calls_are_grouped() -> None:
    idle = ("idle", None, "0.005", "USD")
    by_endpoint = frame_of(idle, ("calls", "/a", "0.004", "USD"), ("calls", "/b", "0.004", "USD"))
    by_team = frame_of(idle, ("calls", "search", "0.008", "USD"))
    assert idle_cost(by_endpoint, "USD") == idle_cost(by_team, "USD") == Decimal("0.000")
    assert total_cost(by_endpoint, "USD") == total_cost(by_team, "USD") == Decimal("0.01")


def test_yen_and_dollars_are_rounded_apart_and_never_added() -> None:
    frame = frame_of(("calls", "/a", "1.5", "JPY"), ("calls", "/b", "1.005", "USD"))
    assert with_rounded_cost(frame)["rounded_cost"].to_list() == [Decimal("2"), Decimal("1.000")]
    assert total_cost(frame, "USD") == Decimal("1.00")
    assert other_currencies(frame, "USD") == {"JPY": Decimal("2")}


def test_a_line_without_a_price_stays_without_money() -> None:
    frame = frame_of(("calls", "/a", "1", "USD"), ("unpriced", None, None, None))
    assert with_rounded_cost(frame)["rounded_cost"].to_list() == [Decimal("1"), None]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["calls", "idle", "unattributed"]),
            st.none(),
            st.decimals(0, 1000, places=9).map(str),
            st.just("USD"),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_rounded_lines_add_up_to_the_rounded_bill(
    rows: list[tuple[str, str | None, str | None, str | None]],
) -> None:
    frame = frame_of(*rows)
    bill = rounded(sum((Decimal(str(row[2])) for row in rows), Decimal(0)), 2)
    assert sum(with_rounded_cost(frame)["rounded_cost"]) == total_cost(frame, "USD") == bill
