"""The file written anew, so that what was removed is in none of its bytes.

Owns the swap of the two files. A database keeps removed rows in its blocks until they are used
again; a copy of the tables has none of them. Refuses to lose what another writer adds meanwhile:
it is looked for under the database's own lock, and the copy is made again.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ingest.errors import LedgerError, LedgerLockedError
from ingest.ledger_file import copy_ledger, file_state
from ingest.turn import RETRY_S, WAIT_S, Patience, turn_at

SUFFIX = ".purging"
DUE_SUFFIX = ".purge-due"
"""The file that stands beside a ledger from a removal on until both files are written anew."""
MAX_COPIES = 5
"""Copies that are begun before another writer is said to leave no room."""


def due_mark(path: Path) -> Path:
    """The file whose presence says that removed rows may be in the bytes of the ledger `path`."""
    return path.with_name(path.name + DUE_SUFFIX)


def set_due(path: Path) -> None:
    """Have the disk know that the ledger at `path` is to be written anew."""
    due_mark(path).touch()
    _sync(path.parent)


def rewrite(path: Path, *, memory_limit: str | None = None) -> None:
    """Write the ledger at `path` anew, without any byte that was removed.

    The new file takes the place of the old in one step: a crash leaves one of them. Raises
    `LedgerLockedError` where another process holds the ledger, `LedgerError` where it keeps
    changing.
    """
    copy = path.with_name(path.name + SUFFIX)
    for _ in range(MAX_COPIES):
        copy.unlink(missing_ok=True)
        with turn_at(path, Patience(path)):
            copied = copy_ledger(path, copy, memory_limit=memory_limit)
            _sync(copy)
            with _held(path):
                if file_state(path) == copied:
                    copy.chmod(path.stat().st_mode)
                    copy.replace(path)
                    _sync(path.parent)
                    return
    copy.unlink(missing_ok=True)
    raise LedgerError(f"{path} was written to again and again; stop the receiver and purge again")


def rewrite_inbox(path: Path) -> None:
    """Leave in the inbox at `path` only the bytes of what still waits in it."""
    with closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as connection:
        connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)")


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock that the database takes, without the database."""
    deadline = time.monotonic() + WAIT_S
    with path.open("rb+") as stream:
        while True:
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise LedgerLockedError(
                        f"{path} is in use by another process; wait for it to finish or stop it, "
                        "and purge again: what was removed may still be in its bytes"
                    ) from error
                time.sleep(RETRY_S)
        yield


def _sync(path: Path) -> None:
    """Have the disk's word for what is in `path`, a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
