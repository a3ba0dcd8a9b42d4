"""What moved the bill between two periods, as few bars as there are causes.

Owns the sum over lines of what each letter did, and what no letter did: new and retired lines,
idle time. Refuses a residual: the moves add up to the change of the rounded bills.
"""

from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from dashboard.rounding import decimals_of, rounded, rounded_to_total

LETTERS = ("p", "N", "Tp", "L", "Td", "B")
NAMES = {
    "p": "p, price",
    "N": "N, calls",
    "Tp": "Tp, prefill s a call",
    "L": "L, output tokens a call",
    "Td": "Td, s an output token",
    "B": "B, calls at once per GPU",
    "token": "calls priced by the token",
    "new": "lines that are new",
    "retired": "lines that are gone",
    "idle": "idle time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One cause of a change: a letter or a kind of line, and the rounded money it moved."""

    cause: str
    name: str
    cost: Decimal


def moves_of(explained: pl.DataFrame, currency: str) -> list[Move]:
    """The moves of `explained`, an answer of `explain`, in `currency`; without those of nothing."""
    lines = explained.filter((pl.col("currency") == currency) & (pl.col("line") != "total"))
    exact = _letter_moves(lines) | _line_moves(lines)
    moved = {cause: cost for cause, cost in exact.items() if cost}
    decimals = decimals_of(currency)
    change = rounded(_sum(lines["cost_to"]), decimals) - rounded(_sum(lines["cost_from"]), decimals)
    amounts = rounded_to_total(list(moved.values()), decimals, total=change)
    return [
        Move(cause=cause, name=NAMES[cause], cost=amount)
        for cause, amount in zip(moved, amounts, strict=True)
        if amount is not None
    ]


def _letter_moves(lines: pl.DataFrame) -> dict[str, Decimal]:
    """What the letters of the law did, over the lines that are charged by GPU-seconds."""
    on_gpu = lines.filter(pl.col("basis") == "gpu")
    return {letter: _sum(on_gpu[f"{letter}_effect"]) for letter in LETTERS}


def _line_moves(lines: pl.DataFrame) -> dict[str, Decimal]:
    """What has no letter: calls priced by the token, new and retired lines, idle time."""
    has_letters = ~pl.col("line").is_in(["new", "retired", "idle"])
    kinds = {kind: pl.col("line") == kind for kind in ("new", "retired", "idle")}
    kinds = {"token": has_letters & (pl.col("basis") == "token")} | kinds
    return {kind: _sum(lines.filter(condition)["change"]) for kind, condition in kinds.items()}


def _sum(amounts: pl.Series) -> Decimal:
    return sum(amounts.drop_nulls(), Decimal(0))
