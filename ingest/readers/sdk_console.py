"""Reads spans as the consoles of the OpenTelemetry SDKs print them, of Python and of JavaScript.

Owns ids with `0x`, instants as text, as pairs of seconds and nanoseconds, and as microseconds, and
enums that each SDK numbers in its own way. Refuses spans whose attributes are a list: those are
OTLP.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from ingest.files import Source
from ingest.readers.documents import records
from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, short_hex_id
from ingest.readers.instants import NS_PER_S, NS_PER_US, held, instant_of_text
from ingest.readers.json_text import bounded
from ingest.readers.monocle import described
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import object_at, record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import STATUSES, text_or_none, with_ids
from ingest.records import Batch, Json, Reject, Span, SpanEvent

_PYTHON = ("context", "parent_id")
_JS_SPAN = ("name", "spanContext")
_JS_CONSOLE = ("traceId", "id", "timestamp", "attributes")
_KINDS = ("internal", "server", "client", "producer", "consumer")
"""By the number that the SDKs give them: OTLP counts from "unspecified" instead."""

Instant = Callable[[Json, str], int | None]


class SdkConsole:
    """Spans of SDK consoles."""

    name = "otel-console"
    title = "OpenTelemetry SDK console spans, JSON (Python, JavaScript)"
    recognised_by = (
        "a JSON object with context and parent_id, with name and spanContext, "
        "or with traceId, id, timestamp and attributes"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a span of one of the SDKs."""
        keys = opening(head).keys
        return any(keys.issuperset(shape) for shape in (_PYTHON, _JS_SPAN, _JS_CONSOLE))

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans: of a list, of objects in a row, or of one a line."""
        return batches(_spans(source))


def _spans(source: Source) -> Iterator[Span | Reject]:
    for document in records(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield _span_of(record_of(document.value))
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _span_of(record: Mapping[str, Json]) -> Span:
    for shape, read in ((_PYTHON, _python_span), (_JS_SPAN, _js_span), (_JS_CONSOLE, _js_printed)):
        if record.keys() >= set(shape):
            span = read(record)
            return span if span.trace_id and span.span_id else with_ids(span)
    raise RecordError("no span of an SDK: neither context and parent_id, spanContext, nor id")


def _python_span(record: Mapping[str, Json]) -> Span:
    """What `ReadableSpan.to_json` writes."""
    context = object_at(record, "context")
    return _span(
        record,
        trace_id=context.get("trace_id"),
        span_id=context.get("span_id"),
        parent_id=record.get("parent_id"),
        started_at=_text_instant(record.get("start_time"), "start_time"),
        ended_at=_text_instant(record.get("end_time"), "end_time"),
        status=_python_status(record),
        status_message=object_at(record, "status").get("description"),
        events=_events(record, "timestamp", _text_instant),
    )


def _js_span(record: Mapping[str, Json]) -> Span:
    """A `ReadableSpan` written as JSON."""
    context = object_at(record, "spanContext")
    parent = object_at(record, "parentSpanContext").get("spanId")
    return _span(
        record,
        trace_id=context.get("traceId"),
        span_id=context.get("spanId"),
        parent_id=record.get("parentSpanId") if parent is None else parent,
        started_at=_pair_instant(record.get("startTime"), "startTime"),
        ended_at=_pair_instant(record.get("endTime"), "endTime"),
        status=_js_status(record),
        status_message=object_at(record, "status").get("message"),
        events=_events(record, "time", _pair_instant),
    )


def _js_printed(record: Mapping[str, Json]) -> Span:
    """What `ConsoleSpanExporter` prints: microseconds, and a duration instead of an end."""
    parent = object_at(record, "parentSpanContext").get("spanId")
    started = _microseconds(record.get("timestamp"), "timestamp") or None
    duration = _microseconds(record.get("duration"), "duration")
    is_ended = started is not None and duration is not None
    return _span(
        record,
        trace_id=record.get("traceId"),
        span_id=record.get("id"),
        parent_id=record.get("parentId") if parent is None else parent,
        started_at=None if started is None else held(started),
        ended_at=held((started or 0) + (duration or 0)) if is_ended else None,
        status=_js_status(record),
        status_message=object_at(record, "status").get("message"),
        events=_events(record, "time", _pair_instant),
    )


def _span(
    record: Mapping[str, Json],
    *,
    trace_id: Json,
    span_id: Json,
    parent_id: Json,
    started_at: int | None,
    ended_at: int | None,
    status: str,
    status_message: Json,
    events: list[SpanEvent],
) -> Span:
    """The span with the fields that all of them write alike."""
    resource = _attributes(object_at(record, "resource"), "attributes")
    attributes, told = described(_attributes(record, "attributes"), events)
    scope = object_at(record, "instrumentationScope") or object_at(record, "instrumentationLibrary")
    return Span(
        trace_id=_id(trace_id, TRACE_ID_BYTES) or "",
        span_id=_id(span_id, SPAN_ID_BYTES) or "",
        parent_span_id=_id(parent_id, SPAN_ID_BYTES),
        name=text_or_none(record.get("name")) or "",
        kind=_kind(record.get("kind")),
        started_at=started_at,
        ended_at=ended_at,
        status=status,
        status_message=text_or_none(status_message),
        service=text_or_none(resource.get("service.name")),
        scope=text_or_none(scope.get("name")),
        attributes=attributes,
        resource=resource,
        events=told,
    )


def _id(value: Json, size: int) -> str | None:
    """Hex digits of an id that may begin with `0x`; Monocle writes an absent parent as "None"."""
    if value == "None":
        return None
    return short_hex_id(value.removeprefix("0x") if isinstance(value, str) else value, size)


def _kind(value: Json) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_KINDS):
        return _KINDS[value]
    name = str(value).removeprefix("SpanKind.").lower()
    return name if name in _KINDS else "unspecified"


def _python_status(record: Mapping[str, Json]) -> str:
    name = str(object_at(record, "status").get("status_code")).removeprefix("StatusCode.").lower()
    return name if name in STATUSES else STATUSES[0]


def _js_status(record: Mapping[str, Json]) -> str:
    code = object_at(record, "status").get("code")
    if isinstance(code, int) and not isinstance(code, bool) and 0 <= code < len(STATUSES):
        return STATUSES[code]
    return STATUSES[0]


def _text_instant(value: Json, key: str) -> int | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise RecordError(f"{key} {str(value)[:40]!r} is no instant as text")
    return instant_of_text(value)


def _pair_instant(value: Json, key: str) -> int | None:
    """Nanoseconds of a pair of seconds and nanoseconds; None where absent or zero."""
    if value is None:
        return None
    is_pair = isinstance(value, list) and [type(part) for part in value] == [int, int]
    if not is_pair:
        raise RecordError(f"{key} {str(value)[:40]!r} is no pair of seconds and nanoseconds")
    return held(value[0] * NS_PER_S + value[1]) if any(value) else None


def _microseconds(value: Json, key: str) -> int | None:
    """Nanoseconds of a count of microseconds, which may have a fraction."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{key} {str(value)[:40]!r} is no count of microseconds")
    return int(Decimal(repr(value)) * NS_PER_US)


def _events(record: Mapping[str, Json], time_key: str, instant: Instant) -> list[SpanEvent]:
    items = record.get("events") or []
    if not isinstance(items, list):
        raise RecordError(f"events is no list but {str(items)[:40]!r}")
    events = []
    for item in items:
        if not isinstance(item, dict):
            raise RecordError(f"event {str(item)[:60]!r} is no object")
        name, at = text_or_none(item.get("name")) or "", instant(item.get(time_key), time_key)
        events.append(SpanEvent(name=name, at=at, attributes=_attributes(item, "attributes")))
    return events


def _attributes(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    return {name: bounded(value) for name, value in object_at(record, key).items()}
