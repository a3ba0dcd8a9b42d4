"""What OTLP protobuf a source contains: which signal, and how its messages are delimited.

Owns the difference between traces, logs and metrics, which have the same outer shape. Refuses to
take one for another.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO, Literal

import zstandard

from ingest.files.compression import ZSTD_MAGIC
from ingest.readers.rejection import RecordError
from ingest.readers.wire import (
    FIXED64,
    LENGTH,
    MAX_MESSAGE_BYTES,
    fields,
    parts,
    read_exactly,
    read_varint,
    varint,
)

Signal = Literal["traces", "logs", "metrics"]
Framing = Literal["none", "uint32", "varint"]

_METRIC_DATA = (5, 7, 9, 10, 11)
_JSON_SIGNALS: tuple[tuple[bytes, Signal], ...] = (
    (b'{"resourceSpans"', "traces"),
    (b'{"resourceLogs"', "logs"),
    (b'{"resourceMetrics"', "metrics"),
)


def framing_and_signal(head: bytes) -> tuple[Framing, Signal] | None:
    """How the messages of a source are delimited and what they carry; None for no OTLP.

    `uint32` is the collector's file exporter (4 bytes, big-endian), `varint` is what protobuf
    libraries call delimited, `none` is one message, or several of which the bytes simply follow.
    """
    if head.startswith(b"{"):
        return None
    for framing, start in _possible_framings(head):
        try:
            signal = _signal_of(_decompressed(head[start:]))
        except ValueError:
            continue
        if signal is not None and (framing == "none" or _is_consistent(framing, head)):
            return framing, signal
    return None


def framed_messages(stream: BinaryIO, framing: Framing) -> Iterator[tuple[bytes, int]]:
    """Each delimited message, and how many bytes of it are missing at the end of the stream."""
    while True:
        if framing == "uint32":
            prefix = stream.read(4)
            length = int.from_bytes(prefix, "big") if prefix else None
            if 0 < len(prefix) < 4:
                raise RecordError("truncated in the middle of a length")
        else:
            length = read_varint(stream)
        if length is None:
            return
        message = read_exactly(stream, length)
        yield _decompressed(message), length - len(message)


def _possible_framings(head: bytes) -> Iterator[tuple[Framing, int]]:
    yield "none", 0
    if len(head) > 4:
        yield "uint32", 4
    try:
        yield "varint", varint(head, 0)[1]
    except ValueError:
        return


def _is_consistent(framing: Framing, head: bytes) -> bool:
    """Whether the first length leads to the end of the head or to another length."""
    if framing == "uint32":
        return 0 < int.from_bytes(head[:4], "big") <= MAX_MESSAGE_BYTES
    length, start = varint(head, 0)
    message = head[start : start + length]
    try:
        last = [field.end for field in fields(message)][-1]
    except (ValueError, IndexError):
        return False
    return last == length or start + length > len(head)


def _decompressed(message: bytes) -> bytes:
    """The message itself; the collector may compress each one with zstd."""
    if not message.startswith(ZSTD_MAGIC):
        return message
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(message)) as reader:
            return reader.read(MAX_MESSAGE_BYTES)
    except zstandard.ZstdError as error:
        raise RecordError(f"a damaged zstd frame: {error}") from error


def _signal_of(message: bytes) -> Signal | None:
    for prefix, signal in _JSON_SIGNALS:
        if message.startswith(prefix):
            return signal
    for resource, _ in parts(message, 1):
        for scope, _ in parts(resource, 2):
            for record, _ in parts(scope, 2):
                return _signal_of_record(record)
    return None


def _signal_of_record(record: bytes) -> Signal | None:
    """Told by the fields that only one of span, log record and metric has."""
    lengths: dict[tuple[int, int], int] = {}
    try:
        for field in fields(record):
            lengths[field.number, field.wire_type] = field.end - field.start
    except ValueError:
        return None
    if (1, FIXED64) in lengths or (11, FIXED64) in lengths:
        return "logs"
    has_times = (7, FIXED64) in lengths or (8, FIXED64) in lengths
    has_ids = lengths.get((1, LENGTH)) == 16 and lengths.get((2, LENGTH)) == 8
    if has_times or has_ids:
        return "traces"
    if (1, LENGTH) in lengths and any((number, LENGTH) in lengths for number in _METRIC_DATA):
        return "metrics"
    return None
