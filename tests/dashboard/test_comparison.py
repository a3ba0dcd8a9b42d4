"""Two periods side by side: lines, letters, and what moved the bill."""

from decimal import Decimal
from typing import Any

import polars as pl

from dashboard.comparison import compared_lines, letter_cards, letter_values
from dashboard.moves import Move, moves_of

LAW = {
    "line": pl.String,
    "endpoint": pl.String,
    "basis": pl.String,
    "N": pl.Int64,
    "Tp_s": pl.Float64,
    "L_tokens": pl.Float64,
    "Td_s": pl.Float64,
    "B": pl.Float64,
    "price_per_gpu_hour": pl.Decimal(38, 9),
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "share_ratio": pl.Float64,
}
EFFECTS = ("p", "N", "Tp", "L", "Td", "B", "tokens")


def lines(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = {"line": "calls", "basis": "gpu", "currency": "USD"}
    return pl.DataFrame([usual | row for row in rows], schema=LAW)


def explained(*rows: dict[str, Any]) -> pl.DataFrame:
    money = ("cost_from", "cost_to", "change", *[f"{letter}_effect" for letter in EFFECTS])
    schema = {"line": pl.String, "basis": pl.String, "currency": pl.String} | {
        name: pl.Decimal(38, 9) for name in money
    }
    usual = {"line": "calls", "basis": "gpu", "currency": "USD"}
    amounts = [
        {key: Decimal(value) if key in money else value for key, value in row.items()}
        for row in rows
    ]
    return pl.DataFrame([usual | row for row in amounts], schema=schema)


def test_a_line_stands_beside_what_it_cost_before() -> None:
    now = lines(
        {"endpoint": "/a", "cost": Decimal("30"), "share_ratio": 0.6},
        {"endpoint": "/new", "cost": Decimal("20"), "share_ratio": 0.4},
    )
    before = lines(
        {"endpoint": "/a", "cost": Decimal("20")}, {"endpoint": "/gone", "cost": Decimal("5")}
    )
    assert compared_lines(now, before, "endpoint", "USD").rows() == [
        ("/a", Decimal("30.000"), 0.6, Decimal("20.000"), Decimal("10.000"), 0.5),
        ("/new", Decimal("20.000"), 0.4, None, Decimal("20.000"), None),
        ("/gone", None, None, Decimal("5.000"), Decimal("-5.000"), -1.0),
    ]


def test_a_line_that_is_paid_in_two_ways_is_one_line() -> None:
    now = lines(
        {"endpoint": "/a", "cost": Decimal("1"), "share_ratio": 0.5},
        {"endpoint": "/a", "cost": Decimal("1"), "share_ratio": 0.5, "basis": "token"},
    )
    assert compared_lines(now, None, "endpoint", "USD").rows() == [("/a", Decimal("2.000"), 1.0)]


def test_the_six_letters_carry_their_change_and_what_it_did_to_the_cost() -> None:
    now = lines(
        {
            "N": 110,
            "Tp_s": 0.5,
            "L_tokens": 200.0,
            "Td_s": 0.02,
            "B": 4.0,
            "price_per_gpu_hour": Decimal("3"),
        }
    )
    values = letter_values(now, "USD")
    cards = letter_cards(values, values | {"N": 100.0}, {"N": Decimal("12.5")}, "USD")
    assert [card.title for card in cards] == [
        "p, USD/GPU-hour",
        "N, calls",
        "Tp, s",
        "L, tokens",
        "Td, s per token",
        "B, calls at once",
    ]
    assert [card.value for card in cards] == ["3", "110", "0.5", "200", "0.02", "4"]
    assert (cards[1].change, cards[1].effect) == ("+10.0\u00a0%", "+12.50")
    assert (cards[0].change, cards[0].effect) == ("+0.0\u00a0%", "")


def test_letters_are_not_known_where_no_call_is_charged_by_gpu_seconds() -> None:
    assert letter_values(lines({"basis": "token", "N": 3}), "USD") == {}


def test_moves_add_up_to_the_change_of_the_rounded_bills() -> None:
    frame = explained(
        {
            "cost_from": "10.004",
            "cost_to": "13.337",
            "change": "3.333",
            "N_effect": "4.444",
            "B_effect": "-1.111",
        },
        {"line": "idle", "cost_from": "5.004", "cost_to": "4.003", "change": "-1.001"},
        {"line": "new", "cost_from": "0", "cost_to": "2.5", "change": "2.5"},
        {
            "basis": "token",
            "cost_from": "1",
            "cost_to": "1.5",
            "change": "0.5",
            "N_effect": "0.2",
            "tokens_effect": "0.3",
        },
        {
            "line": "total",
            "cost_from": "16.008",
            "cost_to": "21.34",
            "change": "5.332",
            "N_effect": "4.644",
            "B_effect": "-1.111",
            "tokens_effect": "0.3",
        },
    )
    moves = moves_of(frame, "USD")
    assert [(move.cause, move.cost) for move in moves] == [
        ("N", Decimal("4.64")),
        ("B", Decimal("-1.11")),
        ("tokens", Decimal("0.30")),
        ("new", Decimal("2.50")),
        ("idle", Decimal("-1.00")),
    ]
    assert sum(move.cost for move in moves) == Decimal("21.34") - Decimal("16.01")


def test_what_did_not_move_is_no_bar() -> None:
    moved = {"cost_from": "1", "cost_to": "2", "change": "1", "p_effect": "1"}
    frame = explained(moved, moved | {"line": "total"})
    assert moves_of(frame, "USD") == [Move(cause="p", name="p, price", cost=Decimal("1.00"))]
