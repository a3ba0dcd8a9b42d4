"""JSON values from bytes that need not be tidy.

Owns what a strict parser refuses and telemetry contains: NaN, lone surrogates, bytes that are no
UTF-8. Refuses nesting without a bound.
"""

import json
import math
import re
from typing import NoReturn

import orjson

from ingest.files.content import UTF8_BOM
from ingest.readers.rejection import RecordError
from ingest.records import Json

MAX_DEPTH = 64
"""Levels of nesting that a value may have; writers of JSON further down stop at 254."""

MAX_TEXT_DEPTH = 280
"""Levels of brackets that are read where a text has more than a parser follows.

An OTLP value of 65 levels, which is refused, has 272 at most.
"""
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)

NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""How JSON of protobuf writes the doubles that are no numbers."""


def loads(data: bytes, *, names_nan: bool = False) -> Json:
    """The JSON value in `data`; of repeated keys the last counts.

    NaN and infinities are None, or with `names_nan` one of the texts of `NOT_FINITE`, for readers
    that say why a count is unknown. Raises `RecordError` that says what is wrong.
    """
    try:
        return orjson.loads(data.removeprefix(UTF8_BOM))
    except orjson.JSONDecodeError as strict:
        text = data.decode("utf-8-sig", "replace")
        try:
            return _tolerant(text, names_nan)
        except RecursionError:
            return _loads_shallow(text, names_nan)
        except ValueError:
            raise RecordError(f"no valid JSON: {strict.msg}") from None


def _tolerant(text: str, names_nan: bool) -> Json:
    return tidy(json.loads(text), names_nan=names_nan)


def _loads_shallow(text: str, names_nan: bool) -> Json:
    """The value in `text` without what is nested too deep; the neighbours of that are whole."""
    try:
        return _tolerant(shallow(text), names_nan)
    except (RecursionError, ValueError):
        raise RecordError("nested too deep, and no valid JSON") from None


def shallow(text: str) -> str:
    """`text` with null for each value below 280 levels of nesting.

    What is left of such a value is still nested deeper than any reader takes, so that its own
    record is rejected and no other one.
    """
    kept: list[str] = []
    depth = copied_to = 0
    for token in _TOKENS.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            if depth == MAX_TEXT_DEPTH + 1:
                kept.append(text[copied_to : token.start()])
        elif first in "]}":
            if depth == MAX_TEXT_DEPTH + 1:
                kept.append("null")
                copied_to = token.end()
            depth -= 1
    if depth <= MAX_TEXT_DEPTH:
        kept.append(text[copied_to:])
    return "".join(kept)


def tidy(value: Json, *, names_nan: bool = False) -> Json:
    """`value` without what JSON cannot carry: lone surrogates, infinities, very large integers."""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, dict):
        return {
            _without_surrogates(key): tidy(item, names_nan=names_nan) for key, item in value.items()
        }
    if isinstance(value, list):
        return [tidy(item, names_nan=names_nan) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return named(value) if names_nan else None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def named(number: float) -> float | str:
    """The number; NaN and the infinities as text, which a storage of JSON keeps."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


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
