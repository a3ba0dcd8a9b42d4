"""Reads traces in Jaeger's JSON: what its query API answers and its UI downloads.

Owns microseconds, typed tags and processes. Refuses nothing that Jaeger itself shows: ids without
leading zeros and single traces without a wrapper are read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.files import Source
from ingest.readers.documents import Document, documents
from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, short_hex_id
from ingest.readers.instants import NS_PER_US, held, whole_instant
from ingest.readers.json_text import NOT_FINITE, bounded
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import (
    KINDS,
    STATUSES,
    double_of_text,
    integer_of_text,
    text_or_none,
    with_ids,
)
from ingest.records import Batch, Json, Reject, Span, SpanEvent

_ANSWER_KEYS = frozenset({"data", "total", "limit", "offset", "errors"})


class JaegerJson:
    """Traces in Jaeger's JSON."""

    name = "jaeger-json"
    title = "Jaeger traces, JSON"
    recognised_by = "a JSON object with traceID, spans and processes, alone or in a list `data`"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a trace of Jaeger's or an answer of its API."""
        keys = opening(head).keys
        if {"traceID", "spans"} <= keys:
            return True
        return "data" in keys and (keys >= _ANSWER_KEYS or b'"traceID"' in head)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans."""
        return batches(_records(source))


def _records(source: Source) -> Iterator[Span | Reject]:
    for document in documents(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
            continue
        for position, trace in _traces(document):
            yield from _spans(trace, position)


def _traces(document: Document) -> Iterator[tuple[str, Json]]:
    """Each trace of a document with its position."""
    value = document.value
    if isinstance(value, dict) and "data" in value:
        value, path = value["data"] or [], "data"
    else:
        path = ""
    if isinstance(value, list):
        for index, trace in enumerate(value):
            yield document.at(f"{path}[{index}]"), trace
    else:
        yield document.position or "the trace", value


def _spans(trace: Json, position: str) -> Iterator[Span | Reject]:
    spans = trace.get("spans") if isinstance(trace, dict) else None
    if not isinstance(spans, list):
        yield rejected(position, "no trace: no object with a list of spans", trace)
        return
    processes = _Processes(trace.get("processes"))
    for index, span in enumerate(spans):
        where = f"{position}.spans[{index}]"
        try:
            yield _span_of(span, trace, processes)
        except ValueError as error:
            yield rejected(where, error, span)


class _Processes:
    """The processes of a trace as resources, each converted once."""

    def __init__(self, processes: Json) -> None:
        self._processes = processes if isinstance(processes, dict) else {}
        self._resources: dict[str, dict[str, Json]] = {}

    def resource_of(self, span: Mapping[str, Json]) -> dict[str, Json]:
        """The resource of a span: of its own process, or of the one that it names."""
        inline = span.get("process")
        if isinstance(inline, dict):
            return _resource(inline)
        process_id = span.get("processID")
        if not isinstance(process_id, str):
            return {}
        if process_id not in self._resources:
            self._resources[process_id] = _resource(self._processes.get(process_id))
        return self._resources[process_id]


def _resource(process: Json) -> dict[str, Json]:
    if not isinstance(process, dict):
        return {}
    resource = _tags(process.get("tags"))
    if process.get("serviceName"):
        resource["service.name"] = str(process["serviceName"])
    return resource


def _span_of(span: Json, trace: Mapping[str, Json], processes: _Processes) -> Span:
    if not isinstance(span, dict):
        raise RecordError("no object")
    tags = _tags(span.get("tags"))
    resource = processes.resource_of(span)
    trace_id = span.get("traceID") or trace.get("traceID")
    started_us, duration_us = _microseconds(span, "startTime"), _microseconds(span, "duration")
    result = Span(
        trace_id=short_hex_id(trace_id, TRACE_ID_BYTES) or "",
        span_id=short_hex_id(span.get("spanID"), SPAN_ID_BYTES) or "",
        parent_span_id=short_hex_id(_parent(span, trace_id), SPAN_ID_BYTES),
        name=text_or_none(span.get("operationName")) or "",
        kind=_one_of(KINDS, tags.get("span.kind")),
        started_at=_at(started_us),
        ended_at=_at(_sum(started_us, duration_us)),
        status=_status(tags),
        status_message=text_or_none(tags.get("otel.status_description")),
        service=text_or_none(resource.get("service.name")),
        scope=text_or_none(tags.get("otel.scope.name") or tags.get("otel.library.name")),
        attributes=tags,
        resource=resource,
        events=[_event_of(log) for log in _list(span.get("logs"), "logs")],
    )
    return result if result.trace_id and result.span_id else with_ids(result)


def _parent(span: Mapping[str, Json], trace_id: Json) -> Json:
    """The span id of the parent: CHILD_OF first, of the same trace."""
    references = [
        reference
        for reference in _list(span.get("references"), "references")
        if isinstance(reference, dict) and reference.get("traceID", trace_id) == trace_id
    ]
    for kind in ("CHILD_OF", "FOLLOWS_FROM"):
        for reference in references:
            if str(reference.get("refType")).upper() == kind:
                return reference.get("spanID")
    return span.get("parentSpanID")


def _status(tags: Mapping[str, Json]) -> str:
    if str(tags.get("error")).lower() == "true":
        return "error"
    return _one_of(STATUSES, tags.get("otel.status_code"))


def _event_of(log: Json) -> SpanEvent:
    if not isinstance(log, dict):
        raise RecordError(f"log {str(log)[:60]!r} is no object")
    fields = _tags(log.get("fields"))
    name = text_or_none(fields.pop("event", None)) or text_or_none(fields.get("message"))
    return SpanEvent(name=name or "", at=_at(_microseconds(log, "timestamp")), attributes=fields)


def _tags(tags: Json) -> dict[str, Json]:
    """Keys and values of a list of tags; a value sent as text is read by the tag's type."""
    attributes: dict[str, Json] = {}
    for tag in _list(tags, "tags"):
        if not isinstance(tag, dict) or not isinstance(key := tag.get("key"), str):
            raise RecordError(f"tag {str(tag)[:60]!r} has no key")
        attributes[key] = _typed(tag.get("value"), tag.get("type"))
    return attributes


def _typed(value: Json, kind: Json) -> Json:
    if not isinstance(value, str):
        return bounded(value)
    if kind == "int64":
        return integer_of_text(value)
    if kind == "float64":
        return double_of_text(value)
    if kind == "bool" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def _microseconds(record: Mapping[str, Json], key: str) -> int | None:
    value = record.get(key)
    if value is None or value in NOT_FINITE:
        return None
    microseconds = whole_instant(value)
    if microseconds is None:
        raise RecordError(f"{key} {str(value)[:40]!r} is no count of microseconds")
    return microseconds


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _at(microseconds: int | None) -> int | None:
    if microseconds is None or microseconds == 0:
        return None
    return held(microseconds * NS_PER_US)


def _one_of(names: tuple[str, ...], value: Json) -> str:
    name = str(value).lower()
    return name if name in names else names[0]


def _list(value: Json, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RecordError(f"{what} is no list but {str(value)[:40]!r}")
    return value
