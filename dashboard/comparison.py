"""Now against a period ago: lines side by side, and the letters with what each did to the bill.

Owns differences and ratios between two periods. Refuses to explain: the effect of a letter comes
from `analysis`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import polars as pl

from dashboard.lines import labelled, with_rounded_cost
from dashboard.wording import change_text, quantity_text, signed_money_text

Colour = Literal["normal", "inverse", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One letter of the law: its symbol, its column in a law frame, its unit and its meaning."""

    symbol: str
    column: str
    unit: str
    meaning: str
    colour: Colour
    """Whether a rise is good news (normal), bad news (inverse) or neither (off)."""


LETTERS = (
    Letter(
        symbol="p",
        column="price_per_gpu_hour",
        unit="per GPU-hour",
        meaning="Price of one GPU for one hour, the mean over the pools by GPU-seconds.",
        colour="inverse",
    ),
    Letter(
        symbol="N",
        column="N",
        unit="calls",
        meaning="Calls whose service began in the period.",
        colour="off",
    ),
    Letter(
        symbol="Tp",
        column="Tp_s",
        unit="s",
        meaning="Mean prefill time of a call: from start of service to the first token.",
        colour="inverse",
    ),
    Letter(
        symbol="L",
        column="L_tokens",
        unit="tokens",
        meaning="Mean output tokens of a call.",
        colour="inverse",
    ),
    Letter(
        symbol="Td",
        column="Td_s",
        unit="s per token",
        meaning="Decode seconds for each output token.",
        colour="inverse",
    ),
    Letter(
        symbol="B",
        column="B",
        unit="calls at once",
        meaning="Calls served at once per GPU: residence seconds for each GPU-second.",
        colour="normal",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterCard:
    """One letter as it is shown: its value now, its change, and what that did to the cost."""

    title: str
    value: str
    change: str | None
    effect: str
    meaning: str
    colour: Colour


def letter_cards(
    now: Mapping[str, float | None],
    before: Mapping[str, float | None],
    effects: Mapping[str, Decimal],
    currency: str,
) -> list[LetterCard]:
    """The six letters in the order of the law; `now` and `before` by column of a law frame."""
    return [
        LetterCard(
            title=f"{letter.symbol}, {_unit(letter, currency)}",
            value=quantity_text(now.get(letter.column)),
            change=change_text(now.get(letter.column), before.get(letter.column)),
            effect=_effect_text(effects.get(letter.symbol), currency),
            meaning=letter.meaning,
            colour=letter.colour,
        )
        for letter in LETTERS
    ]


def letter_values(total: pl.DataFrame, currency: str) -> dict[str, float | None]:
    """The letters of the calls on GPUs, by column, from a law frame without groups."""
    of_calls = total.filter(
        (pl.col("line") == "calls") & (pl.col("basis") == "gpu") & (pl.col("currency") == currency)
    )
    if of_calls.is_empty():
        return {}
    row = of_calls.row(0, named=True)
    return {
        letter.column: None if row[letter.column] is None else float(row[letter.column])
        for letter in LETTERS
    }


def compared_lines(
    now: pl.DataFrame, before: pl.DataFrame | None, by: str, currency: str
) -> pl.DataFrame:
    """Cost by label now and before, with the change, the largest now first."""
    current = _costs(now, by, currency)
    if before is None:
        return current.sort(["cost", "label"], descending=[True, False], nulls_last=True)
    earlier = _costs(before, by, currency).select("label", cost_before="cost")
    change = pl.col("cost").fill_null(0) - pl.col("cost_before").fill_null(0)
    ratio = change.cast(pl.Float64) / pl.col("cost_before").cast(pl.Float64)
    return (
        current.join(earlier, on="label", how="full", coalesce=True)
        .with_columns(
            change=change,
            change_ratio=pl.when(pl.col("cost_before") != 0).then(ratio),
        )
        .sort(["cost", "label"], descending=[True, False], nulls_last=True)
    )


def _costs(frame: pl.DataFrame, by: str, currency: str) -> pl.DataFrame:
    """`label`, `cost` (rounded) and `share_ratio`, one row a label, in `currency`."""
    return (
        with_rounded_cost(labelled(frame, (by,)))
        .filter(pl.col("currency") == currency)
        .group_by("label")
        .agg(cost=pl.col("rounded_cost").sum(), share_ratio=pl.col("share_ratio").sum())
    )


def _effect_text(effect: Decimal | None, currency: str) -> str:
    """What a letter did to the cost, without the currency, which stands in the heading."""
    if effect is None:
        return ""
    return signed_money_text(effect, currency).removesuffix(f" {currency}")


def _unit(letter: Letter, currency: str) -> str:
    return f"{currency}/GPU-hour" if letter.symbol == "p" else letter.unit
