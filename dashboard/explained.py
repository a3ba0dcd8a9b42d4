"""The answer of `explain` rounded for reading: what is shown of each column adds up to its total.

Owns which identity holds after rounding: cells to the total of their column, `cost_from` plus
`change` to `cost_to` in each row, and the effects of the total row, with the changes of the lines
that have no letter, to its change. Refuses to hide the rest: the effects of one line may miss its
change by the rounding.
"""

from decimal import Decimal

import polars as pl

from analysis.explain import COST_COLUMNS, EFFECT_COLUMNS, IDLE_EFFECT_COLUMNS, MIX_COLUMNS
from analysis.money import total_of
from analysis.moves import EFFECTS
from dashboard.lines import with_rounded_cost
from dashboard.moves import moves_of
from dashboard.rounding import decimals_of, rounded_to_total

MILLIONTHS = 6
ROUNDED_NOTE = (
    "cells are rounded so that each column adds up to its total; "
    "the effects of one line may miss its change by the rounding"
)


def rounded_explanation(explained: pl.DataFrame) -> pl.DataFrame:
    """`explained` with all money rounded, to millionths where all of it is below 1.

    Its rows are in their order, its totals after the lines that they are of.
    """
    money = (*COST_COLUMNS, *EFFECT_COLUMNS, *IDLE_EFFECT_COLUMNS, *MIX_COLUMNS)
    is_small = not any((explained[name].abs() >= 1).any() for name in money)
    numbered = explained.with_row_index("place")
    parts = [
        _of_currency(of_currency, currency, MILLIONTHS if is_small else decimals_of(currency))
        for (currency,), of_currency in numbered.group_by("currency", maintain_order=True)
    ]
    found = pl.concat(parts).sort("place").drop("place")
    scale = MILLIONTHS if is_small else max(map(decimals_of, explained["currency"].unique()))
    return found.with_columns(pl.col(money).cast(pl.Decimal(38, scale)))


def _of_currency(rows: pl.DataFrame, currency: str, digits: int) -> pl.DataFrame:
    is_total = pl.col("line") == "total"
    lines, total = rows.filter(~is_total), rows.filter(is_total)
    columns: dict[str, list[Decimal | None]] = {}
    for name in ("cost_from", "cost_to"):
        costs = with_rounded_cost(lines.with_columns(cost=pl.col(name)), {currency: digits})
        cells = costs["rounded_cost"].to_list()
        columns[name] = [*cells, total_of(cells)]
    for name, amount in _effects_of_total(rows, total, currency, digits).items():
        columns[name] = [*rounded_to_total(lines[name].to_list(), digits, total=amount), amount]
    mix = rounded_to_total(lines["mix_effect"].to_list(), digits)
    columns["mix_effect"] = [*mix, total_of(mix)]
    columns["volume_effect"] = [
        None if part is None or whole is None else whole - part
        for whole, part in zip(columns["N_effect"], columns["mix_effect"], strict=True)
    ]
    money = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Decimal(38, 9)))
    rounded = pl.concat([lines, total]).with_columns(money.get_columns())
    return rounded.with_columns(change=pl.col("cost_to") - pl.col("cost_from"))


def _effects_of_total(
    rows: pl.DataFrame, total: pl.DataFrame, currency: str, digits: int
) -> dict[str, Decimal | None]:
    """The effects of the row of totals: those of the moves, which add up to its change."""
    moves = {move.cause: move.cost for move in moves_of(rows, currency, digits)}
    of_letters = {
        f"{letter}_effect": moves.get(letter, Decimal(0))
        if total[f"{letter}_effect"][0] is not None
        else None
        for letter in EFFECTS
    }
    exact = [total[name][0] for name in IDLE_EFFECT_COLUMNS]
    of_idle = rounded_to_total(exact, digits, total=moves.get("idle", Decimal(0)))
    return of_letters | dict(zip(IDLE_EFFECT_COLUMNS, of_idle, strict=True))
