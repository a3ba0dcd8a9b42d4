"""Values of a watermark: how they are kept, and which is earlier by a lag.

Owns the kinds of values that a driver gives for a column that orders rows. Refuses to compare
values of two kinds, and to shift what is no time.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ingest.readers.rejection import RecordError
from ingest.records import Json

WITHOUT_END = "infinity"
"""How PostgreSQL writes the time after every other."""

_S_PER_UNIT = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECOND_DIGITS = len("2026-10-01T08:00:00")


def kept(mark: Any) -> Json:
    """The value as JSON from which `restored` makes the same value again."""
    if isinstance(mark, datetime):
        return {"datetime": mark.isoformat()}
    if isinstance(mark, date):
        return {"date": mark.isoformat()}
    if isinstance(mark, Decimal):
        return {"decimal": str(mark)}
    if mark is None or (isinstance(mark, int | float | str) and not isinstance(mark, bool)):
        return mark
    raise RecordError(f"{str(mark)[:40]!r} cannot order rows: it is neither a time nor a number")


def restored(value: Json) -> Any:
    """The value that `kept` kept."""
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    if kind == "datetime":
        return datetime.fromisoformat(text)
    return date.fromisoformat(text) if kind == "date" else Decimal(text)


def is_reached(mark: Any, bound: Any) -> bool:
    """Whether `mark` is not before `bound`; False where there is no bound, or one of another kind.

    A driver gives as text what it cannot hold, such as a time without end.
    """
    if isinstance(mark, int | float | Decimal) and isinstance(bound, int | float | Decimal):
        return mark >= bound
    return type(mark) is type(bound) and mark >= bound


def latest(marks: Iterable[Any]) -> Any:
    """The latest of `marks`, nulls left out; None where there is none."""
    known = [mark for mark in marks if mark is not None]
    texts = {mark for mark in known if isinstance(mark, str)}
    if WITHOUT_END in texts or len(texts) == len(known):
        return WITHOUT_END if WITHOUT_END in texts else max(texts, default=None)
    return max(mark for mark in known if not isinstance(mark, str))


def earlier(mark: Any, lag: timedelta, unit: str | None) -> Any:
    """A value that lies `lag` before `mark`, or before that; `mark` itself where it is no time.

    `unit` is that of a number that counts since 1970; a number without one is an id.
    """
    if isinstance(mark, datetime):
        return mark - lag
    if isinstance(mark, date):
        return mark - timedelta(days=lag.days + bool(lag.seconds))
    if isinstance(mark, str):
        return _earlier_text(mark, lag)
    if unit is None or isinstance(mark, bool) or not isinstance(mark, int | float | Decimal):
        return mark
    steps = int(lag.total_seconds()) * _S_PER_UNIT[unit]
    return mark - Decimal(steps) if isinstance(mark, Decimal) else mark - steps


def _earlier_text(mark: str, lag: timedelta) -> str:
    """The text of the second that lies a lag before; it sorts before all that follows in it."""
    try:
        second = datetime.fromisoformat(mark[:_SECOND_DIGITS]) - lag
    except ValueError:
        return mark
    separator = mark[len("2026-10-01")] if len(mark) > len("2026-10-01") else " "
    return second.isoformat(separator, "seconds")
