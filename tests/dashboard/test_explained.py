"""The table of `explain`: rounded cells add up to the total of their column."""

from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.explain import COST_COLUMNS, EFFECT_COLUMNS, IDLE_EFFECT_COLUMNS, MIX_COLUMNS
from dashboard.explained import rounded_explanation
from dashboard.moves import moves_of

MONEY = (*COST_COLUMNS, *EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS, *MIX_COLUMNS)
SCHEMA: dict[str, Any] = {"line": pl.String, "currency": pl.String} | dict.fromkeys(
    MONEY, pl.Decimal(38, 9)
)
LETTERS = EFFECT_COLUMNS[:6]
AMOUNTS = st.integers(-(10**11), 10**11).map(lambda units: Decimal(units).scaleb(-9))


def row(line: str, cost_from: Decimal, effects: dict[str, Decimal], **cells: Any) -> dict[str, Any]:
    change = cells.pop("change", sum(effects.values(), Decimal(0)))
    return {
        "line": line,
        "currency": "USD",
        "cost_from": cost_from,
        "cost_to": cost_from + change,
        "change": change,
        **effects,
        **cells,
    }


def with_total(rows: list[dict[str, Any]]) -> pl.DataFrame:
    sums = {
        name: sum(known)
        for name in MONEY
        if (known := [each[name] for each in rows if each.get(name) is not None])
    }
    return pl.DataFrame([*rows, {"line": "total", "currency": "USD", **sums}], schema=SCHEMA)


ROWS = st.lists(
    st.one_of(
        st.builds(
            lambda cost, effects, mix: row(
                "calls",
                cost,
                dict(zip(LETTERS, effects, strict=True)),
                mix_effect=mix,
                volume_effect=effects[1] - mix,
            ),
            AMOUNTS,
            st.lists(AMOUNTS, min_size=6, max_size=6),
            AMOUNTS,
        ),
        st.builds(
            lambda cost, effects: row(
                "idle", cost, dict(zip(IDLE_EFFECT_COLUMNS, effects, strict=True))
            ),
            AMOUNTS,
            st.lists(AMOUNTS, min_size=3, max_size=3),
        ),
        st.builds(lambda cost: row("new", Decimal(0), {}, change=cost), AMOUNTS),
    ),
    min_size=1,
    max_size=8,
)


@given(rows=ROWS)
@settings(deadline=None)
def test_each_column_adds_up_and_so_do_the_costs_of_a_row(rows: list[dict[str, Any]]) -> None:
    exact = with_total(rows)
    shown = rounded_explanation(exact)
    lines, total = shown.filter(pl.col("line") != "total"), shown.filter(pl.col("line") == "total")
    for name in MONEY:
        assert lines[name].sum() == (total[name][0] or 0), name
        for cell, amount in zip(shown[name], exact[name], strict=True):
            assert (cell is None) == (amount is None)
            assert cell is None or abs(cell - amount) <= Decimal("0.04")
    for each in shown.to_dicts():
        if each["mix_effect"] is not None:
            assert each["volume_effect"] + each["mix_effect"] == each["N_effect"]
    assert (shown["cost_from"] + shown["change"]).equals(shown["cost_to"], check_dtypes=False)
    effects = [total[name][0] for name in (*EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS)]
    digits = 2 if (shown["change"].dtype == pl.Decimal(38, 2)) else 6
    moves = {move.cause: move.cost for move in moves_of(exact, "USD", digits)}
    moved = sum(effect for effect in effects if effect is not None)
    assert moved + moves.get("new", 0) == total["change"][0]


def test_thirds_of_a_cent_are_shown_as_whole_cents_that_add_up() -> None:
    third = Decimal("1.333333333")
    shown = rounded_explanation(
        with_total([row("calls", third, {"p_effect": third}) for _ in range(3)])
    )
    assert shown["p_effect"].to_list() == list(map(Decimal, ("1.34", "1.33", "1.33", "4.00")))
    assert shown["cost_to"].to_list() == list(map(Decimal, ("2.67", "2.67", "2.66", "8.00")))


def test_the_totals_are_the_moves_that_the_pages_show() -> None:
    exact = with_total(
        [
            row(
                "calls",
                Decimal("9.994"),
                {"p_effect": Decimal("1.004"), "N_effect": Decimal("2.004")},
            ),
            row("idle", Decimal(5), {"idle_busy_effect": Decimal("-1.003")}),
        ]
    )
    (total,) = rounded_explanation(exact).filter(pl.col("line") == "total").to_dicts()
    moves = {move.cause: move.cost for move in moves_of(exact, "USD")}
    assert (total["p_effect"], total["N_effect"]) == (moves["p"], moves["N"])
    assert total["idle_busy_effect"] == moves["idle"]
    assert sum(moves.values()) == total["change"]


def test_money_below_one_is_shown_in_millionths() -> None:
    shown = rounded_explanation(
        with_total([row("calls", Decimal("0.5"), {"p_effect": Decimal("0.123456789")})])
    )
    assert shown["p_effect"].to_list() == [Decimal("0.123457")] * 2
