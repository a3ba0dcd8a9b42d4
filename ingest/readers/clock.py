"""The instant that a number or a text without a declared unit means.

Owns the rule by which the unit of a count since 1970 is told from its size. Refuses a count that
is too small to be one since 1970: its clock began elsewhere.
"""

from decimal import Decimal, InvalidOperation

from ingest.readers.instants import held, instant_of_text
from ingest.readers.rejection import RecordError
from ingest.records import Json

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in one of each unit."""
_LEAST = {"ns": 10**17, "us": 10**14, "ms": 10**11, "s": 10**8}
"""From this count on, a number is in that unit: 10^8 s is in 1973, 10^11 s in 5138."""


def instant_of(value: Json, name: str, unit: str | None = None) -> int | None:
    """Nanoseconds since 1970 of a text or a count, in `unit` or in the one that its size shows.

    None where it is absent. Raises `RecordError` for anything else.
    """
    if value is None or value == "":
        return None
    count = number_of(value)
    if count is None:
        if not isinstance(value, str):
            raise RecordError(f"{name} {str(value)[:40]!r} is no instant")
        return instant_of_text(value)
    known = unit or unit_of(count)
    if known is None:
        raise RecordError(f"{name} {str(value)[:40]} is no time since 1970 in s, ms, us or ns")
    return held(int(count * UNITS[known]))


def unit_of(count: Decimal) -> str | None:
    """The unit in which a count since 1970 is of its size; None for one that is too small."""
    return next((unit for unit, least in _LEAST.items() if count >= least), None)


def number_of(value: Json) -> Decimal | None:
    """The number that a value is or writes; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < 40 else None
