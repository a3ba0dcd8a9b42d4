"""Reads spans of Codex that tell what a turn used: a scope, a name and attributes.

Owns the counts of a turn, which are those of all its calls together. Refuses to take a turn for
one call.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.remainders import NOT_ITEMISED
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import instants, with_notes
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"scopeName", "spanName", "attributes"})
_PREFIX = "codex.turn.token_usage."
_USAGE = {
    "input_tokens": "input_tokens",
    "cache_read_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
    "reasoning_tokens": "reasoning_output_tokens",
    "total_tokens": "total_tokens",
}
_NOTE = "what a turn used, in one call or in several"


class CodexTurns:
    """Spans of the turns of Codex."""

    name = "codex-turns"
    title = "Codex spans of turns, JSON"
    recognised_by = "JSON objects with scopeName, spanName and attributes of codex.turn.token_usage"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a span."""
        return opening(head).keys >= _KEYS and _PREFIX.encode() in head

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of lines that are not itemised; they have durations and no instant."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(CodexTurns.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(record_of(document.value), occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    attributes = record_of(record.get("attributes"))
    counts = {name: attributes.get(f"{_PREFIX}{key}") for name, key in _USAGE.items()}
    if not any(count is not None for count in counts.values()):
        raise RecordError(f"no turn of Codex: no attribute {_PREFIX}*")
    turn_id = text_or_none(attributes.get("turn.id"))
    call: dict[str, Any] = {
        "operation": NOT_ITEMISED,
        "model": text_or_none(attributes.get("model")),
        "conversation_id": text_or_none(attributes.get("thread.id")),
        **instants(None, None, None),
        **buckets(**counts).columns(),
    }
    identity = f"{CodexTurns.name}:{turn_id}" if turn_id else None
    return Call(
        identity=identity or occurrences.identity(canonical_bytes(record)),
        **with_notes(call, _NOTE),
    )
