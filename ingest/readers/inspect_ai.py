"""Reads logs of Inspect AI: an evaluation with its samples, or one sample, of which the model
events are calls.

Owns the one place of three in which a log tells each call's usage. Refuses the sums that samples
and statistics repeat, and answers out of Inspect's own cache, which asked no model.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import quality
from ingest.calls.tokens import buckets
from ingest.files import Source
from ingest.readers.call_notes import with_notes
from ingest.readers.documents import Document, records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.native_columns import native_value
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, object_at, record_of
from ingest.readers.rejection import rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_LOG = frozenset({"eval", "plan", "status"})
_SAMPLE = frozenset({"id", "epoch", "input", "target"})
_PARAMETERS = ("max_tokens", "temperature", "top_p", "seed")
_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "cache_read_tokens": "input_tokens_cache_read",
    "cache_write_tokens": "input_tokens_cache_write",
    "reasoning_tokens": "reasoning_tokens",
}


class InspectAi:
    """Logs of Inspect AI."""

    name = "inspect-ai"
    title = "Inspect AI evaluation log, JSON"
    recognised_by = "a JSON object with eval, plan and status, or a sample with epoch and target"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a log or a sample of one."""
        keys = opening(head).keys
        return keys >= _LOG or keys >= _SAMPLE

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls with their begin and end."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(InspectAi.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        value = document.value
        evaluation = value.get("eval") if isinstance(value, dict) else None
        task = evaluation.get("task") if isinstance(evaluation, dict) else None
        for position, sample in _samples(document):
            yield from _of_sample(position, sample, text_or_none(task), occurrences)


def _samples(document: Document) -> Iterator[tuple[str, Json]]:
    """Each sample of a log with its position; a document without samples is one itself."""
    value = document.value
    if not isinstance(value, dict) or not value.keys() & _LOG:
        yield document.position, value
        return
    samples = value.get("samples") or []
    if not isinstance(samples, list):
        yield document.at("samples"), samples
        return
    for index, sample in enumerate(samples):
        yield document.at(f"samples[{index}]"), sample


def _of_sample(
    position: str, sample: Json, task: str | None, occurrences: Occurrences
) -> Iterator[Call | Reject]:
    events = sample.get("events") if isinstance(sample, dict) else None
    if not isinstance(events, list):
        yield rejected(position or "the document", "no sample: no list of events", sample)
        return
    sample_id = text_or_none(sample.get("uuid"))
    for index, event in enumerate(events):
        where = f"{position}, events[{index}]" if position else f"events[{index}]"
        try:
            record = record_of(event)
            if record.get("event") == "model" and record.get("cache") != "read":
                identity = _identity(record, sample_id, index, occurrences)
                yield Call(identity=identity, feature=task, **_columns(record))
        except ValueError as error:
            yield rejected(where, error, event)


def _identity(
    record: Mapping[str, Json], sample_id: str | None, index: int, occurrences: Occurrences
) -> str:
    """The event's own id, its place in its sample, or what it says: the first that is known."""
    event_id = text_or_none(record.get("uuid"))
    if event_id is not None:
        return f"{InspectAi.name}:{event_id}"
    if sample_id is not None:
        return f"{InspectAi.name}:{sample_id}:{index}"
    return occurrences.identity(canonical_bytes(record))


def _columns(record: Mapping[str, Json]) -> dict[str, Any]:
    output = object_at(record, "output")
    arrived_at, ended_at = (instant_or_none(record, key) for key in ("timestamp", "completed"))
    status = "error" if record.get("error") or output.get("error") else "ok"
    if record.get("pending") is True and status == "ok":
        status = "cancelled"
    usage = object_at(output, "usage")
    call: dict[str, Any] = {
        "status": status,
        "model": text_or_none(output.get("model")),
        "model_requested": text_or_none(record.get("model")),
        "finish_reason": _finish_reason(output),
        "arrived_at": arrived_at,
        "ended_at": ended_at,
        "timing_source": "tokens" if None in (arrived_at, ended_at) else "span",
        "timing_quality": quality(arrived_at, None, None, ended_at),
        **buckets(**{name: usage.get(key) for name, key in _USAGE.items()}).columns(),
        **_parameters(object_at(record, "config")),
    }
    return with_notes(call)


def _parameters(config: Mapping[str, Json]) -> dict[str, Any]:
    """What the call was asked with, as far as the log says."""
    given = {name: config.get(name) for name in _PARAMETERS}
    return {name: native_value(name, value) for name, value in given.items() if value is not None}


def _finish_reason(output: Mapping[str, Json]) -> str | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return text_or_none(first.get("stop_reason")) if isinstance(first, dict) else None
