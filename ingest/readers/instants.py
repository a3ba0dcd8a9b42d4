"""Nanoseconds since 1970 from what formats write for an instant.

Owns the reading of RFC 3339 and of decimal seconds, to the last digit. An instant that the ledger
cannot hold, such as one of the year 1 or 9999, is the nearest that it can. Refuses to pass an
instant through a binary fraction where the source wrote a decimal one.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from ingest.calls.timing import EARLIEST_AT, LATEST_AT
from ingest.readers.rejection import RecordError

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000
MAX_INT64 = 2**63 - 1

_DIGITS = re.compile(r"-?[0-9]{1,40}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)? ?(?:[Zz]|UTC|([+-]\d\d:?\d\d))?"
)


def instant_of_text(text: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 instant; one without a zone is UTC.

    Digits beyond the ninth are dropped. Raises `RecordError` for anything else.
    """
    match = _RFC3339.fullmatch(text.strip())
    if match is None:
        raise RecordError(f"{text[:40]!r} is no instant such as 2026-10-01T08:00:00.5Z")
    day, clock, fraction, offset = match.groups()
    since = datetime.fromisoformat(f"{day}T{clock}{offset or '+00:00'}") - _EPOCH
    nanoseconds = int((fraction or "").ljust(9, "0"))
    return held(since // timedelta(seconds=1) * NS_PER_S + nanoseconds)


def instant_of_seconds(seconds: float) -> int:
    """Nanoseconds of a count of seconds, by the decimal digits it was written with."""
    exact = Decimal(repr(seconds))
    if not exact.is_finite():
        raise RecordError(f"{seconds!r} is no instant")
    return held(int((exact * NS_PER_S).to_integral_value()))


def whole_instant(value: object) -> int | None:
    """The count that a number or its digits write, however large; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def held(at: int) -> int:
    """The instant nearest to `at` that the ledger can hold; see `ingest.calls.timing`."""
    return min(max(at, EARLIEST_AT), LATEST_AT)
