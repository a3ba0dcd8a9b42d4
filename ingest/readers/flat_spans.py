"""Reads spans that are plain objects: ids, instants and attributes side by side, or attributes
alone.

Owns ids that are names instead of hex digits: the same name is always the same id. Refuses to make
up an id's trace or an instant for attributes that stand alone.
"""

import hashlib
from collections.abc import Iterator, Mapping

from ingest.files import Source
from ingest.readers.documents import Document, records
from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, span_id_of, trace_id_of
from ingest.readers.json_text import bounded
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import instant_or_none, object_at, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import KINDS, STATUSES, text_or_none, with_ids
from ingest.records import Batch, Json, Reject, Span, SpanEvent

_SPAN = frozenset({"trace_id", "span_id", "attributes"})
_TRACE = frozenset({"trace_id", "spans"})
_CONVENTION = "gen_ai."
_LEAST_ATTRIBUTES = 2
_TEXTS = {"input": "input.value", "output": "output.value"}
"""Names under which the privacy setting looks for texts that bare attributes call otherwise."""


class FlatSpans:
    """Spans as plain objects."""

    name = "flat-spans"
    title = "spans as plain objects, or their attributes alone, JSON"
    recognised_by = (
        "a JSON object with trace_id, span_id and attributes, alone or in a list `spans`, "
        "or with two attributes of gen_ai"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a span, a trace of them, or bare attributes."""
        keys = opening(head).keys
        if keys >= _TRACE:
            return b'"span_id"' in head
        return keys >= _SPAN or _is_bare(keys)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans."""
        return batches(_spans(source))


def _is_bare(keys: frozenset[str] | set[str]) -> bool:
    return sum(key.startswith(_CONVENTION) for key in keys) >= _LEAST_ATTRIBUTES


def _spans(source: Source) -> Iterator[Span | Reject]:
    for item in _items(source):
        if isinstance(item, Reject):
            yield item
            continue
        try:
            yield _span_of(record_of(item.value))
        except ValueError as error:
            yield rejected(item.where, error, item.value)


def _items(source: Source) -> Iterator[Document | Reject]:
    """Each span with its position, also those of a trace."""
    for document in records(source, names_nan=True):
        value = None if isinstance(document, Reject) else document.value
        spans = value.get("spans") if isinstance(value, dict) else None
        if isinstance(document, Reject) or not isinstance(spans, list):
            yield document
            continue
        for index, span in enumerate(spans):
            yield Document(document.at(f"spans[{index}]"), span)


def _span_of(record: Mapping[str, Json]) -> Span:
    if not record.keys() >= _SPAN:
        if not _is_bare(set(record)):
            raise RecordError("no span: no trace_id, span_id and attributes")
        attributes = {_TEXTS.get(key, key): bounded(value) for key, value in record.items()}
        return with_ids(_bare(attributes))
    status = _object(record, "status")
    resource = _object(record, "resource_attributes") or _object(record, "resource")
    return with_ids(
        Span(
            trace_id=_id(record.get("trace_id"), TRACE_ID_BYTES),
            span_id=_id(record.get("span_id"), SPAN_ID_BYTES),
            parent_span_id=_id(record.get("parent_span_id"), SPAN_ID_BYTES) or None,
            name=text_or_none(record.get("name")) or "",
            kind=_one_of(KINDS, record.get("kind"), "SPAN_KIND_"),
            started_at=instant_or_none(record, "start_time"),
            ended_at=instant_or_none(record, "end_time"),
            status=_one_of(STATUSES, status.get("code"), "STATUS_CODE_"),
            status_message=text_or_none(status.get("message")),
            service=text_or_none(resource.get("service.name")),
            attributes=_object(record, "attributes"),
            resource=resource,
            events=_events(record),
        )
    )


def _bare(attributes: dict[str, Json]) -> Span:
    """A span of which only the attributes are known."""
    name = text_or_none(attributes.get("gen_ai.operation.name")) or ""
    return Span(
        trace_id="", span_id="", name=name, started_at=None, ended_at=None, attributes=attributes
    )


def _id(value: Json, size: int) -> str:
    """Hex digits of an id, or the digest of the name that stands in its place; "" for none."""
    if value is None or value == "":
        return ""
    try:
        found = trace_id_of(value) if size == TRACE_ID_BYTES else span_id_of(value)
    except ValueError:
        text = str(value).encode("utf-8", "replace")
        return hashlib.blake2b(text, digest_size=size).hexdigest()
    return found or ""


def _one_of(names: tuple[str, ...], value: Json, prefix: str) -> str:
    """The name of an enum, which may come as its number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    name = str(value).removeprefix(prefix).lower()
    return name if name in names else names[0]


def _events(record: Mapping[str, Json]) -> list[SpanEvent]:
    events = record.get("events") or []
    if not isinstance(events, list):
        raise RecordError(f"events is no list but {str(events)[:40]!r}")
    return [
        SpanEvent(
            name=text_or_none(event.get("name")) or "",
            at=instant_or_none(event, "timestamp"),
            attributes=_object(event, "attributes"),
        )
        for event in map(record_of, events)
    ]


def _object(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    return {name: bounded(item) for name, item in object_at(record, key).items()}
