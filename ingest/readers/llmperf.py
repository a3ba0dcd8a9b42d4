"""Reads the individual responses of LLMPerf: counts and durations of a request, without instants.

Owns the durations that have no place in time, which are kept in words. Refuses the file of
summaries that LLMPerf writes beside them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of, seconds_or_none, whole_number_or_none
from ingest.readers.rejection import RecordError, rejected
from ingest.records import Batch, Call, Json, Reject

_KEYS = frozenset({"number_input_tokens", "number_output_tokens", "error_code"})
_DURATIONS = {"ttft_s": "the first token", "end_to_end_latency_s": "the answer"}


class LlmPerf:
    """Individual responses of LLMPerf."""

    name = "llmperf"
    title = "LLMPerf individual responses, JSON"
    recognised_by = "JSON objects with number_input_tokens, number_output_tokens and error_code"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a response."""
        return opening(head).keys >= _KEYS

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls without a place in time."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(LlmPerf.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _call_of(record_of(document.value), occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    if not _KEYS & record.keys():
        raise RecordError("no response of LLMPerf: none of its counts")
    code = whole_number_or_none(record.get("error_code"), "error_code")
    status = "ok" if code is None else "error"
    call: dict[str, Any] = {
        "status": status,
        "http_status": code if code is not None and 100 <= code < 600 else None,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, None),
        **_tokens(record, status),
    }
    call = with_notes(call, _durations(record))
    return Call(identity=occurrences.identity(canonical_bytes(record)), **call)


def _tokens(record: Mapping[str, Json], status: str) -> dict[str, Any]:
    """The buckets; a request that failed has counts of 0 that say nothing."""
    counts = [record.get(f"number_{what}_tokens") for what in ("input", "output", "total")]
    if status == "error":
        counts = [count or None for count in counts]
    return buckets(
        input_tokens=counts[0], output_tokens=counts[1], total_tokens=counts[2]
    ).columns()


def _durations(record: Mapping[str, Json]) -> str | None:
    """What a response took, in words: without an instant it has no place in time."""
    took = {name: seconds_or_none(record, key) for key, name in _DURATIONS.items()}
    known = [f"{name} after {seconds:g} s" for name, seconds in took.items() if seconds]
    return f"no instant: {', '.join(known)}" if known else None
