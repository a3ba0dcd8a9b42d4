"""What a value says, whichever type it was sent as.

Owns the tolerance: numbers sent as strings, JSON sent as text. Refuses to guess: what cannot be
read as the kind that is asked for is None.
"""

import math
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from ingest.calls.aliases import Kind
from ingest.records import Json

MAX_JSON_CHARACTERS = 16 * 1024 * 1024
"""Longer text is taken as text: nothing that long is worth a parse tree in memory."""

_NO_NAMES = ("", "NaN", "Infinity", "-Infinity")
"""A double that is no number says nothing where a text is asked for."""
_FLAGS = dict.fromkeys(("true", "1", "hit", "semantic hit"), True) | dict.fromkeys(
    ("false", "0", "miss", "semantic miss"), False
)
"""The last two of either are those of a cache's header."""


def parsed_json(raw: Json) -> Json:
    """The value inside of `raw` where it is JSON text, else `raw` itself."""
    if not isinstance(raw, str) or len(raw) > MAX_JSON_CHARACTERS:
        return raw
    if raw.lstrip()[:1] not in {"{", "[", '"'}:
        return raw
    try:
        return orjson.loads(raw)
    except ValueError:
        return raw


def converted(raw: Json, kind: Kind) -> Any:
    """`raw` as `kind`; None where it is empty or cannot be that. Counts are left to be judged."""
    if raw is None or raw == "":
        return None
    if kind in {"count", "json"}:
        return raw
    if kind == "text":
        return as_text(raw)
    if kind == "flag":
        only = raw[0] if isinstance(raw, list) and len(raw) == 1 else raw
        return _FLAGS.get(str(only).lower())
    if kind == "number" and type(raw) is float:
        return raw if math.isfinite(raw) else None
    if kind == "integer" and type(raw) is int:
        return raw if abs(raw) < 2**63 else None
    number = _as_decimal(raw)
    if number is None or kind == "decimal":
        return number
    if kind == "number":
        return float(number)
    return int(number) if number == number.to_integral_value() and abs(number) < 2**63 else None


def as_text(raw: Json) -> str | None:
    """`raw` as one line of text without a JSON string's quotes; None where it is no scalar."""
    if isinstance(raw, str):
        unquoted = parsed_json(raw) if raw.startswith('"') else raw
        text = str(unquoted).strip()
        return None if text in _NO_NAMES else text
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return str(raw)


def _as_decimal(raw: Json) -> Decimal | None:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if isinstance(raw, float) and not math.isfinite(raw):
        return None
    try:
        number = Decimal(str(raw).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
