"""LMDI-I: the change of a cost between two periods, split exactly over its factors.

Owns the formula and its limits. Refuses a residual: the effects add up to the change.

C is the sum of two products, prefill p N Tp / B and decode p N L Td / B. The change of a product
is split as `logmean(C1, C0) * ln(x1 / x0)` over its factors x; B counts as 1 / B. Source: B. W.
Ang, The LMDI approach to decomposition analysis: a practical guide, Energy Policy 33 (2005).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LawLetters:
    """The six letters of one group in one period; p is money per GPU-second."""

    p: float
    N: float
    Tp: float
    L: float
    Td: float
    B: float


LETTERS = tuple(field.name for field in fields(LawLetters))
PREFILL_LETTERS = ("p", "N", "Tp", "B")
DECODE_LETTERS = ("p", "N", "L", "Td", "B")


def law_effects(before: LawLetters, after: LawLetters) -> dict[str, float]:
    """What each letter adds to the cost from `before` to `after`, in money."""
    result = dict.fromkeys(LETTERS, 0.0)
    for letters in (PREFILL_LETTERS, DECODE_LETTERS):
        split = product_effects(_factors(before, letters), _factors(after, letters))
        for letter, effect in split.items():
            result[letter] += effect
    return result


def law_weight(before: LawLetters, after: LawLetters) -> float:
    """By what the logarithm of a letter's growth is multiplied to have its effect, in money.

    Of a product that is 0 in one period no part belongs to a letter that grew: its weight is 0.
    """
    return sum(
        product_weight(_factors(before, letters), _factors(after, letters))
        for letters in (PREFILL_LETTERS, DECODE_LETTERS)
    )


def product_weight(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """As `law_weight`, of the one product of all factors."""
    old, new = math.prod(before.values()), math.prod(after.values())
    return logmean(new, old) if old > 0 and new > 0 else 0.0


def product_effects(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each factor adds to the product of all, from `before` to `after`.

    A factor that is 0 in one period takes the limit: the whole change is its own, in equal parts
    where several are 0.
    """
    old, new = math.prod(before.values()), math.prod(after.values())
    if old > 0 and new > 0:
        weight = logmean(new, old)
        return {name: weight * growth(after[name], before[name]) for name in before}
    if old == new:
        return dict.fromkeys(before, 0.0)
    smaller = after if old > new else before
    zero = [name for name, value in smaller.items() if value == 0]
    return {name: (new - old) / len(zero) if name in zero else 0.0 for name in before}


def logmean(one: float, other: float) -> float:
    """The logarithmic mean of two positive numbers; either where they are equal."""
    return one if one == other else (one - other) / growth(one, other)


def growth(new: float, old: float) -> float:
    """ln(new / old), with all its digits also where the two are close."""
    ratio = new / old
    return math.log1p((new - old) / old) if 0.5 < ratio < 2 else math.log(ratio)


def _factors(letters: LawLetters, names: tuple[str, ...]) -> dict[str, float]:
    values = asdict(letters) | {"B": 1 / letters.B}
    return {name: values[name] for name in names}
