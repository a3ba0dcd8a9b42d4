"""A mapping file: which column of a table, or of a file of records, is which column of a call.

Owns the form of the file and what is said of one that cannot be meant so. The same file maps a
table of a database and an export of that table. Refuses columns that no call has, each with the
nearest that one has.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from ingest.config_file import read_toml
from ingest.config_values import refuse_wrong_values
from ingest.errors import ConfigurationError
from ingest.readers.native_columns import COLUMNS, TOTAL_COLUMNS

Unit = Literal["s", "ms", "us", "ns"]
UNITS: tuple[str, ...] = get_args(Unit)

DURATIONS = ("queue_s", "ttft_s", "duration_s")
"""What a table may tell in place of an instant: seconds in the queue, until the first token, and
until the end, all of them since `arrived_at`, or since `started_at` where that is told alone."""
MAPPED_COLUMNS = frozenset({*COLUMNS, *TOTAL_COLUMNS, *DURATIONS, "pool"})
TABLES = ("table", "columns")

DEFAULT_LAG = timedelta(hours=1)
_LAG = re.compile(r"(\d+) ?(s|min|h|d)")
_LAG_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


class TableTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What `[table]` says of the rows as a whole.

    `identity` are the columns that tell one call from every other. Of a database: `name` is the
    table, `watermark` the column by which new rows are found, `changed` one that moves when a row
    is changed, `lag` how late a row may appear, `check` whether rows that came later are looked
    for. `namespace` stands before the identity where several tables have the same ids.
    """

    name: str | None = None
    identity: tuple[str, ...] = ()
    namespace: str | None = None
    watermark: str | None = None
    changed: str | None = None
    lag: str | None = None
    check: bool = True
    timezone: str = "UTC"


class ColumnSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where one column of a call comes from: a column, by dots also inside of JSON, or a value.

    `unit` is that of an instant that is a number, counted since 1970, or of a duration. `values`
    are the words of the table and those of the ledger that they mean.
    """

    column: str | None = None
    unit: Unit | None = None
    value: str | int | float | bool | None = None
    values: dict[str, str] = {}


class RowMapping(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping file as understood: column of a call to its source."""

    table: TableTerms
    columns: dict[str, ColumnSource]

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of instants that tell none."""
        return ZoneInfo(self.table.timezone)

    def read_columns(self) -> list[str]:
        """The names that a row is asked for, with dots where they may lie inside of JSON."""
        terms = self.table
        named = [source.column for source in self.columns.values() if source.column is not None]
        more = [name for name in (terms.watermark, terms.changed) if name is not None]
        return list(dict.fromkeys([*terms.identity, *named, *more]))


def is_row_mapping(raw: Mapping[str, Any]) -> bool:
    """Whether the tables of a TOML file are those of a mapping of rows."""
    return any(name in raw for name in TABLES)


def load_mapping(path: Path) -> RowMapping:
    """The mapping in the file at `path`. Raises `ConfigurationError` that says what to change."""
    return mapping_of(read_toml(path), str(path))


def mapping_of(raw: Mapping[str, Any], path: str) -> RowMapping:
    """The mapping that the tables of a file say; `path` is named in errors."""
    _refuse_unknown(raw, TABLES, path, "")
    terms = raw.get("table", {})
    sources = raw.get("columns", {})
    for name, value in (("table", terms), ("columns", sources)):
        if not isinstance(value, dict):
            raise ConfigurationError(f"{path}: {name} must be a table, under [{name}]")
    table = _terms(terms, path)
    columns = {name: _source(name, source, path) for name, source in sources.items()}
    mapping = RowMapping(table=table, columns=columns)
    _refuse_contradictions(mapping, path)
    return mapping


def lag_of(terms: TableTerms) -> timedelta:
    """How late a row may appear after the instant that its watermark tells."""
    return DEFAULT_LAG if terms.lag is None else _duration(terms.lag, "[table] lag")


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for a name that is not known: the nearest that is, else all of them."""
    names = sorted(known)
    folded = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return f"did you mean {folded[near[0]]!r}?" if near else f"known: {', '.join(names)}"


def _terms(raw: dict[str, Any], path: str) -> TableTerms:
    _refuse_unknown(raw, TableTerms.__struct_fields__, path, "[table] ")
    given = dict(raw)
    if isinstance(given.get("identity"), str):
        given["identity"] = [given["identity"]]
    refuse_wrong_values(given, TableTerms, path)
    terms = msgspec.convert(given, TableTerms, strict=True)
    if terms.lag is not None:
        _duration(terms.lag, f"{path}: [table] lag")
    try:
        ZoneInfo(terms.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f"{path}: [table] timezone {terms.timezone!r} is unknown; use a name such as Asia/Tokyo"
        ) from None
    return terms


def _source(name: str, raw: Any, path: str) -> ColumnSource:
    if name not in MAPPED_COLUMNS:
        hint = nearest(name, MAPPED_COLUMNS)
        raise ConfigurationError(f"{path}: [columns] cannot fill {name!r}; {hint}")
    if isinstance(raw, str):
        return ColumnSource(column=raw)
    if not isinstance(raw, dict):
        raise ConfigurationError(
            f"{path}: [columns] {name} must be the name of a column in quotes, or a table such as "
            '{ column = "started", unit = "ms" } or { value = "chat" }'
        )
    where = f"[columns] {name}."
    _refuse_unknown(raw, ColumnSource.__struct_fields__, path, where)
    try:
        source = msgspec.convert(raw, ColumnSource, strict=True)
    except msgspec.ValidationError:
        raise ConfigurationError(_wrong_source(raw, f"{path}: {where}")) from None
    if (source.column is None) == (source.value is None):
        raise ConfigurationError(
            f"{path}: [columns] {name} needs either a column or a value, not both"
        )
    return source


def _wrong_source(raw: Mapping[str, Any], where: str) -> str:
    if raw.get("unit", "s") not in UNITS:
        return f"{where}unit is {raw['unit']!r}; it must be {', '.join(map(repr, UNITS))}"
    if not isinstance(raw.get("column", ""), str):
        return f"{where}column must be the name of a column in quotes"
    return f'{where}values must be a table of texts, such as {{ failure = "error" }}'


def _refuse_contradictions(mapping: RowMapping, path: str) -> None:
    columns = mapping.columns
    for name, source in columns.items():
        if source.unit is not None and not (name.endswith("_at") or name in DURATIONS):
            raise ConfigurationError(
                f"{path}: [columns] {name} is no time, so it has no unit; remove unit"
            )
    if set(DURATIONS) & set(columns) and not {"arrived_at", "started_at", "ended_at"} & set(
        columns
    ):
        raise ConfigurationError(
            f"{path}: a duration needs an instant that it is counted from; "
            "map arrived_at, or ended_at with duration_s"
        )
    if "call_id" in columns or "identity" in columns:
        raise ConfigurationError(f"{path}: name the columns of the id in [table] identity")


def _refuse_unknown(raw: Mapping[str, Any], known: Iterable[str], path: str, where: str) -> None:
    for key in raw:
        if key not in known:
            raise ConfigurationError(f"{path}: unknown key {where}{key!r}; {nearest(key, known)}")


def _duration(text: str, where: str) -> timedelta:
    match = _LAG.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f'{where} is {text!r}; write a number with s, min, h or d, such as "90 min"'
        )
    return timedelta(**{_LAG_UNITS[match[2]]: int(match[1])})
