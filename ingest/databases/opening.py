"""A connection to an operator's database that can only read, and one moment of it.

Owns the choice of the driver, the snapshot and the server-side cursor. Refuses to write, to create
a file, and to hold the rows of a table in memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import Select

from ingest.databases.address import INSTALL, Address
from ingest.databases.errors import DatabaseSourceError, told

FETCHED_ROWS = 100
"""Rows that a cursor brings at a time: a row may carry a prompt of megabytes."""
CONNECT_TIMEOUT_S = 10
_TIMED = ("postgresql", "mysql", "mariadb")
_DRIVERS = {
    "psycopg": INSTALL,
    "psycopg2": "pip install psycopg2",
    "MySQLdb": "pip install mysqlclient",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a database, read in as many statements as are needed."""

    address: Address
    connection: Connection

    @property
    def backend(self) -> str:
        """The kind of database: postgresql, sqlite, ..."""
        return self.connection.dialect.name

    def rows(self, statement: Select[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows of `statement` in their order, brought a hundred at a time."""
        options = {"stream_results": True, "yield_per": FETCHED_ROWS}
        with self._telling():
            found = self.connection.execute(statement, execution_options=options)
            try:
                for rows in found.partitions():
                    yield from (tuple(row) for row in rows)
            finally:
                found.close()

    def all(self, statement: Select[Any]) -> list[tuple[Any, ...]]:
        """The rows of a statement that has few."""
        with self._telling():
            return [tuple(row) for row in self.connection.execute(statement)]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise told(self.address, error) from None
        except UnicodeDecodeError as error:
            raise DatabaseSourceError(
                self.address,
                f"a text is not in the encoding that the database names ({error.reason}); "
                "leave its column out of the mapping, or read from a view without it",
            ) from None


@contextmanager
def snapshot(address: Address) -> Iterator[Snapshot]:
    """The database at `address` as it is now, whatever is written meanwhile.

    Raises `DatabaseSourceError` where it cannot be reached.
    """
    engine = _engine(address)
    try:
        with _connected(engine, address) as connection:
            yield Snapshot(address, connection)
    finally:
        engine.dispose()


@contextmanager
def _connected(engine: Engine, address: Address) -> Iterator[Connection]:
    try:
        connection = engine.connect()
    except SQLAlchemyError as error:
        raise told(address, error) from None
    with connection:
        try:
            _begin(connection)
        except SQLAlchemyError as error:
            raise told(address, error) from None
        yield connection
        connection.rollback()


def _begin(connection: Connection) -> None:
    """Begin a transaction that reads one moment, read-only where the database has that."""
    name = connection.dialect.name
    if connection.dialect.driver == "psycopg":
        from ingest.databases.odd_times import (  # noqa: PLC0415 - needs this driver
            read_odd_times_as_text,
        )

        read_odd_times_as_text(_driven(connection))
    if name == "postgresql":
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    elif name in {"mysql", "mariadb"}:
        connection.execution_options(isolation_level="REPEATABLE READ")
    elif name == "sqlite":
        _driven(connection).text_factory = _text
        connection.exec_driver_sql("pragma query_only = on")
        connection.exec_driver_sql("begin")


def _text(raw: bytes) -> str:
    """A text of SQLite, which stores whatever it is given."""
    return raw.decode("utf-8", "replace")


def _driven(connection: Connection) -> Any:
    """The driver's own connection."""
    return connection.connection.driver_connection


def _engine(address: Address) -> Engine:
    url = _url(address)
    options: dict[str, Any] = {"poolclass": NullPool}
    backend = url.get_backend_name()
    if backend in _TIMED and "connect_timeout" not in url.query:
        options["connect_args"] = {"connect_timeout": CONNECT_TIMEOUT_S}
    if backend == "postgresql":
        options["json_deserializer"] = orjson.loads
    if backend == "sqlite":
        _refuse_missing_file(url, address)
    try:
        return create_engine(url, **options)
    except NoSuchModuleError:
        raise DatabaseSourceError(
            address,
            f"no database is called {url.drivername!r}; "
            "an address is such as postgresql+psycopg://user@host/database",
        ) from None
    except ModuleNotFoundError as error:
        module = error.name or str(error)
        install = _DRIVERS.get(module, f"pip install {module}")
        raise DatabaseSourceError(
            address, f"the driver {module} is not installed; {install}"
        ) from None


def _url(address: Address) -> URL:
    try:
        return make_url(address.given)
    except (ArgumentError, ValueError):
        raise DatabaseSourceError(
            address,
            "cannot be read as an address; it is such as "
            "postgresql+psycopg://user@host:5432/database, and signs such as @ : / in a password "
            "are written as %40 %3A %2F",
        ) from None


def _refuse_missing_file(url: URL, address: Address) -> None:
    """Stop before the driver creates an empty file."""
    path = url.database
    if path is None or path == ":memory:":
        raise DatabaseSourceError(address, "names no file; write sqlite:///PATH")
    if not path.startswith("file:") and not Path(path).is_file():
        raise DatabaseSourceError(address, f"there is no file {path}; check the path")
