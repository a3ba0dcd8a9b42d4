"""One row of a mapped table as a call.

Owns the reading of a value by what it shall become: instants in their unit and zone, durations
beside them, words of the table. Refuses a value of another kind, and to guess the unit of a number.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson

from ingest.calls.values import parsed_json
from ingest.readers.clock import UNITS
from ingest.readers.instants import NS_PER_S, held, instant_of_text
from ingest.readers.json_text import tidy
from ingest.readers.mapping_file import DURATIONS, ColumnSource, RowMapping
from ingest.readers.native import call_columns
from ingest.readers.rejection import RecordError
from ingest.records import Call, Json

_NUMBERS: dict[Any, str] = {
    int | None: "int",
    float | None: "float",
    Decimal | None: "money",
    bool | None: "flag",
}
_KINDS = {field.name: _NUMBERS.get(field.type, "text") for field in fields(Call)} | {
    "input_tokens": "int",
    "output_tokens": "int",
}
_FLAGS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOLD_ZONE = re.compile(r"(?:[Zz]|UTC|[+-]\d\d:?\d\d)\s*$")
_MAX_DIGITS = 24


def call_of_row(row: Mapping[str, Any], mapping: RowMapping, identity: str) -> Call:
    """The call that `row` tells. Raises `RecordError` that names the column that is wrong."""
    return Call(**call_columns(mapped_record(row, mapping)), identity=identity)


def mapped_record(row: Mapping[str, Any], mapping: RowMapping) -> dict[str, Any]:
    """The row under the names of the ledger's columns; what is null or empty is left out."""
    zone = mapping.zone
    record: dict[str, Any] = {}
    durations: dict[str, int] = {}
    for name, source in mapping.columns.items():
        value = _given(row, source)
        if value is None or value == "":
            continue
        where = name if source.column in {None, name} else f"{name} ({source.column})"
        if name in DURATIONS:
            durations[name] = _span_of_time(value, source, where)
        elif name.endswith("_at"):
            record[name] = _instant(value, source, zone, where)
        else:
            record[name] = _value(value, name, where)
    _place(durations, record)
    if "endpoint" in record:
        record.setdefault("endpoint_source", "map")
    return record


def identity_of_row(row: Mapping[str, Any], mapping: RowMapping, namespace: str) -> str:
    """The identity of the call of `row`. Raises `RecordError` where a part of it is null."""
    parts = [found(row, name) for name in mapping.table.identity]
    if None in parts:
        empty = mapping.table.identity[parts.index(None)]
        raise RecordError(f"{empty} is null, so the row cannot be told from others")
    return f"table:{namespace}:{orjson.dumps([str(part) for part in parts]).decode()}"


def found(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column; dots lead into its JSON where no column has the whole name."""
    if name in row:
        return row[name]
    head, _, rest = name.partition(".")
    while rest:
        if head in row:
            return _inside(parsed_json(row[head]), rest)
        step, _, rest = rest.partition(".")
        head = f"{head}.{step}"
    return None


def _inside(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = parsed_json(value.get(step)) if isinstance(value, dict) else None
    return value


def _given(row: Mapping[str, Any], source: ColumnSource) -> Any:
    if source.column is None:
        return source.value
    value = found(row, source.column)
    if not source.values or value is None:
        return value
    word = str(value).lower() if isinstance(value, bool) else str(value)
    if word not in source.values:
        raise RecordError(
            f"{source.column} {word[:40]!r} is none of the values that the mapping names: "
            f"{', '.join(source.values)}"
        )
    return source.values[word]


def _instant(value: Any, source: ColumnSource, zone: ZoneInfo, where: str) -> int:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
        since = aware - _EPOCH
        return held((since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1_000)
    if isinstance(value, str) and (number := _number(value)) is None:
        return _instant_of_text(value, zone, where)
    if isinstance(value, str):
        value = number
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise RecordError(f"{where} {str(value)[:40]!r} is no instant")
    if source.unit is None:
        raise RecordError(f"{where} {value!s:.40} is a number; say its unit: s, ms, us or ns")
    return held(_nanoseconds(value, source.unit, where))


def _instant_of_text(text: str, zone: ZoneInfo, where: str) -> int:
    try:
        at = instant_of_text(text)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from error
    if zone.key == "UTC" or _TOLD_ZONE.search(text):
        return at
    local = _EPOCH.replace(tzinfo=zone) + timedelta(microseconds=at // 1_000)
    offset = local.utcoffset() or timedelta()
    return held(at - offset // timedelta(microseconds=1) * 1_000)


def _span_of_time(value: Any, source: ColumnSource, where: str) -> int:
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise RecordError(f"{where} is no duration")
    return _nanoseconds(value, source.unit or "s", where)


def _nanoseconds(value: float | Decimal, unit: str, where: str) -> int:
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not exact.is_finite() or exact.adjusted() > _MAX_DIGITS:
        raise RecordError(f"{where} {value!s:.40} is no number of {unit}")
    return int((exact * UNITS[unit]).to_integral_value())


def _place(durations: Mapping[str, int], record: dict[str, Any]) -> None:
    """Turn durations into the instants that `record` does not tell itself."""
    begin = record.get("arrived_at", record.get("started_at"))
    if begin is None and "ended_at" in record and "duration_s" in durations:
        begin = record["arrived_at"] = record["ended_at"] - durations["duration_s"]
    if begin is None:
        return
    for name, column in zip(DURATIONS, ("started_at", "first_token_at", "ended_at"), strict=True):
        if name in durations:
            record.setdefault(column, held(begin + durations[name]))


def _value(value: Any, name: str, where: str) -> Json:
    kind = _KINDS.get(name, "text")
    if kind == "text":
        return _text(value)
    if kind == "flag":
        return _flag(value, where)
    number = _number(str(value)) if isinstance(value, str | Decimal) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise RecordError(f"{where} {str(value)[:40]!r} is no number")
    if isinstance(number, float) and not math.isfinite(number):
        raise RecordError(f"{where} {number} is no number")
    if abs(number) >= 10**_MAX_DIGITS:
        raise RecordError(f"{where} {number!s:.40} is beyond what is counted")
    if kind == "money":
        return str(number)
    if kind == "float":
        return float(number)
    return int(number) if number == int(number) else float(number)


def _text(value: Any) -> Json:
    if isinstance(value, dict | list):
        return orjson.dumps(tidy(value), default=str).decode()
    if isinstance(value, UUID | Decimal | float | bool | datetime | date):
        return str(value)
    if isinstance(value, bytes | memoryview):
        raise RecordError("bytes stand where a text is asked for")
    return tidy(value) if isinstance(value, str) else value


def _flag(value: Any, where: str) -> bool:
    flag = _FLAGS.get(str(value).strip().lower())
    if flag is None:
        raise RecordError(f"{where} {str(value)[:40]!r} is neither true nor false")
    return flag


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
