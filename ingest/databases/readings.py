"""How the rows of one table are read: which columns, in which order, and what becomes of a row.

Owns the spend logs of LiteLLM, which need no mapping, and tables that a mapping describes. Refuses
a mapping of columns that the table has not, each with the nearest that it has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson

from ingest.config import MAPPABLE_COLUMNS
from ingest.databases.shape import Shape
from ingest.errors import ConfigurationError
from ingest.readers.identity import Occurrences
from ingest.readers.litellm import LiteLlm, call_of_log
from ingest.readers.mapped_rows import call_of_row, identity_of_row, mapped_record
from ingest.readers.mapping_file import RowMapping, TableTerms, lag_of, nearest
from ingest.readers.native_columns import native_value
from ingest.records import Call

Row = Mapping[str, Any]

SPEND_LOGS = "LiteLLM_SpendLogs"
TABLE_FORMAT = "table"

_SPEND_LOG_TEXTS = ("messages", "response")
_SPEND_LOG_COLUMNS = (
    "request_id",
    "call_type",
    "api_key",
    "spend",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens",
    "startTime",
    "endTime",
    "completionStartTime",
    "model",
    "model_id",
    "model_group",
    "custom_llm_provider",
    "api_base",
    "user",
    "metadata",
    "cache_hit",
    "request_tags",
    "team_id",
    "organization_id",
    "end_user",
    "session_id",
    "status",
    "updated_at",
    *_SPEND_LOG_TEXTS,
)
"""What is asked of the table, as far as its version has it."""
_TELLING_TERMS = ("identity", "namespace", "timezone", "watermark", "changed")
"""What of `[table]` decides on the calls; another lag reads no row anew."""
_SPEND_LOG_TYPED = ("startTime", "endTime", "completionStartTime", "spend")
"""Columns that a driver gives as a time or as a decimal."""
_SPEND_LOG_NEEDED = ("request_id", "startTime", "endTime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One table as it is read. `watermark` None reads all rows each time.

    `unit` is that of a watermark that is a number counted since 1970. `summed` are columns that
    count tokens. `namespace` None is a table whose ids are the same in every database.
    """

    format_name: str
    columns: tuple[str, ...]
    identity: tuple[str, ...]
    call_of: Callable[[Row], Call]
    watermark: str | None
    unit: str | None = None
    summed: tuple[str, ...] = ()
    changed: str | None = None
    lag: timedelta
    is_checked: bool = True
    namespace: str | None = None
    said: str = ""
    """What besides the columns decides on the calls: the mapping, as text."""

    def position(self, row: Row) -> str:
        """Where a row stands, for its reject."""
        return ", ".join(f"{name}={row.get(name)!s:.80}" for name in self.identity)


def is_spend_logs(shape: Shape) -> bool:
    """Whether the table is that of LiteLLM's proxy."""
    return shape.name == SPEND_LOGS and all(name in shape.types for name in _SPEND_LOG_NEEDED)


def spend_logs(shape: Shape, mapping: RowMapping | None, *, with_texts: bool) -> Reading:
    """LiteLLM's spend logs; a mapping may say more of who pays."""
    terms = TableTerms() if mapping is None else mapping.table
    more = () if mapping is None else _columns_of(shape, mapping)
    _refuse_more_than_who_pays(mapping)
    known = [name for name in _SPEND_LOG_COLUMNS if name in shape.types]
    columns = [name for name in known if with_texts or name not in _SPEND_LOG_TEXTS]
    updated = "updated_at" if "updated_at" in shape.types else None
    return Reading(
        format_name=LiteLlm.name,
        columns=tuple(dict.fromkeys([*columns, *more])),
        identity=("request_id",),
        call_of=_spend_log_reader(shape, mapping),
        watermark=terms.watermark or "startTime",
        summed=tuple(name for name in columns if name.endswith("_tokens")),
        changed=terms.changed or updated,
        lag=lag_of(terms),
        is_checked=terms.check,
        said=_said(mapping),
    )


