"""The columns of the native format and how each is read.

Owns the kinds of values, taken from the fields of `Call`, and what a number may be. Refuses a
value of another kind, and one that no call can have.
"""

import difflib
import math
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from ingest.calls.call import MAX_COST
from ingest.calls.request import MAX_CHOICES
from ingest.calls.timing import LATEST_AT
from ingest.counting.measures import SHAPES
from ingest.counting.volatile import KINDS
from ingest.prompt_measures import PromptMeasures
from ingest.readers.instants import held, instant_of_text, whole_instant
from ingest.readers.record_fields import tokens, whole_number_or_none
from ingest.readers.rejection import RecordError
from ingest.records import Call, Json

INTERNAL_COLUMNS = frozenset({"call_no", "delivery_id", "cohort_id"})
"""Numbers of one ledger: another ledger gives its own."""
TOTAL_COLUMNS = frozenset({"input_tokens", "output_tokens"})
"""Columns that the ledger computes from the buckets."""

_CHOICES = {
    "origin": ("production", "replay"),
    "status": ("ok", "error", "timeout", "cancelled"),
    "timing_source": ("engine", "stream", "span", "tokens"),
    "timing_quality": ("ok", "invalid", "unknown"),
    "tokens_source": ("reported", "counted", "estimated", "unknown"),
    "pairing": ("single", "ancestor", "response_id", "probable"),
    "answer_shape": SHAPES,
}

_BOUNDS = {
    "attempt": (0, 2**31 - 1),
    "http_status": (100, 599),
    "json_key_count": (0, 2**31 - 1),
    "max_tokens": (0, 2**31 - 1),
    "n_choices": (1, MAX_CHOICES),
    "prefix_block_tokens": (1, 2**31 - 1),
}
"""The least and the most of a whole number that is not a count of tokens of the call."""


def native_value(column: str, value: Json) -> Any:
    """The value of `column`, None never. Raises `RecordError` for a value of another kind."""
    return _READERS[column](column, value)


def _text(column: str, value: Json) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise RecordError(f"{column} {str(value)[:40]!r} is no text")
    return value


def _choice(column: str, value: Json) -> str:
    choices = _CHOICES[column]
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(choices)}"
        raise RecordError(f"{column} {str(value)[:40]!r} is unknown; {hint}")
    return str(value)


def _whole(column: str, value: Json) -> int | None:
    return whole_number_or_none(value, column)


def _bounded(column: str, value: Json) -> int | None:
    number = whole_number_or_none(value, column)
    least, most = _BOUNDS[column]
    if number is not None and not least <= number <= most:
        raise RecordError(f"{column} {number} is not from {least} to {most}")
    return number


def _count(column: str, value: Json) -> int | None:
    number = whole_number_or_none(value, column)
    return None if number is None else tokens(number, column)


def _instant(column: str, value: Json) -> int:
    """Nanoseconds since 1970, as such or as RFC 3339; a naive instant is UTC."""
    if isinstance(value, float) and abs(value) < LATEST_AT:
        raise RecordError(
            f"{column} {value!r} is a fraction; write integer nanoseconds since 1970 or RFC 3339"
        )
    nanoseconds = whole_instant(value)
    if nanoseconds is not None:
        return held(nanoseconds)
    if not isinstance(value, str):
        raise RecordError(f"{column} {str(value)[:40]!r} is no instant")
    try:
        return instant_of_text(value)
    except ValueError as error:
        raise RecordError(f"{column}: {error}") from error


def _real(column: str, value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{column} {str(value)[:40]!r} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise RecordError(f"{column} {number} is no number")
    return number


def _flag(column: str, value: Json) -> bool:
    if not isinstance(value, bool):
        raise RecordError(f"{column} {str(value)[:40]!r} is neither true nor false")
    return value


def amount_of(column: str, value: Json) -> Decimal:
    """The amount of money, in any range. Raises `RecordError` for what is none."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("nan")
    if isinstance(value, bool) or not amount.is_finite():
        raise RecordError(f"{column} {str(value)[:40]!r} is no amount")
    return amount


def _cost(column: str, value: Json) -> Decimal:
    amount = amount_of(column, value)
    if not 0 <= amount < MAX_COST:
        raise RecordError(
            f"{column} {str(value)[:40]} is no cost of one call; it is from 0 to below {MAX_COST:,}"
        )
    return amount


def _hashes(column: str, value: Json) -> tuple[int | None, ...]:
    if not isinstance(value, list) or None in value:
        raise RecordError(f"{column} is no list of whole numbers")
    return tuple(whole_number_or_none(item, column) for item in value)


def _measures(column: str, value: Json) -> PromptMeasures:
    try:
        return msgspec.convert(value, PromptMeasures)
    except msgspec.ValidationError as error:
        raise RecordError(f"{column} cannot be read: {error}") from error


def _spans(column: str, value: Json) -> tuple[int | None, ...]:
    numbers = _hashes(column, value)
    is_fit = all(number is not None and 0 <= number < 2**31 for number in numbers)
    kinds = range(1, len(KINDS) + 1)
    if len(numbers) % 3 or not is_fit or any(kind not in kinds for kind in numbers[2::3]):
        raise RecordError(
            f"{column} has three numbers a span: its first token, its tokens, and a kind from 1 to "
            f"{len(KINDS)}"
        )
    return numbers


_BY_TYPE: dict[Any, Callable[[str, Json], Any]] = {
    str: _text,
    str | None: _text,
    int | None: _whole,
    float | None: _real,
    bool | None: _flag,
    Decimal | None: _cost,
    tuple[int, ...] | None: _hashes,
    PromptMeasures | None: _measures,
}


def _reader_of(column: str, kind: Any) -> Callable[[str, Json], Any]:
    if column in _CHOICES:
        return _choice
    if column == "volatile_spans":
        return _spans
    if column.endswith("_at"):
        return _instant
    if column in _BOUNDS:
        return _bounded
    if column.endswith("_tokens"):
        return _count
    return _BY_TYPE[kind]


_READERS = {
    **{field.name: _reader_of(field.name, field.type) for field in fields(Call)},
    **dict.fromkeys(TOTAL_COLUMNS, _count),
}
NUMBERS = frozenset(
    column for column, reader in _READERS.items() if reader in {_count, _bounded, _real, _cost}
)
"""Columns in which a double that is no number is said to be none."""
COLUMNS = frozenset(field.name for field in fields(Call)) - {"identity"}
"""Columns that a record may fill."""
