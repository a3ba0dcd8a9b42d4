"""Reads OTLP logs, as protobuf and as JSON: of all log records those that tell of model calls.

Owns the encodings of a log record. Refuses a record that is damaged; what is sound and tells of
no call is counted as ignored.
"""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # has no types
from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs

from ingest.files import Source
from ingest.readers.documents import Document, documents
from ingest.readers.ids import (
    SPAN_ID_BYTES,
    TRACE_ID_BYTES,
    id_of_bytes,
    span_id_of,
    trace_id_of,
)
from ingest.readers.log_records import LogRecord, told
from ingest.readers.opening import opening
from ingest.readers.otlp import attributes_of as attributes_of_message
from ingest.readers.otlp import value_of as value_of_message
from ingest.readers.otlp_json_spans import attributes_of, instant_of, objects, value_of
from ingest.readers.otlp_wire import framed_messages, framing_and_signal
from ingest.readers.reader import batches
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import signed_instant, text_or_none
from ingest.readers.wire import read_part
from ingest.records import Batch, Json, Reject, Span

EVENT_NAME = "event.name"
LOGS = frozenset({"resourceLogs", "resource_logs"})
_RESOURCE_LOGS = 1

Told = Span | Reject | None
"""None is a sound record that tells of no model call."""


class OtlpLogs:
    """OTLP logs."""

    name = "otlp-logs"
    title = "OTLP logs of GenAI events, protobuf, JSON or JSON lines"
    recognised_by = (
        "JSON objects with the key resourceLogs, or a protobuf message of resources, scopes and "
        "log records"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the head begins such an object, or the first record in it is a log record."""
        if opening(head).keys & LOGS:
            return True
        found = framing_and_signal(head)
        return found is not None and found[1] == "logs"

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans; records that tell of no model call are counted as ignored."""
        return batches(_records(source))


def _records(source: Source) -> Iterator[Told]:
    found = framing_and_signal(source.head)
    if found is None:
        for document in documents(source, names_nan=True):
            if isinstance(document, Document):
                yield from told_by_document(document)
            else:
                yield document
        return
    with source.open() as stream:
        if found[0] == "none":
            yield from told_by_message(stream)
            return
        number = 0
        try:
            for number, (message, missing_bytes) in enumerate(framed_messages(stream, found[0]), 1):
                yield from told_by_message(io.BytesIO(message), f"message {number}, ")
                if missing_bytes:
                    reason = f"truncated: {missing_bytes:,} bytes are missing"
                    yield rejected(f"message {number}", reason)
        except ValueError as error:
            yield rejected(f"message {number + 1}", error)


def told_by_message(stream: Any, prefix: str = "") -> Iterator[Told]:
    """What the log records of one export request in protobuf tell, a resource at a time.

    Raises `RecordError` where not even the first bytes are protobuf and `prefix` is empty.
    """
    index = 0
    try:
        while (part := read_part(stream)) is not None:
            number, content, missing_bytes = part
            if number == _RESOURCE_LOGS:
                yield from _by_resource(content, missing_bytes, f"{prefix}resourceLogs[{index}]")
                index += 1
    except ValueError as error:
        if index == 0 and not prefix:
            raise RecordError(str(error)) from error
        yield rejected(f"{prefix}resourceLogs[{index}]", error)


def told_by_document(document: Document) -> Iterator[Told]:
    """What the log records of one export request in JSON tell."""
    value = document.value
    if not isinstance(value, dict):
        yield rejected(document.where, "no JSON object", value)
        return
    resources = value.get("resourceLogs", value.get("resource_logs"))
    if resources is None and value:
        yield rejected(document.where, "no resourceLogs", value)
    for position, resource_logs in objects(resources, document.at("resourceLogs")):
        if isinstance(resource_logs, Reject):
            yield resource_logs
        else:
            yield from _by_json_resource(resource_logs, position)


def _by_resource(content: bytes, missing_bytes: int, position: str) -> Iterator[Told]:
    if missing_bytes:
        yield rejected(position, f"truncated: {missing_bytes:,} bytes are missing")
        return
    try:
        message = ResourceLogs.FromString(content)
    except DecodeError as error:
        yield rejected(position, f"no valid ResourceLogs: {error}")
        return
    try:
        resource = attributes_of_message(message.resource.attributes)
    except ValueError as error:
        yield rejected(f"{position}.resource", error, str(message.resource))
        resource = {}
    for scope_index, scope_logs in enumerate(message.scope_logs):
        scope = scope_logs.scope.name or None
        for index, record in enumerate(scope_logs.log_records):
            where = f"{position}.scopeLogs[{scope_index}].logRecords[{index}]"
            try:
                yield told(_of_message(record, resource, scope))
            except ValueError as error:
                yield rejected(where, error, str(record))


def _of_message(record: Any, resource: dict[str, Json], scope: str | None) -> LogRecord:
    attributes = attributes_of_message(record.attributes)
    at = signed_instant(record.time_unix_nano or record.observed_time_unix_nano)
    return LogRecord(
        name=record.event_name or _event_name(attributes),
        at=at,
        trace_id=id_of_bytes(record.trace_id, TRACE_ID_BYTES),
        span_id=id_of_bytes(record.span_id, SPAN_ID_BYTES),
        attributes=attributes,
        body=value_of_message(record.body),
        resource=resource,
        scope=scope,
    )


def _by_json_resource(resource_logs: dict[str, Json], position: str) -> Iterator[Told]:
    try:
        given = resource_logs.get("resource")
        resource = attributes_of(given.get("attributes") if isinstance(given, dict) else None)
    except ValueError as error:
        yield rejected(f"{position}.resource", error, resource_logs.get("resource"))
        resource = {}
    scopes = resource_logs.get("scopeLogs", resource_logs.get("scope_logs"))
    for scope_position, scope_logs in objects(scopes, f"{position}.scopeLogs"):
        if isinstance(scope_logs, Reject):
            yield scope_logs
            continue
        records = scope_logs.get("logRecords", scope_logs.get("log_records"))
        scope = scope_logs.get("scope")
        name = text_or_none(scope.get("name")) if isinstance(scope, dict) else None
        found = objects(records, f"{scope_position}.logRecords")
        yield from _by_json_records(found, resource, name)


def _by_json_records(
    records: Iterable[tuple[str, dict[str, Json] | Reject]],
    resource: dict[str, Json],
    scope: str | None,
) -> Iterator[Told]:
    for where, record in records:
        if isinstance(record, Reject):
            yield record
            continue
        try:
            yield told(_of_json(record, resource, scope))
        except ValueError as error:
            yield rejected(where, error, record)


def _of_json(record: dict[str, Json], resource: dict[str, Json], scope: str | None) -> LogRecord:
    def given(camel: str, snake: str) -> Json:
        return record.get(camel, record.get(snake))

    attributes = attributes_of(record.get("attributes"))
    at = instant_of(given("timeUnixNano", "time_unix_nano"))
    observed = instant_of(given("observedTimeUnixNano", "observed_time_unix_nano"))
    return LogRecord(
        name=str(given("eventName", "event_name") or _event_name(attributes)),
        at=observed if at is None else at,
        trace_id=trace_id_of(given("traceId", "trace_id")),
        span_id=span_id_of(given("spanId", "span_id")),
        attributes=attributes,
        body=value_of(record.get("body")),
        resource=resource,
        scope=scope,
    )


def _event_name(attributes: dict[str, Json]) -> str:
    """The name in the attributes, as it was written before log records had one of their own."""
    return str(attributes.get(EVENT_NAME) or "")
