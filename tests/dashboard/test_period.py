"""A view's stretch of time is cut in its zone, and knows the one before it."""

from datetime import date

from dashboard.period import (
    choices,
    days_before,
    days_period,
    default_month,
    is_covered,
    month_before,
    month_days,
    month_period,
    months_between,
)

HOUR_NS = 3_600_000_000_000


def test_the_newest_month_is_offered_first_and_everything_last() -> None:
    assert choices(["2026-09", "2026-11", "2026-10"]) == [
        "2026-11",
        "2026-10",
        "2026-09",
        "days",
        "everything",
    ]


def test_without_a_month_everything_alone_is_offered() -> None:
    assert choices([]) == ["everything"]


def test_months_reach_from_the_first_call_to_the_last_in_the_zone() -> None:
    first_at = 1_788_188_400_000_000_000  # 2026-08-31T15:00:00Z, the 1st of September in Tokyo
    last_at = first_at + 61 * 24 * HOUR_NS  # 2026-10-31T15:00:00Z, the 1st of November there
    assert months_between(first_at, last_at, "UTC") == ["2026-08", "2026-09", "2026-10"]
    assert months_between(first_at, last_at, "Asia/Tokyo") == ["2026-09", "2026-10", "2026-11"]


def test_the_default_is_the_newest_month_that_is_over() -> None:
    november = 1_793_491_200_000_000_000  # 2026-11-01T00:00:00Z
    assert default_month(["2026-09", "2026-10"], november, "UTC") == "2026-10"
    assert default_month(["2026-09", "2026-10"], november - 1, "UTC") == "2026-09"
    assert default_month(["2026-10"], november - 1, "UTC") == "2026-10"


def test_an_october_in_berlin_has_745_hours() -> None:
    period = month_period("2026-10", "Europe/Berlin")
    assert period.window.since is not None
    assert period.window.until is not None
    assert period.window.until - period.window.since == 745 * HOUR_NS
    assert period.text == "2026-10-01 to 2026-10-31 (Europe/Berlin)"


def test_a_range_of_days_includes_its_last_day() -> None:
    period = days_period(date(2026, 10, 5), date(2026, 10, 5), "Asia/Tokyo")
    assert period.window.since is not None
    assert period.window.until is not None
    assert period.window.until - period.window.since == 24 * HOUR_NS
    assert period.name == "2026-10-05"


def test_the_month_before_january_is_december() -> None:
    assert month_before("2026-01") == "2025-12"


def test_a_month_ends_with_its_last_day() -> None:
    assert month_days("2028-02") == (date(2028, 2, 1), date(2028, 2, 29))


def test_the_week_before_a_week_ends_on_the_day_before_it() -> None:
    assert days_before(date(2026, 10, 8), date(2026, 10, 14)) == (
        date(2026, 10, 1),
        date(2026, 10, 7),
    )


def test_a_month_is_covered_by_calls_that_begin_on_its_first_day() -> None:
    window = month_period("2026-10", "UTC").window
    october = 1_790_812_800_000_000_000  # 2026-10-01T00:00:00Z
    assert is_covered(window, october + 24 * HOUR_NS)
    assert not is_covered(window, october + 24 * HOUR_NS + 1)
