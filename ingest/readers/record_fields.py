"""Fields of record formats, checked one by one.

Owns the sentence that says which field is wrong and what it should be. Refuses to read true as 1.
"""

import re
from collections.abc import Mapping

from ingest.calls.tokens import MAX_TOKENS
from ingest.readers.instants import MAX_INT64, instant_of_text
from ingest.readers.json_text import NOT_FINITE
from ingest.readers.rejection import RecordError
from ingest.records import Json

_DIGITS = re.compile(r"([+-]?[0-9]{1,20})(\.0*)?")


def record_of(value: Json) -> dict[str, Json]:
    """The record as an object."""
    if not isinstance(value, dict):
        raise RecordError(f"no JSON object but {str(value)[:40]!r}")
    return value


def object_at(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """The object under a key; an empty one where it is absent. Raises `RecordError` for others."""
    value = record.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RecordError(f"{key} {str(value)[:40]!r} is no object")
    return value


def whole_number(record: Mapping[str, Json], key: str) -> int:
    """A whole number that the record must have."""
    number = whole_number_or_none(record.get(key), key)
    if number is None:
        raise RecordError(f"{key} is missing")
    return number


def whole_number_or_none(value: Json, key: str) -> int | None:
    """A whole number, also from a double or from digits; None where it is absent."""
    if value is None:
        return None
    is_whole_double = isinstance(value, float) and value.is_integer()
    digits = _DIGITS.fullmatch(value.strip()) if isinstance(value, str) else None
    number = int(digits[1]) if digits else int(value) if is_whole_double else value
    if isinstance(number, bool) or not isinstance(number, int):
        raise RecordError(f"{key} {str(value)[:40]!r} is no whole number")
    if abs(number) > MAX_INT64:
        raise RecordError(f"{key} {str(value)[:40]} is beyond 64 bits")
    return number


def count_of(record: Mapping[str, Json], key: str) -> int:
    """A count from 0 that the record must have."""
    return not_negative(whole_number(record, key), key)


def tokens_of(record: Mapping[str, Json], key: str) -> int:
    """A count of tokens that the record must have, as one call may have it."""
    return tokens(whole_number(record, key), key)


def tokens(number: int, key: str) -> int:
    """The number. Raises `RecordError` where it is below 0, or more tokens than a call can have."""
    if number > MAX_TOKENS:
        raise RecordError(f"{key} {number} is no count of one call; the most is {MAX_TOKENS}")
    return not_negative(number, key)


def not_negative(number: int, key: str) -> int:
    """The number. Raises `RecordError` where it is below 0."""
    if number < 0:
        raise RecordError(f"{key} {number} is below 0")
    return number


def seconds_or_none(record: Mapping[str, Json], key: str) -> float | None:
    """A count of seconds, None where it is absent."""
    value = record.get(key)
    if value is None or value in NOT_FINITE:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{key} {str(value)[:40]!r} is no number of seconds")
    return value


def instant_or_none(record: Mapping[str, Json], key: str) -> int | None:
    """Nanoseconds since 1970 of an instant that is text; None where it is absent."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RecordError(f"{key} {str(value)[:40]!r} is no instant as text")
    return instant_of_text(value)
