"""Reads the native format: JSON lines whose keys are the columns of `calls`.

Owns the way in for a system without OpenTelemetry, and the way back for an exported ledger.
Refuses keys that are no columns, each with the nearest name that is one.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.calls.missing import missing_note
from ingest.calls.timing import INSTANTS, outside_notes, quality
from ingest.files import Source
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.json_text import NOT_FINITE
from ingest.readers.native_columns import (
    COLUMNS,
    INTERNAL_COLUMNS,
    NUMBERS,
    TOTAL_COLUMNS,
    native_value,
)
from ingest.readers.native_tokens import replayed_columns, token_columns
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Json, Reject

_TELLING = frozenset({"call_id", "arrived_at", "started_at", "ended_at", *TOTAL_COLUMNS})
_WORSE = ("ok", "unknown", "invalid")
_KNOWN = frozenset({*COLUMNS, *INTERNAL_COLUMNS, *TOTAL_COLUMNS, "call_id", "pool"})


class Native:
    """JSON lines with the columns of `calls`."""

    name = "native"
    title = "native format, JSON lines"
    recognised_by = (
        "JSON lines of which most keys are columns of `calls`, an instant, a total or call_id among"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object has such keys; one that is misspelt is found when reading."""
        keys = opening(head).keys
        known = keys & _KNOWN
        return bool(known & _TELLING) and len(known) >= 2 and 2 * len(known) >= len(keys)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(Native.name)
    for document in records(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(document.value, occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_of(value: Json, occurrences: Occurrences) -> Call:
    record = record_of(value)
    columns = call_columns(record)
    return Call(**columns, identity=_identity(record, columns, occurrences))


def call_columns(record: Mapping[str, Json]) -> dict[str, Any]:
    """The columns of a call, all but its identity, from a record whose keys are columns.

    Raises `RecordError` for a key that is no column and for a value of another kind.
    """
    _refuse_unknown(record)
    given = {
        key: native_value(key, item)
        for key, item in record.items()
        if item is not None and item not in NOT_FINITE and (key in COLUMNS or key in TOTAL_COLUMNS)
    }
    if record.get("pool") is not None:
        given.setdefault("pool_reported", native_value("pool_reported", record["pool"]))
    if "retry_of" in given:
        given["retry_of"] = f"call_id:{given['retry_of']}"
    given |= token_columns(given)
    if given.get("is_cache_hit"):
        given |= replayed_columns(given)
    given = {key: item for key, item in given.items() if key not in TOTAL_COLUMNS}
    columns = {**_derived(given), **given, "timing_quality": _judged(given)}
    columns["tokens_note"] = _note(columns, _no_counts(record))
    return columns


def _refuse_unknown(record: Mapping[str, Json]) -> None:
    for key in record:
        if key not in _KNOWN:
            near = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]!r}?" if near else "it is no column of calls"
            raise RecordError(f"unknown key {key[:60]!r}; {hint}")


def _derived(given: Mapping[str, Any]) -> dict[str, Any]:
    """What follows from the given columns where it is not given itself."""
    arrived_at, started_at = given.get("arrived_at"), given.get("started_at")
    first_token_at, ended_at = given.get("first_token_at"), given.get("ended_at")
    source = "tokens"
    if ended_at is not None and (started_at is not None or arrived_at is not None):
        source = "span"
        if first_token_at is not None:
            is_queue_known = arrived_at is not None and started_at is not None
            source = "engine" if is_queue_known else "stream"
    return {
        "timing_source": source,
        "status": "error" if "error_type" in given else "ok",
        "endpoint_source": "record" if "endpoint" in given else None,
    }


def _judged(given: Mapping[str, Any]) -> str:
    """The worse of the timing quality that is given and the one that the instants show."""
    shown: str = quality(*(given.get(column) for column in INSTANTS))
    stated: str = given.get("timing_quality", shown)
    return max(shown, stated, key=_WORSE.index)


def _no_counts(record: Mapping[str, Json]) -> list[str]:
    """What stands in place of a number and is none, for each column of numbers."""
    return [
        f"{key} {item} is no {'count' if key.endswith('_tokens') else 'number'}"
        for key, item in record.items()
        if key in NUMBERS and item in NOT_FINITE
    ]


def _note(columns: Mapping[str, Any], no_counts: Sequence[str]) -> str | None:
    """The note of a row, and what is to be said of its tokens and times unless it says so.

    A row that has a note says of itself why tokens are missing.
    """
    note: str = columns.get("tokens_note") or ""
    missing = missing_note(
        columns.get("uncached_input_tokens"),
        columns.get("visible_output_tokens"),
        status=columns["status"],
        http_status=columns.get("http_status"),
        is_stream=columns.get("stream") is True,
        operation=columns.get("operation", "chat"),
    )
    said = [*no_counts, *([missing] if missing and not note else []), *outside_notes(columns)]
    more = [each for each in said if each not in note]
    return "; ".join([*([note] if note else []), *more]) or None


def _identity(
    record: Mapping[str, Json], given: Mapping[str, Any], occurrences: Occurrences
) -> str:
    """The call's own id, its span's, or what the record says: the first that is known."""
    call_id = record.get("call_id")
    if call_id is not None:
        if not isinstance(call_id, str) or not call_id:
            raise RecordError(f"call_id {str(call_id)[:40]!r} is no text")
        return f"call_id:{call_id}"
    if "trace_id" in given and "span_id" in given:
        return f"span:{given['trace_id']}:{given['span_id']}"
    return occurrences.identity(canonical_bytes(record))
