"""Spans from OTLP protobuf messages, for files and for the receiver.

Owns the loop that decides how many spans a second can be read. Refuses to read a value by the
type it should have: the type that was sent decides.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_of_bytes
from ingest.readers.json_text import MAX_DEPTH, named, refuse_depth
from ingest.readers.rejection import rejected
from ingest.readers.span_fields import (
    KINDS,
    STATUSES,
    of_repeated,
    signed_instant,
    text_or_none,
    with_ids,
)
from ingest.records import Batch, Json, Reject, Span, SpanEvent

Message = Any
"""A protobuf message; the generated classes carry no types."""


def spans_from_request(request: ExportTraceServiceRequest) -> Batch:
    """All spans of one export request, and the rejects of those that cannot be taken."""
    spans: list[Span] = []
    rejects: list[Reject] = []
    for index, resource_spans in enumerate(request.resource_spans):
        for record in spans_of_resource(resource_spans, f"resourceSpans[{index}]"):
            if isinstance(record, Span):
                spans.append(record)
            else:
                rejects.append(record)
    return Batch(spans=spans, rejects=rejects)


def spans_of_resource(resource_spans: ResourceSpans, position: str) -> Iterator[Span | Reject]:
    """The spans of one resource; `position` is where it stands in its message."""
    try:
        resource = attributes_of(resource_spans.resource.attributes)
    except ValueError as error:
        yield rejected(f"{position}.resource", error, str(resource_spans.resource))
        resource = {}
    for scope_index, scope_spans in enumerate(resource_spans.scope_spans):
        scope = scope_spans.scope.name or None
        for span_index, message in enumerate(scope_spans.spans):
            try:
                yield span_of(message, resource, scope)
            except ValueError as error:
                where = f"{position}.scopeSpans[{scope_index}].spans[{span_index}]"
                yield rejected(where, error, str(message))


def span_of(message: Message, resource: dict[str, Json], scope: str | None) -> Span:
    """One span. Raises `RecordError` for ids of a wrong length and for nesting without a bound."""
    kind, code = message.kind, message.status.code
    span = Span(
        trace_id=id_of_bytes(message.trace_id, TRACE_ID_BYTES) or "",
        span_id=id_of_bytes(message.span_id, SPAN_ID_BYTES) or "",
        parent_span_id=id_of_bytes(message.parent_span_id, SPAN_ID_BYTES),
        name=message.name,
        kind=KINDS[kind] if 0 <= kind < len(KINDS) else KINDS[0],
        started_at=signed_instant(message.start_time_unix_nano),
        ended_at=signed_instant(message.end_time_unix_nano),
        status=STATUSES[code] if 0 <= code < len(STATUSES) else STATUSES[0],
        status_message=message.status.message or None,
        service=text_or_none(resource.get("service.name")),
        scope=scope,
        attributes=_attributes_of_span(message.attributes),
        resource=resource,
        events=[_event_of(event) for event in message.events],
    )
    return span if span.trace_id and span.span_id else with_ids(span)


def _attributes_of_span(pairs: Any) -> dict[str, Json]:
    """The attributes of a span, among them which keys disagree with themselves."""
    attributes = attributes_of(pairs)
    if len(attributes) == len(pairs):
        return attributes
    return of_repeated((pair.key, value_of(pair.value)) for pair in pairs)


def attributes_of(pairs: Iterable[Message], depth: int = 0) -> dict[str, Json]:
    """Keys and values of a list of `KeyValue`; of a repeated key the last counts."""
    attributes: dict[str, Json] = {}
    if depth > MAX_DEPTH and pairs:
        refuse_depth()
    for pair in pairs:
        value = pair.value
        kind = value.WhichOneof("value")
        if kind == "string_value":
            attributes[pair.key] = value.string_value
        elif kind == "int_value":
            attributes[pair.key] = value.int_value
        else:
            attributes[pair.key] = _value_of(value, kind, depth)
    return attributes


def value_of(value: Message) -> Json:
    """The content of an `AnyValue`, read by the type that was sent; None where it has none."""
    return _value_of(value, value.WhichOneof("value"), 0)


def _value_of(value: Message, kind: str | None, depth: int) -> Json:
    if depth > MAX_DEPTH:
        refuse_depth()
    if kind == "double_value":
        return named(value.double_value)
    if kind == "array_value":
        items = value.array_value.values
        return [_value_of(item, item.WhichOneof("value"), depth + 1) for item in items]
    if kind == "kvlist_value":
        return attributes_of(value.kvlist_value.values, depth + 1)
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return None if kind is None else getattr(value, kind)


def _event_of(message: Message) -> SpanEvent:
    return SpanEvent(
        name=message.name,
        at=signed_instant(message.time_unix_nano),
        attributes=attributes_of(message.attributes),
    )
