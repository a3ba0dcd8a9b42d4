"""Reads OTLP traces as protobuf: one message, messages in a row, or messages with their lengths.

Owns what happens to a message that does not parse: it is taken apart, and only the spans that are
damaged are rejected.
"""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # has no types
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from ingest.files import Source
from ingest.readers.documents import Document
from ingest.readers.json_text import loads
from ingest.readers.otlp import attributes_of, span_of, spans_of_resource
from ingest.readers.otlp_json_spans import spans_of_document
from ingest.readers.otlp_wire import framed_messages, framing_and_signal
from ingest.readers.reader import batches
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.wire import parts, read_part
from ingest.records import Batch, Json, Reject, Span

_RESOURCE_SPANS = 1
_RESOURCE, _SCOPE_SPANS = 1, 2
_SCOPE, _SPANS = 1, 2
"""Field numbers of TracesData, ResourceSpans and ScopeSpans."""


class OtlpProtobuf:
    """OTLP traces as protobuf."""

    name = "otlp-protobuf"
    title = "OTLP traces, protobuf"
    recognised_by = (
        "a protobuf message of resources, scopes and spans, or several: in a row, or each after "
        "its length as the collector's file exporter writes them"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first record in the head is a span by its fields."""
        found = framing_and_signal(head)
        return found is not None and found[1] == "traces"

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans; a message that does not parse costs its damaged spans only."""
        return batches(_records(source))


def _records(source: Source) -> Iterator[Span | Reject]:
    found = framing_and_signal(source.head)
    framing = "none" if found is None else found[0]
    with source.open() as stream:
        if framing == "none":
            try:
                yield from records_of_message(stream)
            except RecordError as error:
                raise source.refusal(f"no OTLP protobuf: {error}") from error
            return
        number = 0
        try:
            for number, (message, missing_bytes) in enumerate(framed_messages(stream, framing), 1):
                yield from _framed(message, missing_bytes, f"message {number}")
        except ValueError as error:
            yield rejected(f"message {number + 1}", error)


def _framed(message: bytes, missing_bytes: int, position: str) -> Iterator[Span | Reject]:
    if message.startswith(b"{"):
        try:
            yield from spans_of_document(Document(position, loads(message)))
        except ValueError as error:
            yield rejected(position, error, message)
        return
    yield from records_of_message(io.BytesIO(message), f"{position}, ")
    if missing_bytes:
        yield rejected(position, f"truncated: {missing_bytes:,} bytes are missing")


def records_of_message(stream: BinaryIO, prefix: str = "") -> Iterator[Span | Reject]:
    """The spans of one export request, a resource at a time; what is damaged is rejected.

    `prefix` stands before each position. Raises `RecordError` where there is none and not even
    the first bytes are protobuf.
    """
    index = 0
    try:
        while (part := read_part(stream)) is not None:
            number, content, missing_bytes = part
            if number == _RESOURCE_SPANS:
                yield from _resource(content, missing_bytes, f"{prefix}resourceSpans[{index}]")
                index += 1
    except ValueError as error:
        if index == 0 and not prefix:
            raise RecordError(str(error)) from error
        yield rejected(f"{prefix}resourceSpans[{index}]", error)


def _resource(content: bytes, missing_bytes: int, position: str) -> Iterator[Span | Reject]:
    if missing_bytes:
        yield from _salvaged(content, position)
        yield rejected(position, f"truncated: {missing_bytes:,} bytes are missing")
        return
    try:
        message = trace_pb2.ResourceSpans.FromString(content)
    except DecodeError:
        yield from _salvaged(content, position)
        return
    yield from spans_of_resource(message, position)


def _salvaged(content: bytes, position: str) -> Iterator[Span | Reject]:
    """The spans of a resource that does not parse as a whole, each parsed by itself."""
    try:
        resource: dict[str, Json] = {}
        for part, is_cut in parts(content, _RESOURCE):
            try:
                resource = attributes_of(_whole(Resource, part, is_cut).attributes)
            except ValueError as error:
                yield rejected(f"{position}.resource", error)
        for index, (part, _) in enumerate(parts(content, _SCOPE_SPANS)):
            yield from _salvaged_scope(part, resource, f"{position}.scopeSpans[{index}]")
    except ValueError as error:
        yield rejected(position, error)


def _salvaged_scope(
    content: bytes, resource: dict[str, Json], position: str
) -> Iterator[Span | Reject]:
    scope = None
    for index, (part, is_cut) in enumerate(parts(content, _SCOPE)):
        try:
            scope = _whole(InstrumentationScope, part, is_cut).name or None
        except ValueError as error:
            yield rejected(f"{position}.scope[{index}]", error)
    for index, (part, is_cut) in enumerate(parts(content, _SPANS)):
        try:
            yield span_of(_whole(trace_pb2.Span, part, is_cut), resource, scope)
        except ValueError as error:
            yield rejected(f"{position}.spans[{index}]", error)


def _whole(kind: Any, content: bytes, is_cut: bool) -> Any:
    """The message of type `kind`. Raises `RecordError` where it is cut or damaged."""
    if is_cut:
        raise RecordError("truncated: its end is missing")
    try:
        return kind.FromString(content)
    except DecodeError as error:
        what = f"no valid {kind.DESCRIPTOR.name}, damaged or nested deeper than 100 messages"
        raise RecordError(f"{what}: {error}") from error
