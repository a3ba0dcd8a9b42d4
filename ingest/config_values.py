"""What the values of a configuration must be, and what is said of one that is not.

Owns the words for each kind of value. Refuses a value of another kind, and a number that is not
finite, each with its key as the file writes it, what was given and what is allowed.
"""

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from ingest.errors import ConfigurationError

SECRET_KEYS = ("hash_key",)
"""Keys of which no message shows the value."""

MOST_GPUS = 10_000
"""GPUs of one replica: as many for a quarter-hour in whole picoseconds are below 2^63."""
MOST_MONEY = 10**11
"""Money for an hour of one replica: so much for a call of days is below 2^127 in sums."""

_SHOWN_CHARACTERS = 60
_WORDS: dict[Any, str] = {
    str: 'a text in quotes, such as "a"',
    int: "a whole number",
    float: "a number",
    Decimal: 'an amount, such as "2.99"',
    datetime: "a time, such as 2026-10-01T00:00:00Z",
    dict: 'a table, such as { team = "search" }',
}
_LISTS = {str: 'a list of texts, such as ["a", "b"]'}


def refuse_wrong_values(raw: Mapping[str, Any], kind: type[msgspec.Struct], path: str) -> None:
    """Raise `ConfigurationError` for the first value of `raw` that is none of its key's kind."""
    _refuse_in_table(raw, kind, path, "")


def _refuse_in_table(
    raw: Mapping[str, Any], kind: type[msgspec.Struct], path: str, where: str
) -> None:
    for field in msgspec.structs.fields(kind):
        key = f"{where}{field.encode_name}"
        if field.encode_name in raw:
            _refuse_value(raw[field.encode_name], field.type, path, key)
        elif field.required:
            table = where.removesuffix(".")
            raise ConfigurationError(
                f"{path}: {table} has no {field.encode_name}; it must be {allowed(field.type)}"
            )


def _refuse_value(value: Any, kind: Any, path: str, key: str) -> None:
    element = struct_inside(kind)
    if element is not None:
        _refuse_tables(value, element, path, key)
        return
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        key, value, kind = _innermost(value, kind, key)
        raise ConfigurationError(f"{path}: {_sentence(value, kind, key)}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"{path}: {_sentence(value, kind, key)}")


def _refuse_tables(value: Any, element: type[msgspec.Struct], path: str, key: str) -> None:
    """Look at each table of a list such as `[[pools]]`."""
    if not isinstance(value, list):
        raise ConfigurationError(
            f"{path}: {key} is {shown(value)}; it must be one or more tables, each under [[{key}]]"
        )
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise ConfigurationError(
                f"{path}: {key}[{index}] is {shown(item)}; it must be a table under [[{key}]]"
            )
        _refuse_in_table(item, element, path, f"{key}[{index}].")


def struct_inside(kind: Any) -> type[msgspec.Struct] | None:
    """The kind of table that a key such as `[[pools]]` has a list of; else None."""
    if get_origin(kind) is tuple:
        element = get_args(kind)[0]
        if isinstance(element, type) and issubclass(element, msgspec.Struct):
            return element
    return None


def _innermost(value: Any, kind: Any, key: str) -> tuple[str, Any, Any]:
    """The part of `value` that is wrong, with its key and its kind."""
    bare = _bare(kind)
    if get_origin(bare) is dict and isinstance(value, dict):
        parts = [(f"{key}.{name}", item, get_args(bare)[1]) for name, item in value.items()]
    elif get_origin(bare) is tuple and isinstance(value, list):
        parts = [(f"{key}[{index}]", item, get_args(bare)[0]) for index, item in enumerate(value)]
    else:
        parts = []
    for part_key, item, part_kind in parts:
        try:
            msgspec.convert(item, part_kind, strict=True)
        except msgspec.ValidationError:
            return _innermost(item, part_kind, part_key)
    return key, value, kind


def _sentence(value: Any, kind: Any, key: str) -> str:
    given = "of another kind" if key in SECRET_KEYS else shown(value)
    near = ""
    if isinstance(value, str) and (choices := _choices(kind)):
        found = difflib.get_close_matches(value.lower(), choices, n=1, cutoff=0.5)
        near = f"; did you mean {json.dumps(found[0])}?" if found else ""
    return f"{key} is {given}; it must be {allowed(kind)}{near}"


def refuse_large_replicas(pools: Iterable[tuple[float, Decimal | None]], path: str) -> None:
    """Raise for the first of `pools`, GPUs and price of each, that no sum has room for."""
    for number, (gpus, price) in enumerate(pools):
        key = f"pools[{number}]"
        if gpus > MOST_GPUS:
            raise ConfigurationError(
                f"{path}: {key}.gpus_per_replica is {gpus:,g}; a replica has at most "
                f"{MOST_GPUS:,} GPUs, since their time is kept in whole picoseconds; "
                "give the GPUs of one engine, and how many engines there are in replicas"
            )
        if price is not None and Decimal(gpus) * price > MOST_MONEY:
            raise ConfigurationError(
                f"{path}: {key} costs {Decimal(gpus) * price:,f} an hour for each replica; at most "
                f"{MOST_MONEY:,} can be added up; check price_per_gpu_hour"
            )


def refuse_unknown_zone(name: str, path: str) -> None:
    """Raise where `name` is no time zone, with the nearest."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = difflib.get_close_matches(name, sorted(available_timezones()), n=1, cutoff=0.7)
        hint = f"did you mean {near[0]!r}?" if near else "use a name such as Asia/Tokyo"
        raise ConfigurationError(f"{path}: timezone {name!r} is unknown; {hint}") from None


def allowed(kind: Any) -> str:
    """What a value of `kind` is, in words."""
    if hasattr(kind, "__metadata__"):
        return _bounded(kind)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(allowed(part) for part in get_args(kind) if part is not NoneType)
    if choices := _choices(kind):
        return " or ".join(json.dumps(choice) for choice in choices)
    if get_origin(kind) is tuple:
        element = get_args(kind)[0]
        return _LISTS.get(element) or f"a list of {allowed(element)}"
    return _WORDS[get_origin(kind) or kind]


def _bounded(kind: Any) -> str:
    """The words for an annotated kind: a number above a bound, or a text of a form."""
    (meta,) = kind.__metadata__
    if meta.min_length is not None:
        return f"{allowed(kind.__origin__)}, and not empty"
    if meta.pattern is not None:
        return 'a month in quotes, such as "2026-10"'
    bound = f"above {meta.gt}" if meta.gt is not None else f"from {meta.ge} on"
    most = "" if meta.le is None else f", at most {meta.le:,}"
    return f"{allowed(kind.__origin__)} {bound}{most}"


def _bare(kind: Any) -> Any:
    """`kind` without bounds, and without None where one kind is left."""
    if hasattr(kind, "__metadata__"):
        return kind.__origin__
    if get_origin(kind) in (Union, UnionType):
        parts = [part for part in get_args(kind) if part is not NoneType]
        return parts[0] if len(parts) == 1 else kind
    return kind


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) in (Union, UnionType):
        return [choice for part in get_args(kind) for choice in _choices(part)]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def shown(value: Any) -> str:
    """`value` as the file may have written it, cut where it is long."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, datetime | date):
        return value.isoformat()
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    text = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(text, text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
