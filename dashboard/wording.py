"""Figures as text: money with its currency, quantities with their unit, changes with their sign.

Owns how a number is written on a page and in a document. Refuses to invent: what is not known is
a dash.
"""

from decimal import Decimal

from dashboard.rounding import decimals_of, rounded

UNKNOWN = "–"
PERCENT = "\u00a0%"
"""A space that no line breaks at, and the sign."""
FEW_LETTERS = 28


def money_text(amount: Decimal | None, currency: str) -> str:
    """ "1,234.56 USD"; an amount below the smallest unit keeps three significant digits."""
    if amount is None:
        return UNKNOWN
    decimals = decimals_of(currency)
    if amount != 0 and abs(amount) < Decimal(1).scaleb(-decimals):
        return f"{small_decimal_text(amount)} {currency}"
    return f"{rounded(amount, decimals):,} {currency}"


def call_money_text(amount: Decimal | None, currency: str) -> str:
    """The money of one call or trace: below one it keeps three significant digits."""
    if amount is None or amount == 0 or abs(amount) >= 1:
        return money_text(amount, currency)
    return f"{small_decimal_text(amount)} {currency}"


def small_decimal_text(amount: Decimal) -> str:
    """A small amount with three significant digits and no exponent: "0.0000123"."""
    decimals = max(0, 2 - amount.adjusted())
    return f"{rounded(amount, decimals):,f}"


def signed_money_text(amount: Decimal | None, currency: str) -> str:
    """ "+12.34 USD" or "-12.34 USD"; a dash where nothing is known."""
    if amount is None:
        return UNKNOWN
    return ("+" if amount >= 0 else "") + money_text(amount, currency)


def count_text(count: int | None) -> str:
    """ "1,234,567"."""
    return UNKNOWN if count is None else f"{count:,}"


def quantity_text(quantity: float | None, unit: str = "") -> str:
    """Three significant digits with thousands separators, and the unit: "1,235 s", "0.0147 s"."""
    if quantity is None:
        return UNKNOWN
    if abs(quantity) >= 100:
        text = f"{quantity:,.0f}"
    else:
        text = f"{quantity:.3g}" if abs(quantity) >= 1e-4 or quantity == 0 else f"{quantity:.2e}"
    return f"{text} {unit}".rstrip()


def ratio_text(ratio: float | None) -> str:
    """A ratio as a percentage with one decimal: "12.3 %"."""
    return UNKNOWN if ratio is None else f"{ratio * 100:.1f}{PERCENT}"


def change_ratio(now: float | Decimal | None, before: float | Decimal | None) -> float | None:
    """The change from `before` to `now` as a ratio of `before`; None where there is no base."""
    if now is None or before is None or before == 0:
        return None
    return float(now) / float(before) - 1


def change_text(now: float | Decimal | None, before: float | Decimal | None) -> str | None:
    """ "+12.3 %"; None where there is nothing to compare with."""
    ratio = change_ratio(now, before)
    return None if ratio is None else f"{ratio * 100:+.1f}{PERCENT}"


def shortened(name: str, letters: int = FEW_LETTERS) -> str:
    """`name`, cut in its middle where it is longer than `letters`."""
    if len(name) <= letters:
        return name
    head = (letters - 1) // 2
    return f"{name[:head]}…{name[-(letters - 1 - head) :]}"


def plotly_text(name: str) -> str:
    """`name` for a figure, where tags and entities would be markup: shown as it is written."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