def mapped_table(shape: Shape, mapping: RowMapping) -> Reading:
    """A table as a mapping describes it. Raises `ConfigurationError` that says what to change."""
    columns = _columns_of(shape, mapping)
    terms = mapping.table
    if not mapping.columns:
        raise ConfigurationError(
            f"the mapping has no [columns], so nothing of {shape.shown} can be read; "
            "see the proposal of `gpuledger ingest ADDRESS --table NAME`"
        )
    identity = terms.identity or shape.primary_key
    if not identity:
        raise ConfigurationError(
            f"{shape.shown} has no primary key; name the columns that tell one call from another "
            'in [table] identity = ["…"]'
        )
    known = _with_identity(mapping, identity)
    namespace = terms.namespace or terms.name or shape.shown
    return Reading(
        format_name=TABLE_FORMAT,
        columns=tuple(dict.fromkeys([*columns, *identity])),
        identity=identity,
        call_of=lambda row: call_of_row(row, known, identity_of_row(row, known, namespace)),
        watermark=terms.watermark,
        unit=_unit_of_watermark(mapping),
        summed=_counts_of_tokens(shape, mapping),
        changed=terms.changed,
        lag=lag_of(terms),
        is_checked=terms.check,
        namespace=None if terms.namespace else namespace,
        said=_said(known),
    )


def _with_identity(mapping: RowMapping, identity: tuple[str, ...]) -> RowMapping:
    """The mapping with `identity` in place of its own."""
    table = TableTerms(**{**_fields(mapping.table), "identity": identity})
    return RowMapping(table=table, columns=mapping.columns)


def _fields(terms: TableTerms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in terms.__struct_fields__}


def _spend_log_reader(shape: Shape, mapping: RowMapping | None) -> Callable[[Row], Call]:
    occurrences = Occurrences(LiteLlm.name)
    typed = [name for name in _SPEND_LOG_TYPED if name in shape.types]

    def call_of(row: Row) -> Call:
        record = dict(row)
        for name in typed:
            record[name] = _as_logged(row.get(name))
        call = call_of_log(record, occurrences)
        if mapping is None or not mapping.columns:
            return call
        more = mapped_record(row, mapping)
        if "pool" in more:
            more["pool_reported"] = more.pop("pool")
        return replace(call, **{name: native_value(name, item) for name, item in more.items()})

    return call_of


def _as_logged(value: Any) -> Any:
    """A time or an amount as an export of the table has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _refuse_more_than_who_pays(mapping: RowMapping | None) -> None:
    for name in () if mapping is None else mapping.columns:
        if name not in MAPPABLE_COLUMNS:
            raise ConfigurationError(
                f"[columns] {name}: the rows of {SPEND_LOGS} tell that themselves; "
                f"{nearest(name, MAPPABLE_COLUMNS)}"
            )


def _columns_of(shape: Shape, mapping: RowMapping) -> tuple[str, ...]:
    """The columns of the table that the mapping reads from."""
    return tuple(dict.fromkeys(_column_of(shape, name) for name in mapping.read_columns()))


def _counts_of_tokens(shape: Shape, mapping: RowMapping) -> tuple[str, ...]:
    counts = (source for name, source in mapping.columns.items() if name.endswith("_tokens"))
    named = (source.column for source in counts)
    return tuple(dict.fromkeys(name for name in named if name in shape.types))


def _column_of(shape: Shape, name: str) -> str:
    head = name
    while head not in shape.types:
        head, dot, _ = head.rpartition(".")
        if not dot:
            raise ConfigurationError(
                f"the mapping reads {name!r}, which {shape.shown} has not; "
                f"{nearest(name, shape.types)}"
            )
    return head


def _unit_of_watermark(mapping: RowMapping) -> str | None:
    """The unit that the mapping gives the column of the watermark where it is also an instant."""
    for name, source in mapping.columns.items():
        if source.column == mapping.table.watermark and name.endswith("_at"):
            return source.unit
    return None


def _said(mapping: RowMapping | None) -> str:
    """What decides on the calls beside the columns that are read."""
    if mapping is None:
        mapping = RowMapping(table=TableTerms(), columns={})
    sources = {
        name: [source.column, source.unit, source.value, source.values]
        for name, source in mapping.columns.items()
    }
    terms = {name: getattr(mapping.table, name) for name in _TELLING_TERMS}
    return orjson.dumps([terms, sources], option=orjson.OPT_SORT_KEYS).decode()
