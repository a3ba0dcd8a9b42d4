"""What a request says, made ready to be kept: decoded, judged span by span, redacted, packed.

Owns the answer's `partial_success`. Refuses a body that is no export request at all; of one that
is, only the damaged spans are refused.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa

from ingest.config import Configuration
from ingest.readers.documents import Document
from ingest.readers.json_text import loads
from ingest.readers.otlp_json_spans import spans_of_document
from ingest.readers.otlp_protobuf import records_of_message
from ingest.readers.rejection import RecordError
from ingest.receiver.inbox import Arrival
from ingest.records import Reject, Span
from ingest.redact import Redaction
from ingest.store.deliveries import rejects_table
from ingest.store.spans import digest_key, span_table

PROTOBUF = "otlp-protobuf"
JSON = "otlp-json"
TRACES = frozenset({"resourceSpans", "resource_spans"})

MAX_TOLD_REASONS = 3
"""Reasons that `partial_success` names; all of them are kept."""


class BadRequestError(Exception):
    """The body is no OTLP export request, so sending it again is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A request ready to be kept, and what its answer says of the spans that were not taken."""

    arrival: Arrival
    accepted: int
    rejected: int
    message: str


class Intake:
    """Requests to arrivals, as the configuration's privacy setting wants them."""

    def __init__(self, configuration: Configuration, clock: Callable[[], int]) -> None:
        self._redaction = Redaction(configuration)
        self._key = digest_key(configuration)
        self._clock = clock

    def traces(self, body: bytes, format_name: str, door: str) -> Taken:
        """The spans of one export request of traces.

        Raises `BadRequestError` where `body` is none in the format named.
        """
        spans, rejects = _sorted(body, format_name)
        clean = self._redaction.spans(spans)
        weighed = self._redaction.weighed(spans, clean)
        rows, unfit = span_table(weighed, clean, key=self._key)
        rejects = list(self._redaction.rejects([*rejects, *unfit]))
        return Taken(
            arrival=Arrival(
                received_at=self._clock(),
                door=door,
                format_name=format_name,
                checksum=sha256(body).hexdigest(),
                record_count=rows.num_rows + len(rejects),
                content=packed(rows, rejects),
            ),
            accepted=rows.num_rows,
            rejected=len(rejects),
            message=_told(rejects),
        )


def packed(spans: pa.Table, rejects: Sequence[Reject]) -> bytes:
    """Rows of spans and rejects as two Arrow streams, one after the other."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for table in (spans, rejects_table(rejects)):
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table)
    return sink.getvalue()


def unpacked(content: bytes) -> tuple[pa.Table, pa.Table]:
    """The rows of spans and rejects that `packed` packed."""
    source = pa.BufferReader(content)
    with pa.ipc.open_stream(source) as stream:
        spans = stream.read_all()
    with pa.ipc.open_stream(source) as stream:
        rejects = stream.read_all()
    return spans, rejects


def _sorted(body: bytes, format_name: str) -> tuple[list[Span], list[Reject]]:
    spans: list[Span] = []
    rejects: list[Reject] = []
    try:
        for record in _records(body, format_name):
            if isinstance(record, Span):
                spans.append(record)
            else:
                rejects.append(record)
    except ValueError as error:
        raise BadRequestError(f"the body is no export request of traces: {error}") from error
    return spans, rejects


def _records(body: bytes, format_name: str) -> Iterator[Span | Reject]:
    """The records of `body`; a damaged resource costs its damaged spans only."""
    if format_name == PROTOBUF:
        return records_of_message(io.BytesIO(body))
    document = loads(body)
    if not isinstance(document, dict):
        raise RecordError("no JSON object")
    if document and not document.keys() & TRACES:
        raise RecordError("there is no resourceSpans in it")
    return spans_of_document(Document("", document))


def _told(rejects: Sequence[Reject]) -> str:
    told = [f"{reject.position}: {reject.reason}" for reject in rejects[:MAX_TOLD_REASONS]]
    if len(rejects) > MAX_TOLD_REASONS:
        told.append(f"and {len(rejects) - MAX_TOLD_REASONS} more")
    return "; ".join(told)
