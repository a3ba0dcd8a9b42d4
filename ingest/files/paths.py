"""Sources from what a user types: paths, folders, globs, `-`.

Owns the order of files and the check that each is data. Refuses to stop at a bad file: its error
takes its place in the sequence.
"""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ingest.files.archive import is_zip, members
from ingest.files.content import no_data
from ingest.files.refusal import RefusedSourceError
from ingest.files.source import MAX_SIBLING_BYTES, Source
from ingest.files.spool import Spool

Opened = Source | RefusedSourceError


def open_sources(paths: Sequence[str]) -> Iterator[Opened]:
    """Each source that `paths` name, or the error of what cannot be read, in a fixed order.

    A folder gives its files by name, hidden ones left out; an archive gives its members.
    """
    for given in paths:
        try:
            yield from _standard_input() if given == "-" else _named(given)
        except OSError as error:
            yield RefusedSourceError(given, f"cannot be read: {error.strerror or error}")


def _named(given: str) -> Iterator[Opened]:
    path = Path(given)
    if path.exists():
        yield from _path(path)
    elif glob.has_magic(given):
        yield from _matching(given)
    elif path.is_symlink():
        yield RefusedSourceError(given, "a link to nothing, or to itself; check where it leads")
    else:
        yield RefusedSourceError(given, "does not exist; check the path")


def _standard_input() -> Iterator[Opened]:
    if sys.stdin is None:
        yield RefusedSourceError("-", "standard input is closed; pipe the data into the command")
        return
    yield from _stream("-", sys.stdin.buffer)


def _matching(pattern: str) -> Iterator[Opened]:
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes absolute patterns
    if not found:
        yield RefusedSourceError(pattern, "no file matches this pattern")
    for name in found:
        yield from _path(Path(name))


def _path(path: Path) -> Iterator[Opened]:
    """The sources at a path that exists; a pipe is read to its end first."""
    try:
        if path.is_dir():
            yield from _folder(path)
        elif path.is_file():
            yield from _file(path)
        else:
            with path.open("rb") as stream:
                yield from _stream(str(path), stream)
    except OSError as error:
        yield RefusedSourceError(str(path), f"cannot be read: {error.strerror or error}")


def _folder(folder: Path) -> Iterator[Opened]:
    unread: list[OSError] = []
    is_empty = True
    for parent, folders, files in os.walk(folder, onerror=unread.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in files if not name.startswith(".")):
            is_empty = False
            yield from _member_of_folder(Path(parent, name))
    for error in unread:
        yield RefusedSourceError(str(error.filename), f"cannot be read: {error.strerror}")
    if is_empty and not unread:
        yield RefusedSourceError(str(folder), "a folder without files")


def _member_of_folder(path: Path) -> Iterator[Opened]:
    """A file of a folder; a pipe in it is not waited for."""
    if path.is_file() or not path.exists():
        yield from _path(path)
    else:
        yield RefusedSourceError(str(path), "no regular file; name it by itself to read it")


def _file(path: Path) -> Iterator[Opened]:
    if is_zip(path):
        yield from _archive(str(path), path)
        return
    yield _refused_unless_data(
        Source(
            str(path),
            lambda: path.open("rb"),
            path=path,
            size_bytes=path.stat().st_size,
            read_sibling=lambda name: _small_file(path.with_name(name)),
        )
    )


def _stream(name: str, stream: BinaryIO) -> Iterator[Opened]:
    spool = Spool(stream)
    if is_zip(spool.path):
        yield from _archive(name, spool.path, spool)
        return
    size_bytes = spool.path.stat().st_size
    yield _refused_unless_data(Source(name, lambda: spool.path.open("rb"), size_bytes=size_bytes))


def _archive(name: str, location: Path, keep: object = None) -> Iterator[Opened]:
    try:
        for item in members(name, location, keep):
            yield _refused_unless_data(item) if isinstance(item, Source) else item
    except RefusedSourceError as error:
        yield error


def _refused_unless_data(source: Source) -> Opened:
    try:
        found = no_data(source.head)
    except RefusedSourceError as error:
        return error
    return source if found is None else source.refusal(found)


def _small_file(path: Path) -> bytes | None:
    """The bytes of `path` where it is a file of at most 1 MiB."""
    if not path.is_file() or path.stat().st_size > MAX_SIBLING_BYTES:
        return None
    return path.read_bytes()
