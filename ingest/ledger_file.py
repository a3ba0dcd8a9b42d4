"""The file of a ledger: opened through the driver, told from other files, copied.

Owns the settings of a connection, and the wait for a file that another process holds. Refuses to
let the driver take a CSV, JSON or Parquet file for a database.
"""

import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb

from ingest.errors import LedgerError
from ingest.turn import WAIT_S, Patience, turn_at

Connection = duckdb.DuckDBPyConnection
_Opened = TypeVar("_Opened")

FileState = tuple[int, int, int, int]
"""Number, time and size of a ledger's file, and the size of the log beside it."""

WRITERS_TURN_S = 2.0
"""A writer waits for readers to finish for so long; then other readers pass before it goes on."""
PASSING_S = 0.2
DUCKDB_MAGIC = b"DUCK"
DUCKDB_MAGIC_AT = 8


def connect(
    path: Path | None, *, is_writable: bool, memory_limit: str | None, wait_s: float
) -> Connection:
    """A connection to the file at `path`, or to a database in memory; time is UTC.

    Raises `LedgerLockedError` where another process still holds the file after `wait_s` seconds.
    """
    if path is not None:
        _refuse_other_files(path)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
    }
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    connection = once_free(
        path,
        lambda: duckdb.connect(
            ":memory:" if path is None else str(path),
            read_only=not is_writable,
            config=settings,
        ),
        wait_s,
        WRITERS_TURN_S if is_writable else math.inf,
    )
    connection.execute("set timezone = 'UTC'")
    connection.execute("set enable_progress_bar = false")
    return connection


def copy_ledger(path: Path, copy: Path, *, memory_limit: str | None = None) -> FileState:
    """Write what is in the ledger at `path`, and nothing that was, to the new file `copy`.

    Returns the state of the file that was copied. Raises what `open_for_writing` raises.
    """
    _refuse_other_files(path)
    connection = connect(None, is_writable=True, memory_limit=memory_limit, wait_s=0)
    try:
        once_free(
            path,
            lambda: connection.execute("attach $path as ledger", {"path": str(path)}),
            WAIT_S,
        )
        connection.execute("checkpoint ledger")
        state = file_state(path)
        connection.execute("attach $path as copied", {"path": str(copy)})
        connection.execute("copy from database ledger to copied")
        connection.execute("checkpoint copied")
        connection.execute("detach copied")
    finally:
        connection.close()
    return state


def file_state(path: Path) -> FileState:
    """What changes whenever somebody writes to the ledger at `path`."""
    found, log = path.stat(), path.with_name(path.name + ".wal")
    return found.st_ino, found.st_mtime_ns, found.st_size, log.stat().st_size if log.exists() else 0


def once_free(
    path: Path | None, opened: Callable[[], _Opened], wait_s: float, turn_s: float = math.inf
) -> _Opened:
    """What `opened` gives, tried again while another process holds the file at `path`.

    Who tried for `turn_s` seconds lets others pass: they may be readers beside a reader. Raises
    `LedgerLockedError` after `wait_s` seconds.
    """
    patience = Patience(path, wait_s)
    while True:
        with turn_at(path, patience):
            until = time.monotonic() + turn_s
            while time.monotonic() < until:
                try:
                    return opened()
                except duckdb.IOException as error:
                    if "lock" not in str(error).lower():
                        raise LedgerError(_not_a_ledger(path, error)) from error
                    patience.wait(_holder(error))
                except duckdb.Error as error:
                    raise LedgerError(_not_a_ledger(path, error)) from error
        time.sleep(PASSING_S)


def _refuse_other_files(path: Path) -> None:
    """Stop before the driver takes a CSV, JSON or Parquet file for a database of one view."""
    try:
        with path.open("rb") as stream:
            head = stream.read(DUCKDB_MAGIC_AT + len(DUCKDB_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be opened as a ledger: {error.strerror or error}; "
            "name another with --ledger"
        ) from error
    if head and not head.endswith(DUCKDB_MAGIC):
        raise LedgerError(
            f"{path} cannot be opened as a ledger: it is no DuckDB file; name another with --ledger"
        )


def _not_a_ledger(path: Path | None, error: Exception) -> str:
    first_line = str(error).splitlines()[0]
    return f"{path} cannot be opened as a ledger: {first_line}; name another with --ledger"


def _holder(error: Exception) -> str:
    found = re.search(r"PID \d+", str(error))
    return found.group() if found else "it holds the lock"
