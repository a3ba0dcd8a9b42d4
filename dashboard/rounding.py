"""Money to the smallest unit of its currency, in lines that still add up.

Owns the number of decimals of a currency and what becomes of unknown amounts; the rule of the
largest remainder itself is that of `analysis.money`. Refuses floats: an amount is a decimal until
it is text.
"""

from collections.abc import Sequence
from decimal import Decimal

from analysis import money

CURRENCIES_WITHOUT_DECIMALS = frozenset({"CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND"})
CURRENCIES_WITH_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def decimals_of(currency: str) -> int:
    """Decimal places of the smallest unit of `currency` (ISO 4217): 2 for USD, 0 for JPY."""
    if currency in CURRENCIES_WITHOUT_DECIMALS:
        return 0
    return 3 if currency in CURRENCIES_WITH_THREE_DECIMALS else 2


def rounded(amount: Decimal, decimals: int) -> Decimal:
    """`amount` to `decimals` places, half to even."""
    return money.rounded(amount, _unit(decimals))


def rounded_to_total(
    amounts: Sequence[Decimal | None], decimals: int, total: Decimal | None = None
) -> list[Decimal | None]:
    """Each amount to `decimals` places, such that the known ones sum to the rounded total.

    An unknown amount stays None. `total` is the rounded total where one is prescribed.
    """
    known = {index: amount for index, amount in enumerate(amounts) if amount is not None}
    if total is None:
        total = rounded(money.total(list(known.values())), decimals)
    parts = money.rounded_to_total(list(known.values()), total, _unit(decimals))
    by_index = dict(zip(known, parts, strict=True))
    return [by_index.get(index) for index in range(len(amounts))]


def _unit(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)
