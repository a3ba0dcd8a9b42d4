"""Members of a zip archive as sources of their own.

Owns the name `archive.zip!member`. Refuses encrypted members and archives without a directory,
each by name.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ingest.files.compression import bomb, is_bomb
from ingest.files.refusal import RefusedSourceError
from ingest.files.source import MAX_SIBLING_BYTES, Source

_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_IS_ENCRYPTED = 0x1
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError)
"""What `zipfile` raises for archives that contradict themselves or use what it does not know."""


def is_zip(location: Path) -> bool:
    """Whether the file at `location` begins as a zip archive does."""
    with location.open("rb") as stream:
        return stream.read(4) in _MAGICS


def members(
    name: str, location: Path, keep: object = None
) -> Iterator[Source | RefusedSourceError]:
    """Each file in the archive at `location`, or the error of one that cannot be read.

    `keep` lives as long as the sources do. Raises `RefusedSourceError` for a damaged archive.
    """
    try:
        with zipfile.ZipFile(location) as archive:
            infos = [info for info in archive.infolist() if _is_content(info)]
    except _DAMAGED as error:
        raise RefusedSourceError(
            name, f"a truncated or damaged zip archive ({error}); transfer it again"
        ) from error
    if not infos:
        raise RefusedSourceError(name, "an archive without files")
    return iter([_member(name, location, info, keep) for info in infos])


def _is_content(info: zipfile.ZipInfo) -> bool:
    """Whether a member is a file of the user's, not a folder or what macOS adds."""
    parts = PurePosixPath(info.filename).parts
    return not info.is_dir() and not any(part.startswith((".", "__MACOSX")) for part in parts)


def _member(
    archive_name: str, location: Path, info: zipfile.ZipInfo, keep: object
) -> Source | RefusedSourceError:
    name = f"{archive_name}!{info.filename}"
    if info.flag_bits & _IS_ENCRYPTED:
        return RefusedSourceError(name, "encrypted; unpack the archive with its password first")
    if is_bomb(info.compress_size, info.file_size):
        return RefusedSourceError(name, bomb("zip", info.compress_size, info.file_size))

    def open_packed(_keep: object = keep) -> BinaryIO:
        try:
            with zipfile.ZipFile(location) as archive:
                return archive.open(info)  # type: ignore[return-value] # IO[bytes] is what it is
        except _DAMAGED as error:
            raise RefusedSourceError(name, f"damaged inside its archive: {error}") from error

    def read_sibling(sibling: str, _keep: object = keep) -> bytes | None:
        return _small_member(location, str(PurePosixPath(info.filename).with_name(sibling)))

    return Source(name, open_packed, size_bytes=info.file_size, read_sibling=read_sibling)


def _small_member(location: Path, name: str) -> bytes | None:
    """The bytes of a member of at most 1 MiB; None where there is none, or it is damaged."""
    try:
        with zipfile.ZipFile(location) as archive:
            info = archive.getinfo(name)
            return archive.read(info) if info.file_size <= MAX_SIBLING_BYTES else None
    except (KeyError, *_DAMAGED):
        return None
