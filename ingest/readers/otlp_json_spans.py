"""Spans from OTLP JSON, in the forms that exporters write it.

Owns hex and base64 ids, numbers as strings, enum names, snake case. Refuses a document of logs or
metrics by its name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ingest.readers.documents import Document
from ingest.readers.ids import span_id_of, trace_id_of
from ingest.readers.instants import whole_instant
from ingest.readers.json_text import MAX_DEPTH, NOT_FINITE, bounded, refuse_depth
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import (
    KINDS,
    STATUSES,
    double_of_text,
    integer_of_text,
    of_repeated,
    signed_instant,
    text_or_none,
    with_ids,
)
from ingest.records import Json, Reject, Span, SpanEvent

OTHER_SIGNALS = {
    "resourceLogs": "OTLP logs, not traces",
    "resource_logs": "OTLP logs, not traces",
    "resourceMetrics": "OTLP metrics, not traces",
    "resource_metrics": "OTLP metrics, not traces",
}


def spans_of_document(document: Document) -> Iterator[Span | Reject]:
    """The spans of one export request in JSON, and the rejects of those that cannot be taken."""
    value = document.value
    if not isinstance(value, dict):
        yield rejected(document.where, "no JSON object", value)
        return
    resources = _either(value, "resourceSpans", "resource_spans")
    if resources is None and value:
        found = next((what for key, what in OTHER_SIGNALS.items() if key in value), None)
        yield rejected(document.where, found or "no resourceSpans", value)
    for position, resource_spans in objects(resources, document.at("resourceSpans")):
        if isinstance(resource_spans, Reject):
            yield resource_spans
        else:
            yield from _spans_of_resource(resource_spans, position)


def _spans_of_resource(resource_spans: dict[str, Json], position: str) -> Iterator[Span | Reject]:
    try:
        resource = attributes_of(_object(resource_spans.get("resource")).get("attributes"))
    except ValueError as error:
        yield rejected(f"{position}.resource", error, resource_spans.get("resource"))
        resource = {}
    scopes = _either(resource_spans, "scopeSpans", "scope_spans")
    if scopes is None:
        scopes = resource_spans.get("instrumentationLibrarySpans")
    for scope_position, scope_spans in objects(scopes, f"{position}.scopeSpans"):
        if isinstance(scope_spans, Reject):
            yield scope_spans
            continue
        scope = scope_spans.get("scope") or scope_spans.get("instrumentationLibrary")
        name = text_or_none(scope.get("name")) if isinstance(scope, dict) else None
        for where, span in objects(scope_spans.get("spans"), f"{scope_position}.spans"):
            yield span if isinstance(span, Reject) else span_or_reject(span, resource, name, where)


def span_or_reject(
    span: dict[str, Json], resource: dict[str, Json], scope: str | None, position: str
) -> Span | Reject:
    """One span, or the reject that says why it is none."""
    try:
        return _span_of(span, resource, scope)
    except ValueError as error:
        return rejected(position, error, span)


def _span_of(span: dict[str, Json], resource: dict[str, Json], scope: str | None) -> Span:
    status = _object(span.get("status"))
    result = Span(
        trace_id=trace_id_of(_either(span, "traceId", "trace_id")) or "",
        span_id=span_id_of(_either(span, "spanId", "span_id")) or "",
        parent_span_id=span_id_of(_either(span, "parentSpanId", "parent_span_id")),
        name=text_or_none(span.get("name")) or "",
        kind=_enum(span.get("kind"), KINDS, "SPAN_KIND_"),
        started_at=instant_of(_either(span, "startTimeUnixNano", "start_time_unix_nano")),
        ended_at=instant_of(_either(span, "endTimeUnixNano", "end_time_unix_nano")),
        status=_enum(status.get("code"), STATUSES, "STATUS_CODE_"),
        status_message=text_or_none(status.get("message")),
        service=text_or_none(resource.get("service.name")),
        scope=scope,
        attributes=_attributes_of_span(span.get("attributes")),
        resource=resource,
        events=[_event_of(event) for event in _list(span.get("events"), "events")],
    )
    return result if result.trace_id and result.span_id else with_ids(result)


def _attributes_of_span(pairs: Json) -> dict[str, Json]:
    """The attributes of a span, among them which keys disagree with themselves."""
    attributes = attributes_of(pairs)
    if not isinstance(pairs, list) or len(attributes) == len(pairs):
        return attributes
    return of_repeated((pair["key"], value_of(pair.get("value"))) for pair in pairs)


def attributes_of(pairs: Json, depth: int = 0) -> dict[str, Json]:
    """Keys and values of a list of `{"key", "value"}`; a plain object is taken as it is.

    Raises `RecordError` for anything else.
    """
    if isinstance(pairs, dict):
        return {key: bounded(value, depth) for key, value in pairs.items()}
    attributes: dict[str, Json] = {}
    for pair in _list(pairs, "attributes"):
        if not isinstance(pair, dict) or not isinstance(key := pair.get("key"), str):
            raise RecordError(f"attribute {str(pair)[:60]!r} has no key")
        attributes[key] = value_of(pair.get("value"), depth)
    return attributes


def value_of(value: Json, depth: int = 0) -> Json:
    """The content of an `AnyValue`, read by the type that was sent; a bare value as it is."""
    if depth > MAX_DEPTH:
        refuse_depth()
    if not isinstance(value, dict):
        return bounded(value, depth)
    for kind, content in value.items():
        if kind in ("stringValue", "string_value"):
            return content if isinstance(content, str) else bounded(content, depth)
        read = _VALUE_READERS.get(kind)
        if read is not None:
            return read(content, depth)
    return None


def _array(content: Json, depth: int) -> list[Json]:
    items = content.get("values") if isinstance(content, dict) else content
    return [value_of(item, depth + 1) for item in _list(items, "arrayValue")]


def _key_values(content: Json, depth: int) -> dict[str, Json]:
    items = content.get("values") if isinstance(content, dict) else content
    return attributes_of(items, depth + 1)


def _integer(content: Json, depth: int) -> Json:
    """A 64-bit integer, which JSON carries as a string; another content stays what it is."""
    if isinstance(content, str):
        return integer_of_text(content)
    if isinstance(content, float) and content.is_integer():
        return int(content)
    return bounded(content, depth)


def _double(content: Json, depth: int) -> Json:
    if isinstance(content, str):
        return double_of_text(content)
    if isinstance(content, int) and not isinstance(content, bool):
        return float(content)
    return bounded(content, depth)


_VALUE_READERS: dict[str, Callable[[Json, int], Json]] = {
    "intValue": _integer,
    "int_value": _integer,
    "boolValue": bounded,
    "bool_value": bounded,
    "doubleValue": _double,
    "double_value": _double,
    "arrayValue": _array,
    "array_value": _array,
    "kvlistValue": _key_values,
    "kvlist_value": _key_values,
    "bytesValue": bounded,
    "bytes_value": bounded,
}


def _event_of(event: Json) -> SpanEvent:
    if not isinstance(event, dict):
        raise RecordError(f"event {str(event)[:60]!r} is no object")
    return SpanEvent(
        name=text_or_none(event.get("name")) or "",
        at=instant_of(_either(event, "timeUnixNano", "time_unix_nano")),
        attributes=attributes_of(event.get("attributes")),
    )


def instant_of(value: Json) -> int | None:
    """Nanoseconds since 1970 from a number or its digits; None where absent, empty or 0."""
    if value is None or value == "" or value in NOT_FINITE:
        return None
    nanoseconds = whole_instant(value)
    if nanoseconds is None:
        raise RecordError(f"{str(value)[:40]!r} is no count of nanoseconds since 1970")
    return signed_instant(nanoseconds)


def _enum(value: Json, names: Sequence[str], prefix: str) -> str:
    """The name of an enum value that came as its number, or as its name with or without prefix."""
    if isinstance(value, str):
        name = value.removeprefix(prefix).lower()
        if name in names:
            return name
        value = int(value) if value.isdecimal() and len(value) < 3 else 0
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return names[0]


def _either(value: Mapping[str, Json], camel: str, snake: str) -> Json:
    return value[camel] if camel in value else value.get(snake)


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RecordError(f"{what} is no list but {str(value)[:40]!r}")
    return value


def objects(value: Json, position: str) -> Iterator[tuple[str, dict[str, Json] | Reject]]:
    """Each object of a list with its position; what is no object is a reject."""
    if value is None:
        return
    if not isinstance(value, list):
        yield position, rejected(position, "no list", value)
        return
    for index, item in enumerate(value):
        where = f"{position}[{index}]"
        yield where, item if isinstance(item, dict) else rejected(where, "no object", item)
