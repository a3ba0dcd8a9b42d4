"""Windows: half-open, cut in a zone, whatever its clocks do."""

from zoneinfo import ZoneInfo

import pytest

from analysis.errors import WrongQuestionError
from analysis.window import Window, instant_text, parse_instant

S = 1_000_000_000
HOUR = 3600 * S
OCTOBER_UTC = 1_790_812_800 * S  # 2026-10-01T00:00:00Z


def test_a_month_begins_at_midnight_of_its_zone() -> None:
    window = Window.month("2026-10", "Asia/Tokyo")
    assert window.since == OCTOBER_UTC - 9 * HOUR
    assert window.until == OCTOBER_UTC - 9 * HOUR + 31 * 24 * HOUR


@pytest.mark.parametrize(
    ("month", "zone", "hours"),
    [
        ("2026-03", "America/New_York", 743),
        ("2026-11", "America/New_York", 721),
        ("2026-12", "Asia/Kolkata", 744),
        ("2028-02", "UTC", 696),
    ],
)
def test_a_month_is_as_long_as_its_clocks_say(month: str, zone: str, hours: int) -> None:
    window = Window.month(month, zone)
    assert window.since is not None
    assert window.until is not None
    assert window.until - window.since == hours * HOUR


def test_since_a_month_until_the_next_is_that_month() -> None:
    assert Window.parse("2026-10", "2026-11", "UTC") == Window.month("2026-10", "UTC")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-10", 0),
        ("2026-10-01", 0),
        ("2026-10-02", 86_400),
        ("2026-10-01T13:00", 46_800),
        ("2026-10-01 13:00:05", 46_805),
        ("2026-10-01T13:00:00+09:00", 46_800 - 9 * 3600),
        ("2026-10-01T00:00:00Z", 0),
    ],
)
def test_an_instant_is_the_first_of_what_is_written(text: str, seconds: int) -> None:
    assert Window.parse(text, None, "UTC").since == OCTOBER_UTC + seconds * S


def test_nine_decimals_are_kept() -> None:
    window = Window.parse("2026-10-01T00:00:00.123456789", None, "UTC")
    assert window.since == OCTOBER_UTC + 123_456_789
    assert instant_text(OCTOBER_UTC + 123_456_789, "UTC") == "2026-10-01T00:00:00.123456789+00:00"
    assert instant_text(OCTOBER_UTC + 500_000_000, "Asia/Tokyo") == "2026-10-01T09:00:00.5+09:00"


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-05T13:00:00.123456789Z",
        "2026-10-05T13:00:00,123456789Z",
        "20261005T130000.123456789Z",
        "20261005T130000,123456789+0000",
        "2026-10-05 22:00:00,123456789+09:00",
    ],
)
def test_every_form_of_a_fraction_keeps_nine_decimals(text: str) -> None:
    at = parse_instant(text, ZoneInfo("UTC"))
    assert at == parse_instant("2026-10-05T13:00:00Z", ZoneInfo("UTC")) + 123_456_789


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-05T13:00:00.1234567890Z",
        "20261005T130000,1234567890",
        "2026-10-05T13:00.5",
        "2026-10-05T13:00:00+09:00:00.5",
        "2026-10-05T13:00:00.",
    ],
)
def test_a_fraction_that_would_be_cut_is_refused(text: str) -> None:
    with pytest.raises(WrongQuestionError, match="is no time"):
        parse_instant(text, ZoneInfo("UTC"))


@pytest.mark.parametrize("text", ["yesterday", "2026-13", "2026-10-32", "10/2026", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(WrongQuestionError, match="is no time; write 2026-10"):
        Window.parse(text, None, "UTC")


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-10", "2026-10-01", "2026-11-01"),
        ("2026-11-01", "2026-11-01", "2026-11-02"),
        ("2026-12-31", "2026-12-31", "2027-01"),
        ("2026-10-01/2026-10-08", "2026-10-01", "2026-10-08"),
        ("2026-09/2026-11", "2026-09", "2026-11"),
        ("2026-10-01T12:00:00.5Z/2026-10-02", "2026-10-01T12:00:00.5Z", "2026-10-02"),
    ],
)
def test_a_period_is_a_month_a_day_or_an_interval(text: str, since: str, until: str) -> None:
    zone = "America/New_York"  # the first of November has 25 hours there
    assert Window.period(text, zone) == Window.parse(since, until, zone)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-9", "is no period; write a month as 2026-10"),
        ("2026-10-01T12:00", "is no period"),
        ("2026-02-30", "is no time"),
        ("2026-10-01/", "is no time"),
        ("2026-10-02/2026-10-01", "not after its begin"),
    ],
)
def test_what_is_no_period_is_refused(text: str, said: str) -> None:
    with pytest.raises(WrongQuestionError, match=said):
        Window.period(text, "UTC")


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(WrongQuestionError, match="not after its begin"):
        Window.parse("2026-11", "2026-10", "UTC")
    with pytest.raises(WrongQuestionError, match="not after its begin"):
        Window.parse("2026-10", "2026-10", "UTC")


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(WrongQuestionError, match="time zone 'Mars/Olympus' is unknown"):
        Window.month("2026-10", "Mars/Olympus")


def test_a_month_that_does_not_exist_is_refused() -> None:
    with pytest.raises(WrongQuestionError, match="is no month; write it as 2026-10"):
        Window.month("2026-10-05", "UTC")


def test_whole_quarters_lie_inside_the_window() -> None:
    window = Window(since=901 * S, until=2699 * S)
    assert (window.first_quarter, window.until_quarter) == (2, 2)
    aligned = Window(since=900 * S, until=2700 * S)
    assert (aligned.first_quarter, aligned.until_quarter) == (1, 3)


@pytest.mark.parametrize(
    "text",
    ["0001-01", "9999-12", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "2116-03"],
)
def test_a_time_that_no_ledger_holds_is_refused(text: str) -> None:
    with pytest.raises(WrongQuestionError, match="outside of the years 1823 to 2116"):
        parse_instant(text, ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize("text", ["9999-12", "9999-12-31", "0001-01"])
def test_a_period_that_no_ledger_holds_is_refused(text: str) -> None:
    with pytest.raises(WrongQuestionError, match="outside of the years 1823 to 2116"):
        Window.period(text, "Europe/Berlin")


def test_there_is_no_year_0() -> None:
    with pytest.raises(WrongQuestionError, match="'0000-01' is no time"):
        parse_instant("0000-01", ZoneInfo("UTC"))
