"""Deliveries through the file readers and through the receiver, and what a ledger then holds."""

import base64
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.config import Configuration
from ingest.deliver import deliver
from ingest.files import Source
from ingest.ledger import Connection, Ledger, open_for_reading, open_for_writing
from ingest.readers import reader_named
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import Intake
from ingest.receiver.settle import Settled, Settler
from ingest.receiver.signals import Signal

RECEIVED_AT = 1_790_000_000 * 10**9
WAIT_S = 60.0
CONTENTS = {
    "spans": "select * exclude (delivery_id) from spans order by trace_id, span_id",
    "calls": "select * exclude (delivery_id, call_no, cohort_id) from calls order by call_id",
}

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Held:
    """What a ledger holds: rows of spans and of calls, and the positions and reasons of rejects."""

    spans: list[Row]
    calls: list[Row]
    rejects: list[tuple[str, str]]


def held_by(connection: Connection) -> Held:
    rows = {name: connection.execute(text).fetchall() for name, text in CONTENTS.items()}
    rejects = connection.execute("select position, reason from rejects order by all").fetchall()
    return Held(rows["spans"], rows["calls"], rejects)


def through_files(bodies: Sequence[tuple[bytes, str]]) -> Held:
    """What a new ledger holds after each body was delivered as a file of the format named."""
    with open_for_writing(None) as ledger:
        for body, format_name in bodies:
            source = Source("a file", lambda body=body: io.BytesIO(body), size_bytes=len(body))
            reader = reader_named(format_name)
            deliver(ledger, source, reader, Configuration(), clock=lambda: RECEIVED_AT)
        return held_by(ledger.connection)


class LiveLedger:
    """A ledger that is filled as the receiver fills it, without the doors."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "live.duckdb"
        self.inbox = Inbox(folder / "live.inbox", max_bytes=2**30)
        self.intake = Intake(Configuration(), lambda: RECEIVED_AT)
        self._settler = Settler(self.path, self.inbox, Configuration())

    def acknowledge(self, signal: Signal, body: bytes, encoding: str) -> None:
        """Take one request up to the point where its sender is told that it is kept."""
        taken = self.intake.take(signal, body, encoding, "a door")
        self.inbox.put(taken.arrival).result(WAIT_S)

    def settle(self) -> Settled:
        """Take all that waits into the ledger."""
        return self._settler.settle()

    def held(self) -> Held:
        """What is in the ledger by now."""
        with self.reading() as ledger:
            return held_by(ledger.connection)

    def reading(self) -> Ledger:
        """The ledger, to ask it."""
        return open_for_reading(self.path)


def through_receiver(
    signal: Signal, bodies: Sequence[tuple[bytes, str]], settle_every: int
) -> Held:
    """What a new ledger holds after each body was received in the encoding named."""
    with TemporaryDirectory() as folder:
        live = LiveLedger(Path(folder))
        with live.inbox:
            for number, (body, encoding) in enumerate(bodies, 1):
                live.acknowledge(signal, body, encoding)
                if number % settle_every == 0:
                    live.settle()
            assert live.settle().failed == 0
            return live.held()


@pytest.fixture(scope="session")
def by_files() -> Callable[..., Held]:
    return through_files


@pytest.fixture(scope="session")
def by_receiver() -> Callable[..., Held]:
    return through_receiver


@pytest.fixture
def live(tmp_path: Path) -> Any:
    """A ledger that is filled as the receiver fills it."""
    opened = LiveLedger(tmp_path)
    with opened.inbox:
        yield opened


@pytest.fixture(scope="session")
def json_of() -> Callable[..., bytes]:
    return as_json


def as_json(request: ExportTraceServiceRequest | ExportLogsServiceRequest) -> bytes:
    """The request in OTLP's JSON: ids in hex, 64-bit integers as text, bytes as base64.

    Written field by field and not by the protobuf library, which writes ids as base64.
    """
    if isinstance(request, ExportTraceServiceRequest):
        resources = [
            {
                "resource": {"attributes": _attributes(given.resource.attributes)},
                "scopeSpans": [
                    {"scope": {"name": scope.scope.name}, "spans": [_span(s) for s in scope.spans]}
                    for scope in given.scope_spans
                ],
            }
            for given in request.resource_spans
        ]
        return json.dumps({"resourceSpans": resources}).encode()
    logs = [
        {
            "resource": {"attributes": _attributes(given.resource.attributes)},
            "scopeLogs": [
                {
                    "scope": {"name": scope.scope.name},
                    "logRecords": [_log_record(record) for record in scope.log_records],
                }
                for scope in given.scope_logs
            ],
        }
        for given in request.resource_logs
    ]
    return json.dumps({"resourceLogs": logs}).encode()


def _span(span: Any) -> dict[str, Any]:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _attributes(span.attributes),
        "events": [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_unix_nano),
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ],
        "status": {"code": span.status.code, "message": span.status.message},
    }


def _log_record(record: Any) -> dict[str, Any]:
    return {
        "timeUnixNano": str(record.time_unix_nano),
        "observedTimeUnixNano": str(record.observed_time_unix_nano),
        "eventName": record.event_name,
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "body": _value(record.body),
        "attributes": _attributes(record.attributes),
    }


def _attributes(pairs: Any) -> list[dict[str, Any]]:
    return [{"key": pair.key, "value": _value(pair.value)} for pair in pairs]


def _value(value: Any) -> dict[str, Any]:
    kind = value.WhichOneof("value")
    if kind is None:
        return {}
    content = getattr(value, kind)
    if kind == "array_value":
        return {"arrayValue": {"values": [_value(item) for item in content.values]}}
    if kind == "kvlist_value":
        return {"kvlistValue": {"values": _attributes(content.values)}}
    if kind == "int_value":
        return {"intValue": str(content)}
    if kind == "bytes_value":
        return {"bytesValue": base64.b64encode(content).decode()}
    name, _, word = kind.partition("_")
    return {name + word.capitalize(): content}
