"""What a request says, made ready to be kept: decoded, judged span by span, redacted, packed.

Owns the answer's `partial_success`. Refuses a body that is no export request at all; of one that
is, only the damaged spans are refused.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa

from ingest.config import Configuration
from ingest.readers.documents import Document
from ingest.readers.json_text import loads
from ingest.readers.rejection import RecordError
from ingest.receiver.inbox import Arrival
from ingest.receiver.signals import TRACES, Signal
from ingest.records import Reject, Span
from ingest.redact import Redaction
from ingest.store.deliveries import rejects_table
from ingest.store.spans import digest_key, span_table

PROTOBUF = "protobuf"
JSON = "json"

MAX_TOLD_REASONS = 3
"""Reasons that `partial_success` names; all of them are kept."""


class BadRequestError(Exception):
    """The body is no OTLP export request, so sending it again is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A request ready to be kept, and what its answer says of the records that were not taken.

    `ignored` counts records that are sound and tell of no model call.
    """

    arrival: Arrival
    accepted: int
    ignored: int
    rejected: int
    message: str


class Intake:
    """Requests to arrivals, as the configuration's privacy setting wants them."""

    def __init__(self, configuration: Configuration, clock: Callable[[], int]) -> None:
        self._redaction = Redaction(configuration)
        self._key = digest_key(configuration)
        self._clock = clock

    def take(self, signal: Signal, body: bytes, encoding: str, door: str) -> Taken:
        """What one export request of `signal` tells.

        Raises `BadRequestError` where `body` is none in the encoding named.
        """
        spans, rejects, ignored_count = _sorted(signal, body, encoding)
        clean = self._redaction.spans(spans)
        weighed = self._redaction.weighed(spans, clean)
        rows, unfit = span_table(weighed, clean, key=self._key)
        rejects = list(self._redaction.rejects([*rejects, *unfit]))
        return Taken(
            arrival=Arrival(
                received_at=self._clock(),
                door=door,
                format_name=f"otlp-{encoding}" if signal is TRACES else f"otlp-{signal.name}",
                checksum=sha256(body).hexdigest(),
                record_count=rows.num_rows + len(rejects),
                content=packed(rows, rejects),
            ),
            accepted=rows.num_rows,
            ignored=ignored_count,
            rejected=len(rejects),
            message=_told(rejects),
        )


def answer(signal: Signal, taken: Taken) -> Any:
    """The message that acknowledges `taken`, with `partial_success` where something was refused."""
    message = signal.response()
    if taken.rejected:
        setattr(message.partial_success, signal.rejected_field, taken.rejected)
        message.partial_success.error_message = taken.message
    return message


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


def _sorted(signal: Signal, body: bytes, encoding: str) -> tuple[list[Span], list[Reject], int]:
    """Spans and rejects of `body`, and the count of what tells of no model call."""
    spans: list[Span] = []
    rejects: list[Reject] = []
    ignored_count = 0
    try:
        for record in _records(signal, body, encoding):
            if isinstance(record, Span):
                spans.append(record)
            elif record is None:
                ignored_count += 1
            else:
                rejects.append(record)
    except ValueError as error:
        what = f"the body is no export request of {signal.name}"
        raise BadRequestError(f"{what}: {error}") from error
    return spans, rejects, ignored_count


def _records(signal: Signal, body: bytes, encoding: str) -> Iterator[Span | Reject | None]:
    """The records of `body`; a damaged resource costs its damaged records only."""
    if encoding == PROTOBUF:
        return signal.of_message(io.BytesIO(body))
    document = loads(body)
    if not isinstance(document, dict):
        raise RecordError("no JSON object")
    if document and not document.keys() & signal.keys:
        raise RecordError(f"there is no {min(signal.keys)} in it")
    return signal.of_document(Document("", document))


def _told(rejects: Sequence[Reject]) -> str:
    told = [f"{reject.position}: {reject.reason}" for reject in rejects[:MAX_TOLD_REASONS]]
    if len(rejects) > MAX_TOLD_REASONS:
        told.append(f"and {len(rejects) - MAX_TOLD_REASONS} more")
    return "; ".join(told)
