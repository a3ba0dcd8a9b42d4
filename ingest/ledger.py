"""The only door to the database: opens a ledger, brings its schema forward, gives it up in between.

Owns the connection and its transactions. Refuses a ledger of another version, a
second writer, and any path that is not a ledger. Everyone else is given the connection.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from ingest.errors import LedgerError, LedgerMissingError, LedgerVersionError
from ingest.ledger_file import connect
from ingest.schema import current_version, migrations, views
from ingest.turn import WAIT_S, is_wanted

Connection = duckdb.DuckDBPyConnection
"""What the rest of the product is given; nobody else imports the driver."""

DatabaseError = duckdb.Error
"""What a statement raises: out of memory, a full disk, a value that does not fit."""

REST_S = 1.0
"""Who gave way rests as long as it worked, but no longer: a page asks more than one question."""


class Ledger:
    """An open ledger. `connection` runs SQL; time is UTC and no Python name is read as a table.

    `reopen` opens the file of a writer again after it was released.
    """

    def __init__(
        self,
        connection: Connection,
        path: Path | None,
        *,
        reopen: Callable[[], Connection] | None = None,
    ) -> None:
        self._connection: Connection | None = connection
        self._opened_at = time.monotonic()
        self._reopen = reopen
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def connection(self) -> Connection:
        """The connection as it is now: another one after the file was released."""
        if self._connection is None:
            if self._reopen is None:
                raise LedgerError(f"{self.path} is closed")
            self._connection = self._reopen()
            self._opened_at = time.monotonic()
            _migrate(self)
        return self._connection

    def close(self) -> None:
        """Release the file for good."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._reopen = None

    def release(self) -> None:
        """Leave a writer's file to others until `connection` is asked for.

        Not within a transaction. Others may change everything meanwhile.
        """
        if self._connection is not None and self._reopen is not None and self.path is not None:
            self._connection.close()
            self._connection = None

    def give_way(self) -> bool:
        """Whether somebody waited for a writer's file, and it was released to them."""
        if self._connection is None or self._reopen is None or self.path is None:
            return False
        if not is_wanted(self.path):
            return False
        worked_s = time.monotonic() - self._opened_at
        self.release()
        time.sleep(min(worked_s, REST_S))
        return True

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
    path: Path | None, *, memory_limit: str | None = None, wait_s: float = WAIT_S
) -> Ledger:
    """The ledger at `path`, created where absent and brought to the current schema.

    `path=None` is a ledger in memory. Raises `LedgerLockedError` where another process still
    holds the file after `wait_s` seconds, `LedgerVersionError` for a ledger from a newer version.
    """
    if path is not None and not path.parent.exists():
        raise LedgerMissingError(
            f"the folder {path.parent} does not exist; create it or choose another --ledger"
        )
    opened = partial(connect, path, is_writable=True, memory_limit=memory_limit)
    ledger = Ledger(opened(wait_s=wait_s), path, reopen=partial(opened, wait_s=math.inf))
    _migrate(ledger)
    return ledger


def open_scratch(beside: Path | None, *, memory_limit: str) -> Connection:
    """A database of its own for rows on their way; what exceeds the limit is on the disk.

    The room is next to the ledger at `beside`, where that is a file, and freed when the connection
    is closed; what a crash left there goes with the next one.
    """
    connection = connect(None, is_writable=True, memory_limit=memory_limit, wait_s=0)
    if beside is not None:
        connection.execute("set temp_directory = $folder", {"folder": f"{beside}.tmp"})
    return connection


def open_for_reading(
    path: Path, *, memory_limit: str | None = None, wait_s: float = WAIT_S
) -> Ledger:
    """The ledger at `path` for reading; several readers may hold it at once.

    Raises `LedgerMissingError` where there is none, `LedgerLockedError` while a writer holds it.
    """
    if not path.exists():
        raise LedgerMissingError(
            f"no ledger at {path}; make one with `gpuledger ingest PATH --ledger {path}`, "
            "or name another with --ledger"
        )
    connection = connect(path, is_writable=False, memory_limit=memory_limit, wait_s=wait_s)
    ledger = Ledger(connection, path)
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
                for view in views() if migration.version == current_version() else ():
                    connection.execute(view)
                ledger.set_fact("schema_version", str(migration.version))


def _has_tables(ledger: Ledger) -> bool:
    row = ledger.connection.execute("select count(*) from duckdb_tables()").fetchone()
    return row is not None and int(row[0]) > 0
