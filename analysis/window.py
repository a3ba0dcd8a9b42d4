"""Half-open stretches of time, cut in a time zone.

Owns what `2026-10`, `2026-10-05` and `2026-10-05T13:00` mean: their first instant in the zone, so
that `--since 2026-10 --until 2026-11` is October, be it 744 hours long or 743.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from analysis.errors import WrongQuestionError
from ingest.calls.timing import EARLIEST_AT, LATEST_AT, OUTSIDE_NOTE

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER_NS = 900_000_000_000

_MONTH = re.compile(r"(\d{4})-(\d{2})$")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}$")
_FRACTION = re.compile(r"(.*[^0-9+-][0-9]{2}:?[0-9]{2}:?[0-9]{2})[.,]([0-9]{1,9})([^0-9].*)?$")
"""A clock down to the second, in either form of ISO 8601, and what is below a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From `since` up to but without `until`, nanoseconds since 1970; `timezone` cuts days.

    None is "as far as the ledger goes".
    """

    since: int | None = None
    until: int | None = None
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        zone_named(self.timezone)
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise WrongQuestionError(
                f"the window ends at {instant_text(self.until, self.timezone)}, not after its "
                f"begin {instant_text(self.since, self.timezone)}"
            )

    @classmethod
    def parse(cls, since: str | None, until: str | None, timezone: str) -> Self:
        """The window between two texts, each a month, a date or a datetime in `timezone`."""
        zone = zone_named(timezone)
        return cls(
            since=None if since is None else parse_instant(since, zone),
            until=None if until is None else parse_instant(until, zone),
            timezone=timezone,
        )

    @classmethod
    def month(cls, month: str, timezone: str) -> Self:
        """The calendar month `YYYY-MM` in `timezone`."""
        first = _first_of_month(month)
        if first is None:
            raise WrongQuestionError(f"{month!r} is no month; write it as 2026-10")
        following = _later(first, days=32).replace(day=1)
        zone = zone_named(timezone)
        return cls(
            since=_ns(datetime(first.year, first.month, 1, tzinfo=zone)),
            until=_ns(datetime(following.year, following.month, 1, tzinfo=zone)),
            timezone=timezone,
        )

    @classmethod
    def period(cls, text: str, timezone: str) -> Self:
        """A month, a day, or `BEGIN/END` (ISO 8601), each a month, a date or a datetime.

        Of an interval the end is not in it: 2026-10-01/2026-10-08 is a week.
        """
        begin, slash, end = text.partition("/")
        if slash:
            return cls.parse(begin, end, timezone)
        if _DAY.match(text):
            following = _later(_first_of_day(text), days=1)
            return cls.parse(text, following.isoformat(), timezone)
        if _first_of_month(text) is None:
            raise WrongQuestionError(
                f"{text!r} is no period; write a month as 2026-10, a day as 2026-10-05, "
                "anything else as BEGIN/END: 2026-10-01/2026-10-08"
            )
        return cls.month(text, timezone)

    @property
    def first_quarter(self) -> int | None:
        """The first quarter-hour since 1970 that lies wholly in the window."""
        return None if self.since is None else -(-self.since // QUARTER_NS)

    @property
    def until_quarter(self) -> int | None:
        """The first quarter-hour since 1970 that does not end in the window."""
        return None if self.until is None else self.until // QUARTER_NS

    def text(self) -> str:
        """The window in words, in its own zone."""
        since = "the first call" if self.since is None else instant_text(self.since, self.timezone)
        until = "the last call" if self.until is None else instant_text(self.until, self.timezone)
        return f"{since} to {until} ({self.timezone})"


def zone_named(name: str) -> ZoneInfo:
    """The time zone `name`; raises `WrongQuestionError` where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, IsADirectoryError):
        raise WrongQuestionError(
            f"time zone {name!r} is unknown; use a name such as Asia/Tokyo"
        ) from None


def parse_instant(text: str, zone: ZoneInfo) -> int:
    """Nanoseconds since 1970 of the first instant of `text`; one with an offset keeps it.

    A fraction of a second has up to nine digits; of anything else it is refused, as more digits
    are, rather than cut.
    """
    first = _first_of_month(text)
    if first is not None:
        return _ns(datetime(first.year, first.month, 1, tzinfo=zone))
    fraction = _FRACTION.match(text)
    whole = f"{fraction.group(1)}{fraction.group(3) or ''}" if fraction else text
    try:
        at = datetime.fromisoformat(whole)
    except ValueError:
        raise _no_time(text) from None
    if "." in whole or "," in whole:
        raise _no_time(text)
    below_second = int(fraction.group(2).ljust(9, "0")) if fraction else 0
    return _ns(at if at.tzinfo is not None else at.replace(tzinfo=zone)) + below_second


def _no_time(text: str) -> WrongQuestionError:
    return WrongQuestionError(
        f"{text!r} is no time; write 2026-10, 2026-10-05, 2026-10-05T13:00 or "
        "2026-10-05T13:00:00.123456789"
    )


def instant_text(at: int, timezone: str) -> str:
    """RFC 3339 text of `at` in `timezone`, with as many decimals as it needs."""
    seconds, below = divmod(at, 1_000_000_000)
    local = (EPOCH + timedelta(seconds=seconds)).astimezone(zone_named(timezone))
    fraction = f".{below:09d}".rstrip("0") if below else ""
    whole = local.isoformat()
    return f"{whole[:19]}{fraction}{whole[19:]}"


def month_of(at: int, timezone: str) -> str:
    """The month `YYYY-MM` of `timezone` in which `at` lies."""
    return instant_text(at, timezone)[:7]


def _first_of_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _no_time(text) from None


def _first_of_month(text: str) -> date | None:
    found = _MONTH.match(text)
    if found is None or not 1 <= int(found.group(2)) <= 12 or not int(found.group(1)):
        return None
    return date(int(found.group(1)), int(found.group(2)), 1)


def _later(day: date, *, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        raise _outside(day.isoformat()) from None


def _ns(at: datetime) -> int:
    """Nanoseconds since 1970; raises `WrongQuestionError` for what the ledger cannot hold."""
    delta = at - EPOCH
    found = (delta.days * 86_400 + delta.seconds) * 1_000_000_000 + delta.microseconds * 1_000
    if not EARLIEST_AT < found < LATEST_AT:
        raise _outside(at.isoformat())
    return found


def _outside(text: str) -> WrongQuestionError:
    return WrongQuestionError(f"{text} {OUTSIDE_NOTE}, which a ledger holds")
