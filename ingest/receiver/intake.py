"""What a request says, made ready to be kept: decoded, judged span by span, redacted, packed.

Owns the answer's `partial_success`. Refuses a body that is no export request at all; of one that
is, only the damaged spans are refused.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa

from ingest.config import Configuration
from ingest.readers.documents import Document
from ingest.readers.exposition import Scrape, lines_to_samples
from ingest.readers.json_text import loads
from ingest.readers.otlp_metrics import OtlpMetrics
from ingest.readers.prometheus_text import PrometheusText
from ingest.readers.reader import Record
from ingest.readers.rejection import RecordError
from ingest.readers.samples import as_records
from ingest.receiver.inbox import Arrival
from ingest.receiver.signals import TRACES, Signal
from ingest.records import Reject, Sample, Span
from ingest.redact import Redaction
from ingest.store.deliveries import rejects_table
from ingest.store.samples import sample_table
from ingest.store.spans import digest_key, span_table

PROTOBUF = "protobuf"
JSON = "json"

SAMPLE_FORMATS = frozenset({OtlpMetrics.name, PrometheusText.name})
"""Formats of arrivals that hold samples; all others hold spans."""

IGNORED_COUNT = "ignored_count"

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

    @property
    def masked(self) -> Mapping[str, int]:
        """Texts in which a mask found something so far, by mask."""
        return self._redaction.masked

    def take(self, signal: Signal, body: bytes, encoding: str, door: str) -> Taken:
        """What one export request of `signal` tells.

        Raises `BadRequestError` where `body` is none in the encoding named.
        """
        found = _found(signal, body, encoding)
        format_name = f"otlp-{encoding}" if signal is TRACES else f"otlp-{signal.name}"
        return self._kept(found, body, door, format_name)

    def scraped(self, body: bytes, scrape: Scrape, door: str) -> Taken:
        """The samples of one scrape of an engine, dated now where the scrape tells no instant."""
        numbered = enumerate(body.decode("utf-8", "replace").splitlines(), 1)
        lines = ((number, line.strip()) for number, line in numbered if line.strip())
        dated = replace(scrape, at=self._clock()) if scrape.at is None else scrape
        found = list(as_records(lines_to_samples(lines, dated)))
        return self._kept(found, body, door, PrometheusText.name)

    def _kept(self, found: Sequence[Record], body: bytes, door: str, format_name: str) -> Taken:
        """What was found in `body`, as rows of spans or of samples."""
        if format_name in SAMPLE_FORMATS:
            samples = [item for item in found if isinstance(item, Sample)]
            rows, unfit = sample_table(self._redaction.samples(samples))
        else:
            spans = [item for item in found if isinstance(item, Span)]
            clean = self._redaction.spans(spans)
            weighed = self._redaction.weighed(spans, clean)
            rows, unfit = span_table(weighed, clean, key=self._key)
        damaged = [item for item in found if isinstance(item, Reject)]
        rejects = list(self._redaction.rejects([*damaged, *unfit]))
        ignored_count = found.count(None)
        return Taken(
            arrival=Arrival(
                received_at=self._clock(),
                door=door,
                format_name=format_name,
                checksum=sha256(body).hexdigest(),
                record_count=rows.num_rows + len(rejects),
                content=packed(rows, rejects, ignored_count),
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


def packed(rows: pa.Table, rejects: Sequence[Reject], ignored_count: int) -> bytes:
    """Rows of spans or samples and rejects as two Arrow streams, one after the other."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    counted = rows.replace_schema_metadata({IGNORED_COUNT: str(ignored_count)})
    for table in (counted, rejects_table(rejects)):
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table)
    return sink.getvalue()


def unpacked(content: bytes) -> tuple[pa.Table, pa.Table, int]:
    """The rows, the rejects and the count of ignored values that `packed` packed."""
    source = pa.BufferReader(content)
    with pa.ipc.open_stream(source) as stream:
        rows = stream.read_all()
    with pa.ipc.open_stream(source) as stream:
        rejects = stream.read_all()
    return rows, rejects, int((rows.schema.metadata or {}).get(IGNORED_COUNT.encode(), b"0"))


def _found(signal: Signal, body: bytes, encoding: str) -> list[Record]:
    """What `body` tells; raises `BadRequestError` where it is no request of `signal`."""
    try:
        return list(_records(signal, body, encoding))
    except ValueError as error:
        what = f"the body is no export request of {signal.name}"
        raise BadRequestError(f"{what}: {error}") from error


def _records(signal: Signal, body: bytes, encoding: str) -> Iterator[Record]:
    """The records of `body`; a damaged resource costs its damaged records only."""
    if encoding == PROTOBUF:
        return signal.of_message(io.BytesIO(body))
    document = loads(body, names_nan=True)
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
