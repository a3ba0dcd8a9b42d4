"""Numbers as a reader sees them."""

from decimal import Decimal

import pytest

from dashboard.wording import (
    change_text,
    money_text,
    plotly_text,
    quantity_text,
    ratio_text,
    shortened,
    signed_money_text,
)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234.565", "USD", "1,234.56 USD"),
        ("1234.5", "JPY", "1,234 JPY"),
        ("0.0000123456", "USD", "0.0000123 USD"),
        ("0", "USD", "0.00 USD"),
        (None, "USD", "–"),
    ],
)
def test_money_is_written_to_the_smallest_unit_and_smaller_amounts_with_three_digits(
    amount: str | None, currency: str, text: str
) -> None:
    assert money_text(None if amount is None else Decimal(amount), currency) == text


def test_a_rise_has_a_plus() -> None:
    assert signed_money_text(Decimal("1.5"), "USD") == "+1.50 USD"
    assert signed_money_text(Decimal("-1.5"), "USD") == "-1.50 USD"


def test_a_change_needs_something_to_compare_with() -> None:
    assert change_text(110, 100) == "+10.0\u00a0%"
    assert change_text(Decimal("90"), Decimal("100")) == "-10.0\u00a0%"
    assert change_text(5, 0) is None
    assert change_text(5, None) is None


@pytest.mark.parametrize(
    ("quantity", "text"),
    [(1234.5, "1,234"), (0.014715, "0.0147"), (0.0000147, "1.47e-05"), (0, "0"), (None, "–")],
)
def test_a_quantity_has_three_significant_digits(quantity: float | None, text: str) -> None:
    assert quantity_text(quantity) == text


def test_a_ratio_is_a_percentage() -> None:
    assert ratio_text(0.12345) == "12.3\u00a0%"


def test_a_long_name_is_cut_in_its_middle() -> None:
    assert shortened("/a/very/long/endpoint/name", 11) == "/a/ve…/name"


def test_markup_is_text() -> None:
    assert plotly_text("<b>&lt;") == "&lt;b&gt;&amp;lt;"
