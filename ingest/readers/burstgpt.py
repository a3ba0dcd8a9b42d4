"""Reads the BurstGPT traces: an arrival, two counts and a model a row, in later releases the
session and the elapsed time too.

Owns the clock of these traces, which begins at midnight of their first day and is kept as time
since 1970. Refuses to read the 0 of a failed request as a count of its prompt.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from ingest.calls.timing import outside_notes, quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import NS_PER_S, held
from ingest.readers.reader import batches
from ingest.readers.record_fields import tokens_of
from ingest.readers.rejection import RecordError
from ingest.readers.trace_rows import Row, calls_of_rows, has_columns
from ingest.records import Batch, Call

_COLUMNS = ("Timestamp", "Model", "Request tokens", "Response tokens")
_NO_PROMPT = "a request of 0 tokens: its input is unknown"


class BurstGpt:
    """The BurstGPT traces."""

    name = "burstgpt"
    title = "BurstGPT trace, CSV"
    recognised_by = "a CSV header with Timestamp, Model, Request tokens and Response tokens"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first line is that header."""
        return has_columns(head, _COLUMNS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls; one without an answer is an error, as the traces define it."""
        occurrences = Occurrences(self.name)
        return batches(calls_of_rows(source, _COLUMNS, lambda row: _call_of(row, occurrences)))


def _call_of(record: Row, occurrences: Occurrences) -> Call:
    arrived = _seconds(record, "Timestamp")
    if arrived is None:
        raise RecordError("Timestamp is missing")
    elapsed = _seconds(record, "Elapsed time")
    arrived_at = _instant(arrived)
    ended_at = None if elapsed is None else _instant(arrived + elapsed)
    input_tokens = tokens_of(record, "Request tokens")
    output_tokens = tokens_of(record, "Response tokens")
    call: dict[str, Any] = {
        "status": "ok" if output_tokens else "error",
        "model": record["Model"],
        "feature": record.get("Log Type"),
        "conversation_id": record.get("Session ID"),
        "arrived_at": arrived_at,
        "ended_at": ended_at,
        "timing_source": "tokens" if ended_at is None else "span",
        "timing_quality": quality(arrived_at, None, None, ended_at),
        **buckets(
            input_tokens=input_tokens or None,
            output_tokens=output_tokens,
            total_tokens=record.get("Total tokens") if input_tokens else None,
        ).columns(),
    }
    notes = [call["tokens_note"], None if input_tokens else _NO_PROMPT, *outside_notes(call)]
    call["tokens_note"] = "; ".join(note for note in notes if note) or None
    return Call(identity=occurrences.identity(canonical_bytes(record)), **call)


def _seconds(record: Row, column: str) -> Decimal | None:
    """A count of seconds, None where the column or its cell is absent."""
    text = record.get(column)
    if text is None:
        return None
    try:
        seconds = Decimal(text)
    except InvalidOperation:
        seconds = Decimal("nan")
    if not seconds.is_finite() or seconds.adjusted() > 18:
        raise RecordError(f"{column} {text[:40]!r} is no number of seconds")
    return seconds


def _instant(seconds: Decimal) -> int:
    return held(int(seconds * NS_PER_S))
