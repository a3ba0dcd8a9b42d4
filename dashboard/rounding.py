"""Amounts rounded so that the lines still add up: the one place where money is rounded.

Owns the largest-remainder rule and the number of decimals of a currency. Refuses floats: an
amount is a decimal until it is text.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

CURRENCIES_WITHOUT_DECIMALS = frozenset({"CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND"})
CURRENCIES_WITH_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def decimals_of(currency: str) -> int:
    """Decimal places of the smallest unit of `currency` (ISO 4217): 2 for USD, 0 for JPY."""
    if currency in CURRENCIES_WITHOUT_DECIMALS:
        return 0
    return 3 if currency in CURRENCIES_WITH_THREE_DECIMALS else 2


def rounded(amount: Decimal, decimals: int) -> Decimal:
    """`amount` to `decimals` places, half to even."""
    return amount.quantize(_unit(decimals), rounding=ROUND_HALF_EVEN)


def rounded_to_total(
    amounts: Sequence[Decimal | None], decimals: int, total: Decimal | None = None
) -> list[Decimal | None]:
    """Each amount to `decimals` places, such that the known ones sum to the rounded total.

    Every amount is first rounded down; the units still missing from the total go to the largest
    remainders, the earlier of two equal ones first. An unknown amount stays None. `total` is the
    rounded total where one is prescribed; it may differ by a unit or two from the own one.
    """
    unit = _unit(decimals)
    exact = {index: amount for index, amount in enumerate(amounts) if amount is not None}
    if not exact:
        return [None] * len(amounts)
    if total is None:
        total = rounded(sum(exact.values(), Decimal(0)), decimals)
    parts = {index: _floor(amount, unit) for index, amount in exact.items()}
    missing = int((total - sum(parts.values(), Decimal(0))) / unit)
    for_all, for_largest = divmod(missing, len(parts))
    by_remainder = sorted(exact, key=lambda index: (parts[index] - exact[index], index))
    for rank, index in enumerate(by_remainder):
        parts[index] += unit * (for_all + (rank < for_largest))
    return [parts.get(index) for index in range(len(amounts))]


def _floor(amount: Decimal, unit: Decimal) -> Decimal:
    return amount.quantize(unit, rounding=ROUND_FLOOR)


def _unit(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)
