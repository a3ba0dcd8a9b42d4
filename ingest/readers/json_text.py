"""JSON values from bytes that need not be tidy.

Owns what a strict parser refuses and telemetry contains: NaN, lone surrogates, bytes that are no
UTF-8. Refuses nesting without a bound.
"""

import json
import math
from typing import NoReturn

import orjson

from ingest.files.content import UTF8_BOM
from ingest.readers.rejection import RecordError
from ingest.records import Json

MAX_DEPTH = 64
"""Levels of nesting that a value may have; writers of JSON further down stop at 254."""


def loads(data: bytes) -> Json:
    """The JSON value in `data`; NaN and infinities are None, of repeated keys the last counts.

    Raises `RecordError` that says what is wrong.
    """
    try:
        return orjson.loads(data.removeprefix(UTF8_BOM))
    except orjson.JSONDecodeError as strict:
        try:
            value = json.loads(
                data.decode("utf-8-sig", "replace"), parse_constant=lambda _name: None
            )
            return tidy(value)
        except RecursionError:
            raise RecordError("nested too deep") from None
        except ValueError:
            raise RecordError(f"no valid JSON: {strict.msg}") from None


def tidy(value: Json) -> Json:
    """`value` without what JSON cannot carry: lone surrogates, infinities, very large integers."""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, dict):
        return {_without_surrogates(key): tidy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tidy(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def refuse_depth() -> NoReturn:
    """Raises the error of a value that is nested beyond the bound."""
    raise RecordError(f"a value is nested deeper than {MAX_DEPTH} levels")


def bounded(value: Json, depth: int = 0) -> Json:
    """`value` itself. Raises `RecordError` where it is nested deeper than 64 levels."""
    if depth > MAX_DEPTH:
        refuse_depth()
    if isinstance(value, dict):
        for item in value.values():
            bounded(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            bounded(item, depth + 1)
    return value


def _without_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
