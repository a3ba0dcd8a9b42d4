"""The only door to the database: opens a ledger, brings its schema forward, says who holds it.

Owns the DuckDB file, its settings and its transactions. Refuses a ledger of another version, a
second writer, and any path that is not a ledger. Everyone else is given the connection.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from ingest.errors import (
    LedgerError,
    LedgerLockedError,
    LedgerMissingError,
    LedgerVersionError,
)
from ingest.schema import current_version, migrations

Connection = duckdb.DuckDBPyConnection
"""What the rest of the product is given; nobody else imports the driver."""

FileState = tuple[int, int, int, int]
"""Number, time and size of a ledger's file, and the size of the log beside it."""

DatabaseError = duckdb.Error
"""What a statement raises: out of memory, a full disk, a value that does not fit."""

LOCK_RETRY_S = 0.05
LOCK_WAIT_S = 20.0
"""A receiver holds the ledger for about a second at a time; who finds it taken tries until then."""
SILENT_WAIT_S = 1.0
"""Seconds after which it is said that, and for whom, the ledger is waited for."""

_logger = logging.getLogger(__name__)

DUCKDB_MAGIC = b"DUCK"
DUCKDB_MAGIC_AT = 8


class Ledger:
    """An open ledger. `connection` runs SQL; time is UTC and no Python name is read as a table."""

    def __init__(self, connection: Connection, path: Path | None, *, is_writable: bool) -> None:
        self.connection = connection
        self.path = path
        self.is_writable = is_writable

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self.connection.close()

    def fact(self, name: str) -> str | None:
        """The ledger's value for `name` in `ledger_facts`, None where it has none."""
        rows = self.connection.execute(
            "select value from ledger_facts where name = $name", {"name": name}
        ).fetchall()  # an unread result would refuse the next statement
        return str(rows[0][0]) if rows else None

    def set_fact(self, name: str, value: str) -> None:
        """Keep `value` under `name`."""
        self.connection.execute(
            "insert or replace into ledger_facts values ($name, $value)",
            {"name": name, "value": value},
        )

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All or nothing: what runs inside is committed together, or not at all."""
        self.connection.execute("begin transaction")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")


def open_for_writing(
    path: Path | None, *, memory_limit: str | None = None, wait_s: float = LOCK_WAIT_S
) -> Ledger:
    """The ledger at `path`, created where absent and brought to the current schema.

    `path=None` is a ledger in memory. Raises `LedgerLockedError` where another process still
    holds the file after `wait_s` seconds, `LedgerVersionError` for a ledger from a newer version.
    """
    if path is not None and not path.parent.exists():
        raise LedgerMissingError(
            f"the folder {path.parent} does not exist; create it or choose another --ledger"
        )
    ledger = Ledger(
        _connect(path, is_writable=True, memory_limit=memory_limit, wait_s=wait_s),
        path,
        is_writable=True,
    )
    _migrate(ledger)
    return ledger


def open_scratch(beside: Path | None, *, memory_limit: str) -> Connection:
    """A database of its own for rows on their way; what exceeds the limit is on the disk.

    The room is next to the ledger at `beside`, where that is a file, and freed when the connection
    is closed; what a crash left there goes with the next one.
    """
    connection = _connect(None, is_writable=True, memory_limit=memory_limit, wait_s=0)
    if beside is not None:
        connection.execute("set temp_directory = $folder", {"folder": f"{beside}.tmp"})
    return connection


def open_for_reading(
    path: Path, *, memory_limit: str | None = None, wait_s: float = LOCK_WAIT_S
) -> Ledger:
    """The ledger at `path` for reading; several readers may hold it at once.

    Raises `LedgerMissingError` where there is none, `LedgerLockedError` while a writer holds it.
    """
    if not path.exists():
        raise LedgerMissingError(
            f"no ledger at {path}; make one with `gpuledger ingest PATH --ledger {path}`, "
            "or name another with --ledger"
        )
    connection = _connect(path, is_writable=False, memory_limit=memory_limit, wait_s=wait_s)
    ledger = Ledger(connection, path, is_writable=False)
    version = _version(ledger)
    if version != current_version():
        ledger.close()
        raise LedgerVersionError(
            f"{path} has schema version {version}, this gpuledger reads {current_version()}; "
            + (
                "run any `gpuledger ingest` on it to bring it forward"
                if version < current_version()
                else "use the newer gpuledger that wrote it"
            )
        )
    return ledger


def _connect(
    path: Path | None, *, is_writable: bool, memory_limit: str | None, wait_s: float
) -> Connection:
    if path is not None:
        _refuse_other_files(path)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
    }
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    connection = _once_free(
        path,
        lambda: duckdb.connect(
            ":memory:" if path is None else str(path),
            read_only=not is_writable,
            config=settings,
        ),
        wait_s,
    )
    connection.execute("set timezone = 'UTC'")
    connection.execute("set enable_progress_bar = false")
    return connection


def copy_ledger(path: Path, copy: Path, *, memory_limit: str | None = None) -> FileState:
    """Write what is in the ledger at `path`, and nothing that was, to the new file `copy`.

    Returns the state of the file that was copied. Raises what `open_for_writing` raises.
    """
    _refuse_other_files(path)
    connection = _connect(None, is_writable=True, memory_limit=memory_limit, wait_s=0)
    try:
        _once_free(
            path,
            lambda: connection.execute("attach $path as ledger", {"path": str(path)}),
            LOCK_WAIT_S,
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


def _once_free(path: Path | None, opened: Callable[[], Connection], wait_s: float) -> Connection:
    """What `opened` gives, tried again while another process holds the file."""
    begin = time.monotonic()
    is_said = False
    while True:
        try:
            return opened()
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise LedgerError(_not_a_ledger(path, error)) from error
            waited_s = time.monotonic() - begin
            if waited_s >= wait_s:
                raise LedgerLockedError(
                    f"{path} is in use by another process ({_holder(error)}); wait for it to "
                    "finish, stop it, or work on a copy"
                ) from error
            if waited_s >= SILENT_WAIT_S and not is_said:
                _logger.warning("waiting for %s, which %s uses", path, _holder(error))
                is_said = True
            time.sleep(LOCK_RETRY_S)
        except duckdb.Error as error:
            raise LedgerError(_not_a_ledger(path, error)) from error


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


def _version(ledger: Ledger) -> int:
    try:
        return int(ledger.fact("schema_version") or 0)
    except duckdb.CatalogException:
        return 0


def _migrate(ledger: Ledger) -> None:
    version = _version(ledger)
    if version > current_version():
        ledger.close()
        raise LedgerVersionError(
            f"{ledger.path} has schema version {version}, newer than {current_version()}; "
            "use the newer gpuledger that wrote it"
        )
    if version == 0 and _has_tables(ledger):
        ledger.close()
        raise LedgerError(
            f"{ledger.path} is a DuckDB file but no ledger; name another with --ledger"
        )
    for migration in migrations():
        if migration.version > version:
            with ledger.transaction() as connection:
                connection.execute(migration.sql)
                ledger.set_fact("schema_version", str(migration.version))


def _has_tables(ledger: Ledger) -> bool:
    row = ledger.connection.execute("select count(*) from duckdb_tables()").fetchone()
    return row is not None and int(row[0]) > 0
