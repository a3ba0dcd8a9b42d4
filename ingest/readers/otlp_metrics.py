"""Samples of engine metrics from OTLP metrics, protobuf or JSON, for files and for the receiver.

Owns what a point of each kind of data says: gauges, sums that go on and sums that begin anew,
histograms by their sum and count. Refuses a point without a time. What the table of names does not
know is ignored and counted.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from google.protobuf.json_format import ParseDict, ParseError  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.metrics.v1 import metrics_pb2

from ingest.engine_metrics.names import COUNT, SUM, Named, is_counted_twice, known, model_of
from ingest.files import Source
from ingest.readers import otlp_json_spans
from ingest.readers.documents import Document, documents
from ingest.readers.opening import begins_as_json, opening
from ingest.readers.otlp import attributes_of
from ingest.readers.otlp_json_spans import objects
from ingest.readers.otlp_wire import framed_messages, framing_and_signal
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.samples import Ignored, Measured, sample_batches
from ingest.readers.span_fields import signed_instant
from ingest.readers.wire import read_part
from ingest.records import Batch, Json, Sample

METRIC_KEYS = frozenset({"resourceMetrics", "resource_metrics"})

_RESOURCE_METRICS = 1
_DELTA = metrics_pb2.AGGREGATION_TEMPORALITY_DELTA
_NO_VALUE = metrics_pb2.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
_INSTANCE = ("service.instance.id", "k8s.pod.name", "host.name")
_DATA = ("gauge", "sum", "histogram", "exponentialHistogram", "exponential_histogram", "summary")
_NUMBERS = ("gauge", "sum")

Message = Any
"""A protobuf message; the generated classes carry no types."""


class OtlpMetrics:
    """OTLP metrics."""

    name = "otlp-metrics"
    title = "OTLP metrics of vLLM, SGLang or llama.cpp, JSON or protobuf"
    recognised_by = (
        "JSON objects with the key resourceMetrics, or protobuf of resources, scopes and metrics"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the head begins with metrics, in either form."""
        found = framing_and_signal(head)
        is_protobuf = found is not None and found[1] == "metrics"
        return is_protobuf or bool(opening(head).keys & METRIC_KEYS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of samples; a document or a resource that is damaged is rejected by itself."""
        is_json = begins_as_json(source.head)
        return sample_batches(_of_documents(source) if is_json else _of_messages(source))


def samples_of_message(stream: BinaryIO, prefix: str = "") -> Iterator[Measured]:
    """What one export request in protobuf says; `prefix` stands before each position.

    Raises `RecordError` where not even the first bytes are protobuf.
    """
    index = 0
    try:
        while (part := read_part(stream)) is not None:
            number, content, missing_bytes = part
            if number == _RESOURCE_METRICS:
                position = f"{prefix}resourceMetrics[{index}]"
                index += 1
                yield from _of_content(content, missing_bytes, position)
    except ValueError as error:
        if index == 0 and not prefix:
            raise RecordError(str(error)) from error
        yield rejected(f"{prefix}resourceMetrics[{index}]", error)


def samples_of_document(document: Document) -> Iterator[Measured]:
    """What one export request in JSON says."""
    value = document.value
    if not isinstance(value, dict) or (value and not value.keys() & METRIC_KEYS):
        yield rejected(document.where, "no resourceMetrics", value)
        return
    found = value.get("resourceMetrics", value.get("resource_metrics"))
    for position, resource in objects(found, document.at("resourceMetrics")):
        if not isinstance(resource, dict):
            yield resource
            continue
        try:
            told = resource.get("resource") or {}
            attributes = otlp_json_spans.attributes_of(told.get("attributes"))
        except (ValueError, AttributeError) as error:
            yield rejected(f"{position}.resource", error, resource.get("resource"))
            attributes = {}
        scopes = resource.get("scopeMetrics", resource.get("scope_metrics"))
        for where, scope in objects(scopes, f"{position}.scopeMetrics"):
            if not isinstance(scope, dict):
                yield scope
                continue
            for at, metric in objects(scope.get("metrics"), f"{where}.metrics"):
                yield from _of_json(metric, attributes, at)


def _of_documents(source: Source) -> Iterator[Measured]:
    for document in documents(source):
        if isinstance(document, Document):
            yield from samples_of_document(document)
        else:
            yield document


def _of_messages(source: Source) -> Iterator[Measured]:
    found = framing_and_signal(source.head)
    framing = "none" if found is None else found[0]
    with source.open() as stream:
        if framing == "none":
            try:
                yield from samples_of_message(stream)
            except RecordError as error:
                raise source.refusal(f"no OTLP protobuf: {error}") from error
            return
        number = 0
        try:
            for number, (message, missing_bytes) in enumerate(framed_messages(stream, framing), 1):
                yield from samples_of_message(io.BytesIO(message), f"message {number}, ")
                if missing_bytes:
                    reason = f"truncated: {missing_bytes:,} bytes are missing"
                    yield rejected(f"message {number}", reason)
        except ValueError as error:
            yield rejected(f"message {number + 1}", error)


def _of_content(content: bytes, missing_bytes: int, position: str) -> Iterator[Measured]:
    if missing_bytes:
        yield rejected(position, f"truncated: {missing_bytes:,} bytes are missing")
        return
    try:
        message = metrics_pb2.ResourceMetrics.FromString(content)
        resource = attributes_of(message.resource.attributes)
    except (DecodeError, ValueError) as error:
        yield rejected(position, f"no valid ResourceMetrics: {error}")
        return
    for scope_index, scope in enumerate(message.scope_metrics):
        for index, metric in enumerate(scope.metrics):
            where = f"{position}.scopeMetrics[{scope_index}].metrics[{index}]"
            yield from _of_metric(metric, resource, where)


def _of_json(metric: Json, resource: Mapping[str, Json], position: str) -> Iterator[Measured]:
    """One metric; exemplars, whose ids are no base64, are left aside."""
    if not isinstance(metric, dict):
        yield metric
        return
    name = str(metric.get("name"))
    kind = next((kind for kind in _DATA if isinstance(metric.get(kind), dict)), None)
    data = {} if kind is None else metric[kind]
    points = data.get("dataPoints", data.get("data_points")) or []
    if kind is None or not isinstance(points, list):
        yield rejected(position, "a metric without data points", metric)
        return
    if not any(known(name + part) for part in ("", SUM)):
        yield Ignored(len(points))
        return
    for index, point in enumerate(points):
        where = f"{position}.{kind}.dataPoints[{index}]"
        if not isinstance(point, dict):
            yield rejected(where, "no object", point)
            continue
        kept = {key: value for key, value in point.items() if key != "exemplars"}
        kept_data = {key: value for key, value in data.items() if key != "data_points"}
        alone = {"name": name, kind: kept_data | {"dataPoints": [kept]}}
        try:
            message = ParseDict(alone, metrics_pb2.Metric(), ignore_unknown_fields=True)
        except (ParseError, TypeError, RecursionError) as error:
            yield rejected(where, f"no valid data point: {error}", point)
            continue
        yield from _of_metric(message, resource, position, first=index)


def _of_metric(
    metric: Message, resource: Mapping[str, Json], position: str, *, first: int = 0
) -> Iterator[Measured]:
    """The samples of one metric; `first` is the number of its first point."""
    kind = metric.WhichOneof("data")
    if kind is None:
        yield rejected(position, "a metric without data points")
        return
    data = getattr(metric, kind)
    parts = _parts(metric.name, is_number=kind in _NUMBERS)
    if not parts:
        yield Ignored(len(data.data_points))
        return
    is_delta = getattr(data, "aggregation_temporality", None) == _DELTA
    for index, point in enumerate(data.data_points, first):
        for named, value in parts:
            try:
                yield _sample(named, point, value(point), resource, is_delta=is_delta)
            except ValueError as error:
                yield rejected(f"{position}.{kind}.dataPoints[{index}]", error, str(point))


def _parts(name: str, *, is_number: bool) -> list[tuple[Named, Callable[[Message], float]]]:
    """What a metric's points tell, and how; nothing where no question reads it."""
    values: list[tuple[str, Callable[[Message], float]]] = [("", _number)]
    if not is_number:
        values = [(SUM, lambda point: float(point.sum)), (COUNT, lambda point: float(point.count))]
    found = [(known(name + part), name + part, value) for part, value in values]
    return [(replace(named, name=full), value) for named, full, value in found if named is not None]


def _sample(
    named: Named, point: Message, value: float, resource: Mapping[str, Json], *, is_delta: bool
) -> Sample | Ignored:
    at = signed_instant(point.time_unix_nano)
    if at is None:
        raise RecordError("a data point without a time")
    attributes = {key: _text(told) for key, told in attributes_of(point.attributes).items()}
    if is_counted_twice(named.engine, attributes):
        return Ignored()
    about = {f"resource.{key}": _text(told) for key, told in resource.items()}
    is_known = not point.flags & _NO_VALUE and math.isfinite(value)
    is_gauge = named.kind == "gauge"
    return Sample(
        engine=named.engine,
        metric=named.metric,
        kind="delta" if is_delta and not is_gauge else named.kind,
        name=named.name,
        rank=named.rank,
        model=model_of(named.engine, attributes),
        instance=attributes.get("instance") or _instance(resource),
        pool_reported=attributes.get("pool") or _told(resource, "pool"),
        labels=dict(sorted((about | attributes).items())),
        at=at,
        began_at=None if is_gauge else signed_instant(point.start_time_unix_nano),
        value=float(value) if is_known else None,
    )


def _number(point: Message) -> float:
    which = point.WhichOneof("value")
    return math.nan if which is None else float(getattr(point, which))


def _instance(resource: Mapping[str, Json]) -> str | None:
    return next((told for key in _INSTANCE if (told := _told(resource, key))), None)


def _told(resource: Mapping[str, Json], key: str) -> str | None:
    value = resource.get(key)
    return None if value is None else _text(value)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else str(value)
