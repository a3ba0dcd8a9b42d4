"""Spans as the OTLP JSON that a collector's file exporter writes.

Owns the encoding: hex ids, 64-bit integers as strings, kinds as numbers, one request a line.
Refuses to choose attributes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any, Literal

from sample_data import company

Value = str | bool | int | float | tuple[str, ...]
Kind = Literal[1, 2, 3]
INTERNAL: Kind = 1
SERVER: Kind = 2
CLIENT: Kind = 3

MOST_SPANS_A_LINE = 64
LINE_GAP_NS = 600 * company.SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The instrumentation that wrote a span."""

    name: str
    version: str | None = None
    schema_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSpan:
    """One span on its way out; `failure` is the message of an error status."""

    resource: tuple[tuple[str, Value], ...]
    scope: Scope
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str
    kind: Kind
    started_at: int
    ended_at: int
    attributes: Mapping[str, Value]
    failure: str | None = None
    events: tuple[dict[str, Any], ...] = ()


class Ids:
    """Random trace and span ids, in the order in which they are asked for."""

    def __init__(self, name: str) -> None:
        self._random = Random(f"{company.SEED}/ids/{name}")

    def trace(self) -> str:
        """32 hex characters."""
        return f"{self._random.getrandbits(128):032x}"

    def span(self) -> str:
        """16 hex characters."""
        return f"{self._random.getrandbits(64):016x}"


def seconds(duration_ns: int) -> float:
    """A duration on whole microseconds as the nearest float of seconds."""
    return round(duration_ns / 1e9, 6)


def lines(spans: Iterable[WireSpan]) -> Iterator[tuple[str, int]]:
    """Export requests as JSON text with their number of spans, in the order of span ends."""
    ordered = sorted(spans, key=lambda span: (span.ended_at, span.started_at, span.span_id))
    held: dict[tuple[tuple[str, Value], ...], list[WireSpan]] = {}
    for span in ordered:
        batch = held.setdefault(span.resource, [])
        is_late = batch and span.ended_at - batch[-1].ended_at > LINE_GAP_NS
        if is_late or len(batch) >= MOST_SPANS_A_LINE:
            yield _request(batch), len(batch)
            held[span.resource] = batch = []
        batch.append(span)
    for batch in held.values():
        yield _request(batch), len(batch)


def event(name: str, instant: int, attributes: Mapping[str, Value]) -> dict[str, Any]:
    """One span event as JSON."""
    return {"timeUnixNano": str(instant), "name": name, "attributes": _attributes(attributes)}


def _request(batch: list[WireSpan]) -> str:
    scopes = []
    by_scope = sorted(batch, key=lambda span: span.scope.name)
    for scope, spans in groupby(by_scope, key=lambda span: span.scope):
        entry: dict[str, Any] = {"scope": {"name": scope.name}}
        if scope.version is not None:
            entry["scope"]["version"] = scope.version
        entry["spans"] = [_span(span) for span in spans]
        if scope.schema_url is not None:
            entry["schemaUrl"] = scope.schema_url
        scopes.append(entry)
    resource = {"attributes": _attributes(dict(batch[0].resource))}
    request = {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}
    return json.dumps(request, separators=(",", ":"))


def _span(span: WireSpan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id,
        "flags": 257 if span.parent_span_id else 256,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.started_at),
        "endTimeUnixNano": str(span.ended_at),
        "attributes": _attributes(span.attributes),
    }
    if span.events:
        found["events"] = list(span.events)
    found["status"] = {} if span.failure is None else {"message": span.failure, "code": 2}
    return found


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}
    return {"stringValue": value}
