"""Whose turn it is to open a ledger, so that readers and writers all get their turn.

Owns the file `LEDGER.turn`, which is locked by whoever opens the ledger next: a writer that works
for long sees there that somebody waits, and gives the ledger up between two transactions. Refuses
to guard the data: that is the database's own lock, and a turn ends when that one is got.
"""

import fcntl
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ingest.errors import LedgerLockedError

RETRY_S = 0.05
WAIT_S = 20.0
"""Who finds the ledger taken tries for so long; who works on it gives it up every few seconds."""
SILENT_WAIT_S = 1.0
"""Seconds after which it is said that, and for whom, the ledger is waited for."""

_logger = logging.getLogger(__name__)
_mine = threading.local()


class Patience:
    """How long the ledger at `path` is waited for, and what is said meanwhile."""

    def __init__(self, path: Path | None, wait_s: float = WAIT_S) -> None:
        self._path = path
        self._wait_s = wait_s
        self._began_at = time.monotonic()
        self._is_said = False

    def wait(self, holder: str) -> None:
        """A moment passes; raises `LedgerLockedError` where it was waited long enough."""
        waited_s = time.monotonic() - self._began_at
        if waited_s >= self._wait_s:
            raise LedgerLockedError(
                f"{self._path} is in use by another process ({holder}); wait for it to finish, "
                "stop it, or work on a copy"
            )
        if waited_s >= SILENT_WAIT_S and not self._is_said:
            _logger.warning("waiting for %s, which %s uses", self._path, holder)
            self._is_said = True
        time.sleep(RETRY_S)


def turn_path(path: Path) -> Path:
    """The file whose lock says whose turn it is at the ledger at `path`."""
    return path.with_name(f"{path.name}.turn")


@contextmanager
def turn_at(path: Path | None, patience: Patience) -> Iterator[None]:
    """It is this thread's turn at the ledger at `path`; a turn within a turn is the same one.

    A ledger that is not there yet, or in a folder that cannot be written to, has no turns. Raises
    `LedgerLockedError` where another's turn does not end.
    """
    descriptor = None if path is None or _is_mine(path) else _opened(path)
    if path is None or descriptor is None:
        yield
        return
    try:
        while not _is_locked(descriptor):
            patience.wait(_holder(descriptor))
        _name_holder(descriptor)
        _paths_of_mine().add(path)
        yield
    finally:
        _paths_of_mine().discard(path)
        os.close(descriptor)


def is_wanted(path: Path) -> bool:
    """Whether somebody else waits for the ledger at `path`."""
    if _is_mine(path):
        return False
    try:
        descriptor = os.open(turn_path(path), os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _is_locked(descriptor)
    finally:
        os.close(descriptor)


def _paths_of_mine() -> set[Path]:
    """The ledgers at which it is this thread's turn."""
    if not hasattr(_mine, "paths"):
        _mine.paths = set()
    paths: set[Path] = _mine.paths
    return paths


def _is_mine(path: Path) -> bool:
    return path in _paths_of_mine()


def _opened(path: Path) -> int | None:
    if not path.exists():
        return None
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        with suppress(OSError):
            return os.open(turn_path(path), flags, 0o666)
    return None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _name_holder(descriptor: int) -> None:
    with suppress(OSError):  # a file that may only be read tells nobody
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _holder(descriptor: int) -> str:
    number = os.pread(descriptor, 20, 0).decode("ascii", "replace")
    return f"PID {number}" if number.isdigit() else "it holds the lock"
