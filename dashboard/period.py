"""Which stretch of time a view shows, and the one before it that it is compared with.

Owns months, ranges of days and their predecessors, cut in the view's time zone. Refuses to know
the present: the newest month is the newest that the ledger has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from analysis.window import Window, instant_text

ALL = "everything"
DAYS = "days"
DAY_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A window, the name by which it is spoken of, and its dates as text."""

    window: Window
    name: str
    text: str


def months_between(first_at: int, last_at: int, zone: str) -> list[str]:
    """The months of `zone` from that of `first_at` to that of `last_at`, both included."""
    month = instant_text(first_at, zone)[:7]
    months = [month]
    while months[-1] < instant_text(last_at, zone)[:7]:
        months.append(next_month(date.fromisoformat(f"{months[-1]}-01")).strftime("%Y-%m"))
    return months


def default_month(months: Sequence[str], last_at: int, zone: str) -> str:
    """The newest month that is over at `last_at`, because only whole months compare.

    The newest of all where none is over.
    """
    over = [month for month in months if (Window.month(month, zone).until or 0) <= last_at]
    return max(over or months)


def choices(months: Sequence[str]) -> list[str]:
    """What a reader may choose: each month, the newest first, a range of days, everything.

    Everything alone where there is no month, since no call tells its time.
    """
    return [*sorted(months, reverse=True), DAYS, ALL] if months else [ALL]


def month_period(month: str, zone: str) -> Period:
    """The calendar month `YYYY-MM` in `zone`."""
    first = date.fromisoformat(f"{month}-01")
    last = next_month(first) - timedelta(days=1)
    return Period(window=Window.month(month, zone), name=month, text=_span(first, last, zone))


def days_period(first: date, last: date, zone: str) -> Period:
    """The days from `first` to `last`, both included, in `zone`."""
    until = last + timedelta(days=1)
    window = Window.parse(first.isoformat(), until.isoformat(), zone)
    name = first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"
    return Period(window=window, name=name, text=_span(first, last, zone))


def whole_period(zone: str) -> Period:
    """As far as the ledger goes."""
    return Period(window=Window(timezone=zone), name="everything", text=f"all calls ({zone})")


def month_before(month: str) -> str:
    """The month before `YYYY-MM`."""
    return (date.fromisoformat(f"{month}-01") - timedelta(days=1)).strftime("%Y-%m")


def days_before(first: date, last: date) -> tuple[date, date]:
    """The equally long range of days that ends on the day before `first`."""
    return first - (last - first) - timedelta(days=1), first - timedelta(days=1)


def is_covered(window: Window, first_at: int) -> bool:
    """Whether calls that begin at `first_at` cover `window` from its start, give or take a day."""
    return window.since is None or first_at <= window.since + DAY_NS


def next_month(first: date) -> date:
    """The first day of the month after that of `first`."""
    return (first.replace(day=1) + timedelta(days=32)).replace(day=1)


def month_days(month: str) -> tuple[date, date]:
    """The first and the last day of `YYYY-MM`."""
    first = date.fromisoformat(f"{month}-01")
    return first, next_month(first) - timedelta(days=1)


def _span(first: date, last: date, zone: str) -> str:
    return f"{first.isoformat()} to {last.isoformat()} ({zone})"
