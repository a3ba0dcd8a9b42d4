"""One readable source: a file, a member of an archive, or standard input.

Owns its name, its checksum and its opening. Refuses to hold its bytes in memory.
"""

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from ingest.files.compression import CountingStream, unpacked
from ingest.files.refusal import RefusedSourceError

MAX_SIBLING_BYTES = 2**20
"""A file that describes its neighbour is small."""
HEAD_BYTES = 64 * 2**10
"""How much of a source the readers see before one of them is chosen."""


class Source:
    """Bytes that can be opened as often as needed.

    `path` is the file on disk, None for a member of an archive and for standard input.
    `size_bytes` counts the bytes as delivered, before any decompression.
    """

    def __init__(
        self,
        name: str,
        open_packed: Callable[[], BinaryIO],
        *,
        path: Path | None = None,
        size_bytes: int | None = None,
        read_sibling: Callable[[str], bytes | None] | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.size_bytes = size_bytes
        self._open_packed = open_packed
        self._read_sibling = read_sibling
        self._packed: CountingStream | None = None

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def open(self) -> BinaryIO:
        """The decompressed bytes from the beginning, read as they are asked for."""
        packed = CountingStream(self.name, self._delivered())
        self._packed = packed
        return unpacked(self.name, packed)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the bytes as delivered, in hex."""
        with self._delivered() as stream:
            digest = hashlib.sha256()
            while chunk := stream.read(2**20):
                digest.update(chunk)
            return digest.hexdigest()

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, decompressed."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def read_position(self) -> int:
        """Bytes of the source, as delivered, that the last opened stream has taken."""
        return 0 if self._packed is None else self._packed.position

    def sibling(self, name: str) -> bytes | None:
        """The bytes of the file `name` in the same folder or archive, None where there is none."""
        return None if self._read_sibling is None else self._read_sibling(name)

    def refusal(self, found: str) -> RefusedSourceError:
        """The error that names this source and what it was found to be."""
        return RefusedSourceError(self.name, found)

    def _delivered(self) -> BinaryIO:
        try:
            return self._open_packed()
        except OSError as error:
            raise self.refusal(f"cannot be read: {error.strerror or error}") from error
