"""Reads the Mooncake traces: relative arrivals, lengths, and the hashes of prompt blocks.

Owns the clock of these traces, which begins at 0 and is kept as time since 1970. Refuses a block
length that the counts do not confirm.
"""

from collections.abc import Iterator
from typing import Any

from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import instants, with_notes
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import NS_PER_MS, held
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import count_of, record_of, tokens_of, whole_number_or_none
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Json, Reject

BLOCK_TOKENS = 512
"""Tokens of a hashed block, by the description of the traces."""

_KEYS = frozenset({"timestamp", "input_length", "output_length"})


class Mooncake:
    """The Mooncake traces."""

    name = "mooncake"
    title = "Mooncake trace, JSON lines"
    recognised_by = "JSON lines with timestamp, input_length and output_length"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a request."""
        return opening(head).keys >= _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know their arrival since the trace began, and their counts."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(Mooncake.name)
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
    arrived_at = held(count_of(record, "timestamp") * NS_PER_MS)
    input_tokens = tokens_of(record, "input_length")
    counts = buckets(input_tokens=input_tokens, output_tokens=tokens_of(record, "output_length"))
    hashes = _hashes(record.get("hash_ids"))
    is_confirmed = hashes is not None and len(hashes) == -(-input_tokens // BLOCK_TOKENS)
    call: dict[str, Any] = {
        "prefix_hashes": hashes,
        "prefix_block_tokens": BLOCK_TOKENS if is_confirmed else None,
        **instants(arrived_at, None, None),
        **counts.columns(),
    }
    note = None
    if hashes is not None and not is_confirmed:
        note = (
            f"{len(hashes)} hashed blocks are not {input_tokens} tokens in blocks of {BLOCK_TOKENS}"
        )
    return Call(identity=occurrences.identity(canonical_bytes(record)), **with_notes(call, note))


def _hashes(value: Json) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise RecordError(f"hash_ids is no list but {str(value)[:40]!r}")
    hashes = [whole_number_or_none(item, "a hash id") for item in value]
    if None in hashes:
        raise RecordError("hash_ids contains null")
    return tuple(item for item in hashes if item is not None)
