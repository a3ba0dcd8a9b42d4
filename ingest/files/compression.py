"""Decompressed bytes of a stream, whatever it was packed with; a lie in it becomes a named error.

Owns gzip, zstd and the bound on what a small file may unpack to. Refuses to go by a file's name,
and to pass on the end of a truncated stream as if it were the end of the data.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

import zstandard

from ingest.files.refusal import RefusedSourceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MAX_LAYERS = 3
"""gzip of zstd of gzip is read; a file that is packed deeper is no accident."""
MAX_RATIO = 200
MAX_UNBOUNDED_BYTES = 256 * 2**20
"""Up to 256 MiB any ratio passes; beyond, more than 200 bytes from one are a decompression bomb."""

_BUFFER_BYTES = 2**18
_ZSTD_CHUNK_BYTES = 2**11
"""One zstd chunk unpacks to 64 MiB at worst: 4 bytes can stand for a block of 128 KiB."""


class CountingStream(io.RawIOBase):
    """A raw stream that knows how many bytes were taken from it, and names its errors."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._stream.read(len(view))
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise RefusedSourceError(
                self._name, f"cannot be read to its end: {error}; transfer it again"
            ) from error
        view[: len(data)] = data
        self.position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """What `read` unpacks, with its errors named and its volume bounded."""

    def __init__(
        self, name: str, kind: str, read: Callable[[int], bytes], packed: CountingStream
    ) -> None:
        self._name = name
        self._kind = kind
        self._read = read
        self._packed = packed
        self._unpacked_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._read(len(view))
        except EOFError:
            raise RefusedSourceError(
                self._name,
                f"a truncated {self._kind} file: its end is missing; transfer it again",
            ) from None
        except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise RefusedSourceError(
                self._name, f"a damaged {self._kind} file ({error}); transfer it again"
            ) from error
        view[: len(data)] = data
        self._unpacked_bytes += len(data)
        self._refuse_bomb()
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
        super().close()

    def _refuse_bomb(self) -> None:
        if is_bomb(self._packed.position, self._unpacked_bytes):
            raise RefusedSourceError(
                self._name, bomb(self._kind, self._packed.position, self._unpacked_bytes)
            )


def is_bomb(packed_bytes: int, unpacked_bytes: int) -> bool:
    """Whether so few bytes may not stand for so many."""
    return unpacked_bytes > MAX_UNBOUNDED_BYTES and unpacked_bytes > MAX_RATIO * packed_bytes


def bomb(kind: str, packed_bytes: int, unpacked_bytes: int) -> str:
    """What to say of a decompression bomb."""
    return (
        f"{packed_bytes:,} bytes of {kind} unpack to {unpacked_bytes:,} or more: a decompression "
        "bomb; unpack it yourself if it is not"
    )


def unpacked(name: str, packed: CountingStream) -> BinaryIO:
    """The bytes inside `packed` as a buffered stream; as they are where they are not compressed.

    Reading raises `RefusedSourceError` for a truncated or damaged stream and a decompression bomb.
    """
    stream: io.BufferedReader[Any] = io.BufferedReader(packed, _BUFFER_BYTES)
    for _ in range(MAX_LAYERS):
        magic = stream.peek(4)[:4]
        if magic.startswith(GZIP_MAGIC):
            inner = gzip.GzipFile(fileobj=stream, mode="rb")
            layer = _Unpacked(name, "gzip", inner.read, packed)
        elif magic == ZSTD_MAGIC:
            layer = _Unpacked(name, "zstd", _ZstdStream(stream).read, packed)
        else:
            return stream
        stream = io.BufferedReader(layer, _BUFFER_BYTES)
    return stream


class _ZstdStream:
    """Bytes of one or more zstd frames; `EOFError` where the last one is cut.

    The reader that the library offers ends a cut frame without a word.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._pending = b""
        self._is_inside_frame = False

    def read(self, size: int) -> bytes:
        while not self._pending:
            chunk = self._stream.read(_ZSTD_CHUNK_BYTES)
            if not chunk:
                if self._is_inside_frame:
                    raise EOFError
                return b""
            self._pending = self._unpack(chunk)
        data, self._pending = self._pending[:size], self._pending[size:]
        return data

    def _unpack(self, chunk: bytes) -> bytes:
        parts = []
        while chunk:
            parts.append(self._frame.decompress(chunk))
            self._is_inside_frame = not self._frame.eof
            if not self._frame.eof:
                break
            chunk = self._frame.unused_data
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        return b"".join(parts)
