"""The signals of OTLP that the receiver takes, as data.

Owns what differs between them: the path and the service, the form of the answer, and how a body
becomes records. Refuses nothing: the doors and the intake do.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ingest.readers.documents import Document
from ingest.readers.otlp_json_spans import spans_of_document
from ingest.readers.otlp_logs import LOGS, told_by_document, told_by_message
from ingest.readers.otlp_metrics import METRIC_KEYS, samples_of_document, samples_of_message
from ingest.readers.otlp_protobuf import records_of_message
from ingest.readers.reader import Record
from ingest.readers.samples import as_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One kind of export request. A record that is None is sound and no question reads it."""

    name: str
    service: str
    response: Any
    rejected_field: str
    keys: frozenset[str]
    of_message: Callable[[BinaryIO], Iterator[Record]]
    of_document: Callable[[Document], Iterator[Record]]

    @property
    def path(self) -> str:
        """Where OTLP over HTTP sends it."""
        return f"/v1/{self.name}"

    @property
    def rejected_key(self) -> str:
        """The name of `rejected_field` in JSON."""
        first, *others = self.rejected_field.split("_")
        return first + "".join(word.capitalize() for word in others)


TRACES = Signal(
    name="traces",
    service="opentelemetry.proto.collector.trace.v1.TraceService",
    response=ExportTraceServiceResponse,
    rejected_field="rejected_spans",
    keys=frozenset({"resourceSpans", "resource_spans"}),
    of_message=records_of_message,
    of_document=spans_of_document,
)
LOG_RECORDS = Signal(
    name="logs",
    service="opentelemetry.proto.collector.logs.v1.LogsService",
    response=ExportLogsServiceResponse,
    rejected_field="rejected_log_records",
    keys=LOGS,
    of_message=told_by_message,
    of_document=told_by_document,
)
METRICS = Signal(
    name="metrics",
    service="opentelemetry.proto.collector.metrics.v1.MetricsService",
    response=ExportMetricsServiceResponse,
    rejected_field="rejected_data_points",
    keys=METRIC_KEYS,
    of_message=lambda stream: as_records(samples_of_message(stream)),
    of_document=lambda document: as_records(samples_of_document(document)),
)
SIGNALS = (TRACES, LOG_RECORDS, METRICS)
