"""Schedules: the times of a week in which a pool is provisioned.

Owns what "mon-fri 08:00-20:00" means. Refuses text that is no such window. One rule holds on every
day: an instant is in a window if the clocks of the time zone then show a time in it. So what a
change to summer time skips does not count, and what the change back repeats counts twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ingest.charging.kernel import NS_PER_S
from ingest.config import instant_ns
from ingest.errors import ConfigurationError

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MIDNIGHT = timedelta(days=1)
MOST_OFFSET = timedelta(hours=24)
"""No clocks are further from UTC."""

_WINDOW = re.compile(
    r"(?:(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))?\s+)?"
    r"(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWindow:
    """Weekdays (0 is Monday) and wall-clock offsets from their midnight; `end` may be next day."""

    weekdays: frozenset[int]
    begin: timedelta
    end: timedelta


def scheduled_ns(windows: Iterable[ScheduleWindow], since: int, until: int, zone: ZoneInfo) -> int:
    """Nanoseconds of [since, until) that lie in at least one of `windows`."""
    openings = _openings(list(windows), _local_day(since, zone), _local_day(until, zone), zone)
    reached, total = since, 0
    for begin, end in sorted(openings):
        total += max(0, min(end, until) - max(begin, reached))
        reached = max(reached, min(end, until))
    return total


def parse_window(text: str) -> ScheduleWindow:
    """The window of "mon-fri 08:00-20:00", "sat 00:00-24:00" or, every day, "22:00-06:00".

    Raises `ConfigurationError` for a text of another form.
    """
    found = _WINDOW.fullmatch(text.strip().lower())
    days = (None, None) if found is None else found.group("first", "last")
    if found is None or any(day is not None and day not in WEEKDAYS for day in days):
        raise ConfigurationError(
            f'the schedule {text!r} is not understood; write "always" or windows such as '
            '"mon-fri 08:00-20:00"'
        )
    begin, end = _offset(found.group("begin"), text), _offset(found.group("end"), text)
    if begin == end:
        raise ConfigurationError(
            f"the schedule {text!r} ends when it begins; write 00:00-24:00 for a whole day, "
            "or a later end"
        )
    return ScheduleWindow(
        weekdays=_weekdays(*days), begin=begin, end=end if end > begin else end + MIDNIGHT
    )


def _weekdays(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(7))
    begin = WEEKDAYS.index(first)
    length = 0 if last is None else (WEEKDAYS.index(last) - begin) % 7
    return frozenset((begin + day) % 7 for day in range(length + 1))


def _offset(clock: str, text: str) -> timedelta:
    hours, minutes = int(clock[:2]), int(clock[3:])
    offset = timedelta(hours=hours, minutes=minutes)
    if minutes > 59 or offset > MIDNIGHT:
        raise ConfigurationError(f"the schedule {text!r} has no time of day {clock!r}")
    return offset


def _openings(
    windows: list[ScheduleWindow], first: date, last: date, zone: ZoneInfo
) -> Iterator[tuple[int, int]]:
    """Begin and end of every opening from the day before `first`, whose night may reach into it."""
    for number in range(-1, (last - first).days + 1):
        day = first + timedelta(days=number)
        for window in windows:
            if day.weekday() in window.weekdays:
                midnight = datetime.combine(day, time(), UTC)
                yield from _shown(midnight + window.begin, midnight + window.end, zone)


def _shown(begin: datetime, end: datetime, zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    """The stretches, as instants, in which the clocks of `zone` show a time from `begin` to `end`.

    The times are given as if they were UTC.
    """
    earliest, latest = begin - MOST_OFFSET, end + MOST_OFFSET
    change = _clock_change(earliest, latest, zone)
    for since, until in ((earliest, change), (change, latest)):
        if since < until:
            offset = _offset_at(since, zone)
            opens, closes = max(begin - offset, since), min(end - offset, until)
            if opens < closes:
                yield _ns(opens), _ns(closes)


def _clock_change(since: datetime, until: datetime, zone: ZoneInfo) -> datetime:
    """The first second after a change of the clocks in a stretch of days; `until` if none is."""
    before = _offset_at(since, zone)
    if _offset_at(until, zone) == before:
        return until
    unchanged, changed = 0, int((until - since).total_seconds())
    while changed - unchanged > 1:
        middle = (unchanged + changed) // 2
        if _offset_at(since + timedelta(seconds=middle), zone) == before:
            unchanged = middle
        else:
            changed = middle
    return since + timedelta(seconds=changed)


def _offset_at(at: datetime, zone: ZoneInfo) -> timedelta:
    """What the clocks of `zone` show ahead of UTC at the instant `at`."""
    return at.astimezone(zone).utcoffset() or timedelta()


def _ns(at: datetime) -> int:
    return instant_ns(at) or 0


def _local_day(at: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(at // NS_PER_S, zone).date()
