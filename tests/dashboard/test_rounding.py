"""Rounded lines add up to the rounded total."""

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.rounding import decimals_of, rounded, rounded_to_total

amounts = st.lists(
    st.none() | st.decimals(-1000, 1000, places=9, allow_nan=False), min_size=0, max_size=30
)


def test_three_equal_thirds_of_a_euro_round_to_a_euro_with_the_cent_on_the_first() -> None:
    third = Decimal("0.333333333")
    assert rounded_to_total([third, third, third], 2) == [
        Decimal("0.34"),
        Decimal("0.33"),
        Decimal("0.33"),
    ]


def test_the_missing_cent_goes_to_the_largest_remainder() -> None:
    lines = [Decimal("10.004"), Decimal("20.009"), Decimal("30.007")]
    assert rounded_to_total(lines, 2) == [Decimal("10.00"), Decimal("20.01"), Decimal("30.01")]


def test_an_unknown_amount_stays_unknown_and_takes_no_cent() -> None:
    assert rounded_to_total([None, Decimal("0.006"), None], 2) == [None, Decimal("0.01"), None]


def test_lines_add_up_to_a_prescribed_total() -> None:
    lines = [Decimal("1.004"), Decimal("2.004"), Decimal("3.004")]
    assert rounded_to_total(lines, 2, total=Decimal("6.00")) == [
        Decimal("1.00"),
        Decimal("2.00"),
        Decimal("3.00"),
    ]


def test_yen_have_no_decimals_and_dinars_have_three() -> None:
    assert [decimals_of(currency) for currency in ("JPY", "USD", "KWD")] == [0, 2, 3]


@settings(deadline=None)
@given(amounts, st.integers(0, 4))
def test_known_lines_sum_to_the_rounded_total_and_each_is_within_a_unit(
    lines: list[Decimal | None], decimals: int
) -> None:
    parts = rounded_to_total(lines, decimals)
    known = [line for line in lines if line is not None]
    assert sum(part for part in parts if part is not None) == rounded(
        sum(known, Decimal(0)), decimals
    )
    unit = Decimal(1).scaleb(-decimals)
    for line, part in zip(lines, parts, strict=True):
        assert (line is None) == (part is None)
        assert line is None or part is None or abs(part - line) <= unit
