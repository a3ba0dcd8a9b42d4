"""What moved the bill between two periods, as few bars as there are causes.

Owns the choice of causes: the letters by the total line of `explain`, and what no letter did, new
and retired lines and idle time. Refuses a residual: the moves add up to the change of the rounded
bills.
"""

from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from analysis.moves import EFFECTS
from dashboard.rounding import decimals_of, rounded, rounded_to_total

NAMES = {
    "p": "p, price",
    "N": "N, calls",
    "Tp": "Tp, prefill s a call",
    "L": "L, output tokens a call",
    "Td": "Td, s an output token",
    "B": "B, calls at once per GPU",
    "tokens": "tokens a call priced by the token",
    "new": "lines that are new",
    "retired": "lines that are gone",
    "replays": "replays on production's pools",
    "idle": "idle time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One cause of a change: a letter or a kind of line, and the rounded money it moved."""

    cause: str
    name: str
    cost: Decimal


def moves_of(explained: pl.DataFrame, currency: str, decimals: int | None = None) -> list[Move]:
    """The moves of `explained`, an answer of `explain`, in `currency`; without those of nothing.

    Their money has `decimals` places, those of the currency where they are not given.
    """
    in_currency = explained.filter(pl.col("currency") == currency)
    lines = in_currency.filter(pl.col("line") != "total")
    exact = _letter_moves(in_currency.filter(pl.col("line") == "total")) | _line_moves(lines)
    moved = {cause: cost for cause, cost in exact.items() if cost}
    decimals = decimals_of(currency) if decimals is None else decimals
    change = rounded(_sum(lines["cost_to"]), decimals) - rounded(_sum(lines["cost_from"]), decimals)
    amounts = rounded_to_total(list(moved.values()), decimals, total=change)
    return [
        Move(cause=cause, name=NAMES[cause], cost=amount)
        for cause, amount in zip(moved, amounts, strict=True)
        if amount is not None
    ]


def _letter_moves(total: pl.DataFrame) -> dict[str, Decimal]:
    """What each letter did, summed over lines; nothing where no line is in the currency."""
    return {letter: _sum(total[f"{letter}_effect"]) for letter in EFFECTS}


def _line_moves(lines: pl.DataFrame) -> dict[str, Decimal]:
    """What has no letter: new and retired lines, replays, idle time."""
    return {
        kind: _sum(lines.filter(pl.col("line") == kind)["change"])
        for kind in ("new", "retired", "replays", "idle")
    }


def _sum(amounts: pl.Series) -> Decimal:
    return sum(amounts.drop_nulls(), Decimal(0))
