"""The inbox keeps what it acknowledges, in order, within its bound."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ingest.errors import LedgerError
from ingest.receiver.inbox import Arrival, Inbox, InboxFullError, Waiting

WAIT_S = 30.0


def arrival(content: bytes) -> Arrival:
    return Arrival(
        received_at=1,
        door="otlp/http",
        format_name="otlp-json",
        checksum="c",
        record_count=1,
        content=content,
    )


def contents(found: list[Waiting]) -> list[bytes]:
    return [waiting.arrival.content for waiting in found]


def test_what_is_put_is_there_after_another_start(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    with Inbox(path, max_bytes=1_000) as inbox:
        stored = [inbox.put(arrival(f"{number}".encode())) for number in range(5)]
        assert [future.result(WAIT_S) for future in stored] == [None] * 5
        name = inbox.name
    with Inbox(path, max_bytes=1_000) as again:
        assert contents(again.waiting(max_bytes=99, max_records=99, max_failures=3)) == [
            b"0",
            b"1",
            b"2",
            b"3",
            b"4",
        ]
        assert (again.waiting_count, again.waiting_bytes, again.name) == (5, 5, name)


def test_a_group_has_about_the_bytes_that_are_asked_for_and_one_arrival_at_least(
    tmp_path: Path,
) -> None:
    with Inbox(tmp_path / "inbox", max_bytes=1_000) as inbox:
        for content in (b"a" * 50, b"b" * 30, b"c" * 30):
            inbox.put(arrival(content)).result(WAIT_S)
        sizes = [
            [
                len(c)
                for c in contents(inbox.waiting(max_bytes=size, max_records=99, max_failures=3))
            ]
            for size in (10, 60, 80, 1_000)
        ]
    assert sizes == [[50], [50], [50, 30], [50, 30, 30]]


def test_a_full_inbox_refuses_until_something_is_forgotten(tmp_path: Path) -> None:
    with Inbox(tmp_path / "inbox", max_bytes=100) as inbox:
        inbox.put(arrival(b"x" * 90)).result(WAIT_S)
        with pytest.raises(InboxFullError, match="90 bytes wait"):
            inbox.put(arrival(b"y" * 20))
        inbox.forget(
            [w.arrival_id for w in inbox.waiting(max_bytes=1, max_records=99, max_failures=3)]
        )
        inbox.put(arrival(b"y" * 20)).result(WAIT_S)
        assert inbox.waiting_bytes == 20


def test_what_nobody_waits_for_any_more_is_stored_and_so_is_what_comes_after(
    tmp_path: Path,
) -> None:
    path = tmp_path / "inbox"
    with (
        Inbox(path, max_bytes=100) as inbox,
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
    ):
        holder.execute("begin immediate")
        stored = inbox.put(arrival(b"x"))
        is_taken_back = stored.cancel()
        holder.execute("rollback")
        inbox.put(arrival(b"y")).result(WAIT_S)
        found = contents(inbox.waiting(max_bytes=99, max_records=99, max_failures=3))
    assert (is_taken_back, found) == (False, [b"x", b"y"])


def test_one_request_larger_than_the_bound_is_taken_where_nothing_waits(tmp_path: Path) -> None:
    with Inbox(tmp_path / "inbox", max_bytes=10) as inbox:
        inbox.put(arrival(b"x" * 50)).result(WAIT_S)
        assert inbox.waiting_count == 1


def test_numbers_are_never_used_again(tmp_path: Path) -> None:
    with Inbox(tmp_path / "inbox", max_bytes=100) as inbox:
        inbox.put(arrival(b"x")).result(WAIT_S)
        [first] = inbox.waiting(max_bytes=1, max_records=99, max_failures=3)
        inbox.forget([first.arrival_id])
        inbox.put(arrival(b"y")).result(WAIT_S)
        [second] = inbox.waiting(max_bytes=1, max_records=99, max_failures=3)
    assert second.arrival_id > first.arrival_id


def test_what_failed_often_enough_waits_until_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    with Inbox(path, max_bytes=100) as inbox:
        inbox.put(arrival(b"x")).result(WAIT_S)
        [waiting] = inbox.waiting(max_bytes=1, max_records=99, max_failures=1)
        inbox.mark_failed(waiting.arrival_id)
        assert inbox.waiting(max_bytes=1, max_records=99, max_failures=1) == []
        assert inbox.failed_count(1) == 1
    with Inbox(path, max_bytes=100) as again:
        assert len(again.waiting(max_bytes=1, max_records=99, max_failures=1)) == 1


def test_a_file_that_is_no_inbox_is_left_alone_and_named(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    path.write_text("something else that is long enough to be looked at " * 20)
    with pytest.raises(LedgerError, match="cannot be used as the receiver's inbox"):
        Inbox(path, max_bytes=100)
    assert path.read_text().startswith("something else")
