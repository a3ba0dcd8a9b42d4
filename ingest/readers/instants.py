"""Nanoseconds since 1970 from what formats write for an instant.

Owns the reading of RFC 3339 and of decimal seconds, to the last digit. Refuses to pass an instant
through a binary fraction where the source wrote a decimal one.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from ingest.readers.rejection import RecordError

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000
MAX_INT64 = 2**63 - 1

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
    return _bigint(since // timedelta(seconds=1) * NS_PER_S + nanoseconds, text)


def instant_of_seconds(seconds: float) -> int:
    """Nanoseconds of a count of seconds, by the decimal digits it was written with."""
    exact = Decimal(repr(seconds))
    if not exact.is_finite():
        raise RecordError(f"{seconds!r} is no instant")
    return _bigint(int((exact * NS_PER_S).to_integral_value()), seconds)


def _bigint(at: int, given: object) -> int:
    if not -MAX_INT64 <= at <= MAX_INT64:
        raise RecordError(f"{given!r} lies outside of the years 1678 to 2261")
    return at
