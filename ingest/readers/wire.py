"""The fields of a protobuf message without its schema, so that one bad record costs one record.

Owns the walk over tags and lengths. Refuses to interpret a field.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ingest.readers.rejection import RecordError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
MAX_MESSAGE_BYTES = 512 * 2**20

_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES = 10


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its number, its wire type, and where its content begins and should end."""

    number: int
    wire_type: int
    start: int
    end: int


def fields(data: bytes) -> Iterator[Field]:
    """The fields of `data` in order; the last one may end beyond it.

    Raises `RecordError` where the bytes are no protobuf.
    """
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        start = at
        if wire_type == VARINT:
            _, end = varint(data, at)
        elif wire_type == LENGTH:
            length, start = varint(data, at)
            end = start + length
        elif wire_type in _FIXED_BYTES:
            end = at + _FIXED_BYTES[wire_type]
        else:
            raise RecordError(f"no protobuf at byte {at - 1}")
        if number == 0:
            raise RecordError(f"no protobuf at byte {at - 1}")
        yield Field(number, wire_type, start, end)
        at = end


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The integer at `at` and where it ends."""
    value = 0
    for count, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    raise RecordError(f"an integer without an end at byte {at}")


def parts(data: bytes, number: int) -> Iterator[tuple[bytes, bool]]:
    """The content of each field `number` that has a length, and whether its end is missing.

    Raises `RecordError` where the bytes are no protobuf.
    """
    for field in fields(data):
        if field.number == number and field.wire_type == LENGTH:
            yield data[field.start : field.end], field.end > len(data)


def read_varint(stream: BinaryIO) -> int | None:
    """The integer that comes next in `stream`, None at its end."""
    data = b""
    while len(data) < _MAX_VARINT_BYTES:
        byte = stream.read(1)
        if not byte:
            if data:
                raise RecordError("truncated in the middle of a length")
            return None
        data += byte
        if byte[0] < 0x80:
            return varint(data, 0)[0]
    raise RecordError("no protobuf: an integer without an end")


def read_exactly(stream: BinaryIO, length: int) -> bytes:
    """`length` bytes of `stream`; fewer only where it ends.

    Raises `RecordError` for a length that no message has.
    """
    if length > MAX_MESSAGE_BYTES:
        raise RecordError(
            f"a message of {length:,} bytes, the limit is {MAX_MESSAGE_BYTES:,}; or no protobuf"
        )
    return stream.read(length)


def read_part(stream: BinaryIO) -> tuple[int, bytes, int] | None:
    """The next top-level field: its number, its content and how many bytes of it are missing.

    None at the end of `stream`. Only fields with a length have content.
    """
    tag = read_varint(stream)
    if tag is None:
        return None
    number, wire_type = tag >> 3, tag & 7
    if wire_type == LENGTH and number > 0:
        length = read_varint(stream)
        if length is None:
            raise RecordError("truncated in the middle of a length")
        content = read_exactly(stream, length)
        return number, content, length - len(content)
    if wire_type == VARINT and number > 0:
        read_varint(stream)
    elif wire_type in _FIXED_BYTES and number > 0:
        stream.read(_FIXED_BYTES[wire_type])
    else:
        raise RecordError("no protobuf")
    return number, b"", 0
