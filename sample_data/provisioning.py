"""When a pool runs and how long: calendar walks in the company's time zone, in whole seconds.

Owns windows and provisioned time. Refuses fractions of a second: windows begin on a minute.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from sample_data.company import SECOND_NS, ZONE, PoolFacts, Stretch

Windows = tuple[tuple[int, int, float, float], ...]


def days(first: date, last: date) -> Iterator[date]:
    """Every day from `first` to `last`, both included."""
    for offset in range((last - first).days + 1):
        yield first + timedelta(days=offset)


def local_ns(day: date, hour: float) -> int:
    """Nanoseconds since 1970 at `hour` of `day` in the company's time zone."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(ZONE))
    since = midnight - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds + round(hour * 3_600)) * SECOND_NS


def open_windows(windows: Windows, day: date) -> list[tuple[int, int]]:
    """The instants between which `windows` are open on `day`."""
    return [
        (local_ns(day, opens), local_ns(day, closes))
        for first, last, opens, closes in windows
        if first <= day.weekday() <= last
    ]


def provisioned(pool: PoolFacts, since: int, until: int) -> Iterator[tuple[Stretch, int, int]]:
    """The stretches of `pool` and the instants between which each is up, inside the window."""
    ends = [stretch.since for stretch in pool.stretches[1:]] + [until]
    for stretch, end in zip(pool.stretches, ends, strict=True):
        low, high = max(since, stretch.since), min(until, end)
        if low >= high:
            continue
        if stretch.windows is None:
            yield stretch, low, high
            continue
        for day in days(_day(low) - timedelta(days=1), _day(high)):
            for opens, closes in open_windows(stretch.windows, day):
                if max(low, opens) < min(high, closes):
                    yield stretch, max(low, opens), min(high, closes)


def provisioned_gpu_seconds(pool: PoolFacts, since: int, until: int) -> Fraction:
    """GPU-seconds that `pool` was up between two instants."""
    return sum(
        (
            Fraction((high - low) * stretch.replicas * pool.gpus_per_replica, SECOND_NS)
            for stretch, low, high in provisioned(pool, since, until)
        ),
        Fraction(0),
    )


def bill(pool: PoolFacts, since: int, until: int) -> Fraction:
    """Money that `pool` cost between two instants, exactly."""
    return sum(
        (
            Fraction((high - low) * stretch.replicas * pool.gpus_per_replica, SECOND_NS)
            * Fraction(stretch.price_per_gpu_hour)
            / 3_600
            for stretch, low, high in provisioned(pool, since, until)
        ),
        Fraction(0),
    )


def _day(instant: int) -> date:
    return datetime.fromtimestamp(instant // SECOND_NS, tz=ZoneInfo(ZONE)).date()
