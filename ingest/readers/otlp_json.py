"""Reads OTLP traces as JSON: one document, or one a line.

Owns the difference between the two for a name to be shown; both read either, and requests of logs
and of metrics among those of traces. Refuses a document that is none of these.
"""

import re
from collections.abc import Iterator

from ingest.files import Source
from ingest.readers.documents import MAX_DOCUMENT_BYTES, Document, documents
from ingest.readers.opening import Opening, opening
from ingest.readers.otlp_json_spans import spans_of_document
from ingest.readers.otlp_logs import LOGS, told_by_document
from ingest.readers.otlp_metrics import METRIC_KEYS, samples_of_document
from ingest.readers.reader import Record, batches
from ingest.readers.samples import as_records
from ingest.records import Batch

_TRACES = frozenset({"resourceSpans", "resource_spans"})
_TRACES_LINE = re.compile(rb'^\s*\{\s*"resource(Spans|_spans)"', re.MULTILINE)


class OtlpJson:
    """One OTLP export request as JSON."""

    name = "otlp-json"
    title = "OTLP traces, one JSON document"
    recognised_by = "a JSON object with the key resourceSpans"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the head begins such an object."""
        return bool(opening(head).keys & _TRACES)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans."""
        return batches(_records(source))


class OtlpJsonLines:
    """OTLP export requests as JSON, one after the other."""

    name = "otlp-jsonl"
    title = "OTLP traces, JSON lines (collector file exporter)"
    recognised_by = "several JSON objects with the key resourceSpans, mostly one a line"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether there is a second document, and traces among the first ones."""
        first = opening(head)
        if first.is_array or not (first.keys & _TRACES or _TRACES_LINE.search(head)):
            return False
        return first.has_more or _has_second_line(first, head, source)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans; a line that is no JSON is rejected by itself."""
        return batches(_records(source))


def _has_second_line(first: Opening, head: bytes, source: Source) -> bool:
    """Whether more follows a first line that is longer than the head."""
    if first.is_complete or b"\n" in head.lstrip():
        return False
    with source.open() as stream:
        stream.readline(MAX_DOCUMENT_BYTES)
        return bool(stream.readline(len(head)).strip())


def _records(source: Source) -> Iterator[Record]:
    for document in documents(source, names_nan=True):
        if not isinstance(document, Document):
            yield document
        elif isinstance(document.value, dict) and document.value.keys() & LOGS:
            yield from told_by_document(document)
        elif isinstance(document.value, dict) and document.value.keys() & METRIC_KEYS:
            yield from as_records(samples_of_document(document))
        else:
            yield from spans_of_document(document)
