"""One line of the bill in two periods: what its change is made of.

Owns the letters that a line has in both periods, also where one period does not define one.
Refuses a line without money: that is said in a note.

A letter that one period does not define (no output, so no Td; no GPU-second, so no B) keeps the
value of the other: it did not move. Where decode seconds have no output tokens to stand on, L is
1 and Td is decode seconds per call, in both periods.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from analysis.decomposition import (
    LETTERS,
    LawLetters,
    growth,
    law_effects,
    law_weight,
    product_effects,
    product_weight,
)
from analysis.group_sums import TOKEN_BASES
from analysis.money import rounded, rounded_to_total

Row = Mapping[str, Any]
"""One line of `ask law` as a dictionary, with its exact price `p` per GPU-second."""

PartialLetters = Mapping[str, float | None]

EFFECTS = (*LETTERS, "tokens")
"""The letters of the law, and tokens per call for what is priced by the token."""

NO_EFFECTS: Mapping[str, Decimal | None] = dict.fromkeys(EFFECTS)


def effects_of(before: Row, after: Row) -> dict[str, Decimal | None]:
    """Money by letter that adds up to the change of cost; None for a letter the line has not."""
    change = after["cost"] - before["cost"]
    is_token = before["basis"] in TOKEN_BASES
    split = _token_effects(before, after) if is_token else _gpu_effects(before, after)
    amounts = rounded_to_total([Decimal(effect) for effect in split.values()], change)
    return dict(NO_EFFECTS) | dict(zip(split, amounts, strict=True))


def volume_and_mix(
    before: Row, after: Row, calls_effect: Decimal | None, counts: tuple[int, int]
) -> tuple[Decimal | None, Decimal | None]:
    """What of the effect of N is the growth of all calls, from `counts` before to after, and what
    is the line's share of them: N is both multiplied, so their effects add up to its own."""
    if calls_effect is None:
        return None, None
    if before["N"] * counts[1] == after["N"] * counts[0]:
        return calls_effect, Decimal(0)
    volume = rounded(Decimal(_weight(before, after) * growth(counts[1], counts[0])))
    return volume, calls_effect - volume


def _weight(before: Row, after: Row) -> float:
    if before["basis"] in TOKEN_BASES:
        return product_weight(*_token_factors(before, after))
    return law_weight(*_law_letters(before, after))


def _gpu_effects(before: Row, after: Row) -> dict[str, float]:
    return law_effects(*_law_letters(before, after))


def _law_letters(before: Row, after: Row) -> tuple[LawLetters, LawLetters]:
    """The letters of both periods, those that one lacks from the other."""
    is_per_call = _has_decode_without_tokens(before) or _has_decode_without_tokens(after)
    old = _letters(before, is_per_call)
    new = _letters(after, is_per_call)
    return _completed(old, new), _completed(new, old)


def _letters(row: Row, is_per_call: bool) -> dict[str, float | None]:
    return {
        "p": row["p"],
        "N": row["N"],
        "Tp": row["Tp_s"],
        "L": 1.0 if is_per_call else row["L_tokens"],
        "Td": _decode_s(row) / row["N"] if is_per_call else row["Td_s"],
        "B": row["B"],
    }


def _completed(letters: PartialLetters, other: PartialLetters) -> LawLetters:
    """`letters` with what they lack from `other`; what neither has is 1 and moves nothing."""
    known: dict[str, float] = {}
    for letter in LETTERS:
        value, alternative = letters[letter], other[letter]
        fallback = 1.0 if alternative is None else alternative
        known[letter] = fallback if value is None else value
    return LawLetters(**known)


def _has_decode_without_tokens(row: Row) -> bool:
    return not row["L_tokens"] and bool(row["decode_gpu_seconds"])


def _decode_s(row: Row) -> float:
    """Decode seconds of the line: residence without prefill."""
    residence_s: float = (row["B"] or 0.0) * (row["gpu_seconds"] or 0.0)
    return max(0.0, residence_s - row["N"] * row["Tp_s"]) if row["decode_gpu_seconds"] else 0.0


def _token_effects(before: Row, after: Row) -> dict[str, float]:
    return product_effects(*_token_factors(before, after))


def _token_factors(before: Row, after: Row) -> tuple[dict[str, float], dict[str, float]]:
    """Price per token, calls, tokens per call; price per call where no token is known."""
    tokens = [(row["input_tokens"] or 0) + (row["output_tokens"] or 0) for row in (before, after)]
    counts = tokens if all(tokens) else [before["N"], after["N"]]
    old, new = (
        {
            "p": float(row["cost"]) / count,
            "N": float(row["N"]),
            "tokens": count / row["N"],
        }
        for row, count in zip((before, after), counts, strict=True)
    )
    return old, new
