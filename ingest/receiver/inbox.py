"""The inbox: what was acknowledged and is not in the ledger yet, durable on its own.

Owns one SQLite file beside the ledger, so that neither a question nor an import that holds the
ledger can delay an acknowledgement. Everything that waits is committed together, once, with the
disk's word for it. Refuses more than a given number of bytes: the sender is to come back later.
"""

import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

from ingest.errors import LedgerError

Item = TypeVar("Item")

BUSY_TIMEOUT_S = 10.0
MAX_GROUP = 512
"""Arrivals that are committed together at most."""

CREATE = """
create table if not exists arrivals (
    arrival_id integer primary key autoincrement,
    received_at integer not null,
    door text not null,
    format text not null,
    checksum text not null,
    record_count integer not null,
    content blob not null,
    failures integer not null default 0
);
create table if not exists facts (name text primary key, value text not null);
"""


class InboxFullError(Exception):
    """More waits to be taken into the ledger than the inbox may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What one request brought: `content` is an Arrow stream, redacted; `received_at` is ns."""

    received_at: int
    door: str
    format_name: str
    checksum: str
    record_count: int
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An arrival in the inbox, under its number."""

    arrival_id: int
    arrival: Arrival


class Inbox:
    """Arrivals on their way into the ledger. Any thread may use it.

    `trouble` says what kept the last one from getting onto the disk; None where nothing did.
    Raises `LedgerError` where the file cannot be opened or is no inbox.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.trouble: str | None = None
        self._lock = threading.Lock()
        try:
            with closing(self._connect()) as connection:
                connection.executescript(CREATE)
                path.chmod(0o600)
                self.name = _name(connection)
                connection.execute("update arrivals set failures = 0 where failures > 0")
                self._waiting_bytes, self._waiting_count = _waiting_in(connection)
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"{path} cannot be used as the receiver's inbox: {error}; it stands beside the "
                "ledger and holds what is not in it yet, so move it aside rather than remove it"
            ) from error
        self._in_flight = 0
        self._queue: queue.SimpleQueue[tuple[Arrival, Future[None]] | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="inbox", daemon=True)
        self._writer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait or are on their way into the inbox."""
        return self._waiting_bytes

    @property
    def waiting_count(self) -> int:
        """Arrivals that wait or are on their way into the inbox."""
        return self._waiting_count

    def put(self, arrival: Arrival) -> "Future[None]":
        """Done once `arrival` is on the disk; it fails with what kept it from getting there.

        Raises `InboxFullError` where it has no room.
        """
        with self._lock:
            if self._waiting_count and self._waiting_bytes + len(arrival.content) > self.max_bytes:
                raise InboxFullError(
                    f"{self._waiting_bytes:,} bytes wait to be taken into the ledger, which is "
                    f"the most that may ({self.max_bytes:,})"
                )
            self._count(1, len(arrival.content))
            self._in_flight += 1
        stored: Future[None] = Future()
        stored.set_running_or_notify_cancel()  # who no longer waits takes nothing back
        self._queue.put((arrival, stored))
        return stored

    def waiting(self, *, max_bytes: int, max_records: int, max_failures: int) -> list[Waiting]:
        """The oldest arrivals up to `max_bytes` and `max_records`, but one at least.

        What failed `max_failures` times is left where it is.
        """
        found: list[Waiting] = []
        size = records = 0
        with closing(self._connect()) as connection:
            rows = connection.execute(
                "select arrival_id, received_at, door, format, checksum, record_count, content "
                "from arrivals where failures < ? order by arrival_id",
                (max_failures,),
            )
            for number, *columns in rows:
                arrival = _arrival(columns)
                size, records = size + len(arrival.content), records + arrival.record_count
                if found and (size > max_bytes or records > max_records):
                    break
                found.append(Waiting(arrival_id=number, arrival=arrival))
            if not found:
                self._count_anew(connection)
        return found

    def _count_anew(self, connection: sqlite3.Connection) -> None:
        """Another process, a purge, may have taken arrivals: count what is there."""
        with self._lock:
            if self._in_flight == 0:
                self._waiting_bytes, self._waiting_count = _waiting_in(connection)

    def try_again(self) -> None:
        """Find out by a write whether arrivals can be stored; raises `sqlite3.Error` if not."""
        with closing(self._connect()) as connection:
            connection.execute("insert or replace into facts values ('room', zeroblob(65536))")
            connection.execute("delete from facts where name = 'room'")
        self.trouble = None

    def last_arrival_id(self) -> int:
        """The number of the newest arrival that was stored; 0 where none ever was."""
        with closing(self._connect()) as connection:
            [(last,)] = connection.execute(
                "select coalesce(max(arrival_id), 0) from arrivals"
            ).fetchall()
        return int(last)

    def forget(self, arrival_ids: Sequence[int]) -> None:
        """Remove the arrivals that the ledger has; a number that is not there is no error."""
        with closing(self._connect()) as connection:
            removed = connection.execute(
                "delete from arrivals where arrival_id in (select value from json_each(?)) "
                "returning length(content)",
                (json.dumps(list(arrival_ids)),),
            ).fetchall()
        with self._lock:
            self._count(-len(removed), -sum(size for (size,) in removed))

    def mark_failed(self, arrival_id: int) -> None:
        """One more attempt to take this arrival into the ledger has failed."""
        with closing(self._connect()) as connection:
            connection.execute(
                "update arrivals set failures = failures + 1 where arrival_id = ?", (arrival_id,)
            )

    def failed_count(self, max_failures: int) -> int:
        """Arrivals that the ledger could not take and that are not tried again."""
        with closing(self._connect()) as connection:
            [(count,)] = connection.execute(
                "select count(*) from arrivals where failures >= ?", (max_failures,)
            ).fetchall()
        return int(count)

    def close(self) -> None:
        """Return once everything that was put is on the disk or has failed."""
        self._queue.put(None)
        self._writer.join()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        return connection

    def _count(self, arrivals: int, size: int) -> None:
        self._waiting_count += arrivals
        self._waiting_bytes += size

    def _write(self) -> None:
        with closing(self._connect()) as connection:
            for group in _groups(self._queue.get, self._queue.get_nowait):
                error = _store(connection, [arrival for arrival, _ in group])
                self.trouble = None if error is None else f"not stored: {error}"
                with self._lock:
                    self._in_flight -= len(group)
                for arrival, stored in group:
                    if error is None:
                        stored.set_result(None)
                        continue
                    with self._lock:
                        self._count(-1, -len(arrival.content))
                    stored.set_exception(error)


def _groups(
    wait: Callable[[], Item | None], take: Callable[[], Item | None]
) -> Iterator[list[Item]]:
    """What is there, as often as something is there; ends with the first None."""
    while (item := wait()) is not None:
        group = [item]
        is_last = False
        while len(group) < MAX_GROUP:
            try:
                further = take()
            except queue.Empty:
                break
            if further is None:
                is_last = True
                break
            group.append(further)
        yield group
        if is_last:
            return


def _store(connection: sqlite3.Connection, arrivals: Sequence[Arrival]) -> sqlite3.Error | None:
    """Commit `arrivals` together; the error that kept them out, if any did."""
    try:
        connection.execute("begin immediate")
        connection.executemany(
            "insert into arrivals (received_at, door, format, checksum, record_count, content) "
            "values (?, ?, ?, ?, ?, ?)",
            [
                (a.received_at, a.door, a.format_name, a.checksum, a.record_count, a.content)
                for a in arrivals
            ],
        )
        connection.execute("commit")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("rollback")
        return error
    return None


def _waiting_in(connection: sqlite3.Connection) -> tuple[int, int]:
    """Bytes and number of the arrivals that are stored."""
    [(size, count)] = connection.execute(
        "select coalesce(sum(length(content)), 0), count(*) from arrivals"
    ).fetchall()
    return int(size), int(count)


def _name(connection: sqlite3.Connection) -> str:
    """The name of this inbox, which no other one has."""
    connection.execute("insert or ignore into facts values ('name', ?)", (uuid4().hex,))
    [(name,)] = connection.execute("select value from facts where name = 'name'").fetchall()
    return str(name)


def _arrival(columns: Sequence[Any]) -> Arrival:
    received_at, door, format_name, checksum, record_count, content = columns
    return Arrival(
        received_at=received_at,
        door=door,
        format_name=format_name,
        checksum=checksum,
        record_count=record_count,
        content=content,
    )
