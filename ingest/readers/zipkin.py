"""Reads traces in Zipkin's JSON, version 2: a list of spans, or a list of traces.

Owns microseconds, tags that are all text, and the two halves of a call that share one id: the
server's half becomes a child of the client's. Refuses to let one half replace the other.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.files import Source
from ingest.files.content import UTF8_BOM
from ingest.readers.documents import Document, documents
from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, short_hex_id
from ingest.readers.instants import NS_PER_US, held, whole_instant
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import object_at, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import KINDS, STATUSES, text_or_none, with_ids
from ingest.records import Batch, Json, Reject, Span, SpanEvent

_MAX_LISTS = 2
"""A list of traces, each a list of spans."""


class _Half(NamedTuple):
    """The server's half of a shared span: the service that answered, and the id it is given."""

    service: str | None
    span_id: str


_Halves = Mapping[tuple[str, str], _Half]


class Zipkin:
    """Traces in Zipkin's JSON."""

    name = "zipkin"
    title = "Zipkin v2 spans, JSON"
    recognised_by = (
        "a JSON list of spans with traceId and id, and localEndpoint, tags or annotations, "
        "or a list of such lists"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object, also inside of a second list, is such a span."""
        keys = opening(head).keys or opening(_first_trace(head)).keys
        is_zipkin = not keys.isdisjoint(("localEndpoint", "tags", "annotations"))
        return is_zipkin and {"traceId", "id"} <= keys and "attributes" not in keys

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans; the source is read first for the halves of shared ones."""
        return batches(_records(source))


def _first_trace(head: bytes) -> bytes:
    """The head of the first list in a list of traces."""
    return head.removeprefix(UTF8_BOM).lstrip().removeprefix(b"[")


def _records(source: Source) -> Iterator[Span | Reject]:
    halves = _halves(source)
    for item in _items(source):
        if isinstance(item, Reject):
            yield item
            continue
        try:
            yield _span_of(record_of(item.value), halves)
        except ValueError as error:
            yield rejected(item.where, error, item.value)


def _items(source: Source) -> Iterator[Document | Reject]:
    """Each span of the source with its position: alone, of a trace, or of a list of traces."""
    for document in documents(source):
        if isinstance(document, Reject):
            yield document
        else:
            yield from _parts(document, depth=0)


def _parts(document: Document, depth: int) -> Iterator[Document]:
    if not isinstance(document.value, list) or depth == _MAX_LISTS:
        yield document
        return
    for index, value in enumerate(document.value):
        yield from _parts(Document(document.at(f"[{index}]"), value), depth + 1)


def _halves(source: Source) -> dict[tuple[str, str], _Half]:
    """The server's half of every shared span of which the source has the client's half too.

    Only shared spans are held: the source is read once for them, and again where it has any.
    """
    halves: dict[tuple[str, str], _Half] = {}
    for key, record in _identified(source):
        if record.get("shared") is True:
            halves[key] = _Half(_service(record), _shared_id(*key))
    if not halves:
        return {}
    owned = {
        key
        for key, record in _identified(source)
        if key in halves and record.get("shared") is not True
    }
    return {key: halves[key] for key in owned}


def _identified(source: Source) -> Iterator[tuple[tuple[str, str], dict[str, Json]]]:
    """Each span that has both ids, with them."""
    for item in _items(source):
        if isinstance(item, Document) and isinstance(item.value, dict):
            try:
                key = _ids(item.value)
            except ValueError:
                continue
            if all(key):
                yield key, item.value


def _shared_id(trace_id: str, span_id: str) -> str:
    """The id that the server's half of a span is given, the same wherever it is read."""
    text = f"zipkin shared:{trace_id}:{span_id}".encode()
    return hashlib.blake2b(text, digest_size=SPAN_ID_BYTES).hexdigest()


def _span_of(record: Mapping[str, Json], halves: _Halves) -> Span:
    tags = _tags(record)
    trace_id, own_id = _ids(record)
    span_id, parent_id = _place(record, trace_id, own_id, halves)
    started_us, duration_us = _microseconds(record, "timestamp"), _microseconds(record, "duration")
    service = _service(record)
    result = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent_id,
        name=text_or_none(record.get("name")) or "",
        kind=_kind(record.get("kind")),
        started_at=_at(started_us),
        ended_at=_end(started_us, duration_us),
        status=_status(tags),
        status_message=tags.get("otel.status_description") or tags.get("error") or None,
        service=service,
        scope=tags.get("otel.scope.name") or tags.get("otel.library.name"),
        attributes=tags,
        resource={} if service is None else {"service.name": service},
        events=_events(record),
    )
    return result if result.trace_id and result.span_id else with_ids(result)


def _place(
    record: Mapping[str, Json], trace_id: str, own_id: str, halves: _Halves
) -> tuple[str, str | None]:
    """The id of a span and of its parent: below the half that belongs to its own service."""
    if record.get("shared") is True and own_id and (trace_id, own_id) in halves:
        return halves[trace_id, own_id].span_id, own_id
    parent_id = short_hex_id(record.get("parentId"), SPAN_ID_BYTES)
    half = None if parent_id is None else halves.get((trace_id, parent_id))
    if half is not None and half.service is not None and half.service == _service(record):
        return own_id, half.span_id
    return own_id, parent_id


def _ids(record: Mapping[str, Json]) -> tuple[str, str]:
    return (
        short_hex_id(record.get("traceId"), TRACE_ID_BYTES) or "",
        short_hex_id(record.get("id"), SPAN_ID_BYTES) or "",
    )


def _service(record: Mapping[str, Json]) -> str | None:
    endpoint = record.get("localEndpoint")
    return text_or_none(endpoint.get("serviceName")) if isinstance(endpoint, dict) else None


def _tags(record: Mapping[str, Json]) -> dict[str, str]:
    tags = object_at(record, "tags")
    return {key: str(value) for key, value in tags.items() if value is not None}


def _kind(value: Json) -> str:
    kind = str(value).lower()
    return kind if kind in KINDS else "internal"


def _status(tags: Mapping[str, str]) -> str:
    """By the tag of OpenTelemetry's exporter; the mere presence of `error` is an error."""
    code = tags.get("otel.status_code", "").lower()
    if code in STATUSES:
        return code
    return "error" if tags.get("error", "false").lower() != "false" else STATUSES[0]


def _events(record: Mapping[str, Json]) -> list[SpanEvent]:
    annotations = record.get("annotations") or []
    if not isinstance(annotations, list):
        raise RecordError(f"annotations {str(annotations)[:40]!r} is no list")
    return [
        SpanEvent(
            name=text_or_none(annotation.get("value")) or "",
            at=_at(_microseconds(annotation, "timestamp")),
        )
        for annotation in map(record_of, annotations)
    ]


def _microseconds(record: Mapping[str, Json], key: str) -> int | None:
    value = record.get(key)
    if value is None:
        return None
    microseconds = whole_instant(value)
    if microseconds is None:
        raise RecordError(f"{key} {str(value)[:40]!r} is no count of microseconds")
    return microseconds


def _at(microseconds: int | None) -> int | None:
    return held(microseconds * NS_PER_US) if microseconds else None


def _end(started_us: int | None, duration_us: int | None) -> int | None:
    if not started_us or duration_us is None:
        return None
    return held((started_us + duration_us) * NS_PER_US)
