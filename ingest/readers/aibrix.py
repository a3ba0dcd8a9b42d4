"""Reads the workloads of AIBrix: what arrives at one instant a line, each request with its lengths.

Owns the clock of these workloads, which begins at 0 and is kept as time since 1970. Refuses to let
one bad request take the others of its line with it.
"""

from collections.abc import Iterator
from typing import Any

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import Document, records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import NS_PER_MS, held
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import count_of, record_of, tokens_of
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"timestamp", "requests"})
_INPUT, _OUTPUT = ("Prompt Length", "prompt_length"), ("Output Length", "output_length")


class Aibrix:
    """Workloads of AIBrix."""

    name = "aibrix"
    title = "AIBrix workload, JSON lines"
    recognised_by = "JSON lines with timestamp and requests, each of them with a prompt's length"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a line."""
        has_length = any(f'"{key}"'.encode() in head for key in _INPUT)
        return opening(head).keys >= _KEYS and has_length

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls that know their arrival since the workload began, and their counts."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(Aibrix.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            line = record_of(document.value)
            milliseconds = count_of(line, "timestamp")
            requests = line.get("requests")
            if not isinstance(requests, list):
                raise RecordError("requests is no list")
        except ValueError as error:
            yield rejected(document.where, error, document.value)
            continue
        yield from _of_line(document, milliseconds, requests, occurrences)


def _of_line(
    document: Document, milliseconds: int, requests: list[Json], occurrences: Occurrences
) -> Iterator[Call | Reject]:
    for index, request in enumerate(requests):
        try:
            yield _call_of(request, milliseconds, occurrences)
        except ValueError as error:
            yield rejected(document.at(f"requests[{index}]"), error, request)


def _call_of(request: Json, milliseconds: int, occurrences: Occurrences) -> Call:
    record = record_of(request)
    arrived_at = held(milliseconds * NS_PER_MS)
    input_key, output_key = (
        next((key for key in keys if key in record), keys[0]) for keys in (_INPUT, _OUTPUT)
    )
    prompt = record.get("prompt")
    call: dict[str, Any] = {
        "timing_source": "tokens",
        "timing_quality": quality(arrived_at, None, None, None),
        "arrived_at": arrived_at,
        "prompt": prompt if isinstance(prompt, str) else None,
        **buckets(
            input_tokens=tokens_of(record, input_key), output_tokens=tokens_of(record, output_key)
        ).columns(),
    }
    said = {"timestamp": milliseconds, "request": record}
    return Call(identity=occurrences.identity(canonical_bytes(said)), **with_notes(call))
