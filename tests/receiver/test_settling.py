"""What waits is taken into the ledger though one arrival among it cannot be."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.config import Configuration
from ingest.current import is_current
from ingest.ledger import open_for_reading
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import PROTOBUF, Intake
from ingest.receiver.settle import MAX_FAILURES, WRITE_ERRORS, Settler
from ingest.receiver.signals import TRACES

WAIT_S = 60.0


@pytest.mark.parametrize("damaged", [0, 1, 2], ids=["first", "second", "last"])
def test_the_neighbours_of_an_arrival_that_cannot_be_taken_are_taken_and_charged(
    tmp_path: Path,
    request_of: Callable[..., Any],
    calls_in: Callable[[Path], list[tuple[int, int]]],
    damaged: int,
) -> None:
    path = tmp_path / "l.duckdb"
    intake = Intake(Configuration(), lambda: 1)
    with Inbox(tmp_path / "inbox", max_bytes=2**20) as inbox:
        for number in range(3):
            body = request_of(range(number + 1, number + 2)).SerializeToString()
            arrival = intake.take(TRACES, body, PROTOBUF, "a door").arrival
            if number == damaged:
                arrival = replace(arrival, content=b"no Arrow stream")
            inbox.put(arrival).result(WAIT_S)
        settler = Settler(path, inbox, Configuration())
        runs = 0
        while inbox.waiting_count > inbox.failed_count(MAX_FAILURES):
            settler.settle()
            runs += 1
            assert runs <= 2 + MAX_FAILURES
        left = (inbox.waiting_count, inbox.failed_count(MAX_FAILURES))
    assert left == (1, 1)
    assert calls_in(path) == [(number + 1, 7) for number in range(3) if number != damaged]
    with open_for_reading(path) as ledger:
        assert is_current(ledger, Configuration())


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """Every write beyond `size` bytes fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_no_failure_of_what_waits(
    tmp_path: Path,
    request_of: Callable[..., Any],
    calls_in: Callable[[Path], list[tuple[int, int]]],
) -> None:
    path = tmp_path / "l.duckdb"
    intake = Intake(Configuration(), lambda: 1)
    with Inbox(tmp_path / "inbox", max_bytes=2**20) as inbox:
        settler = Settler(path, inbox, Configuration())
        settler.settle()
        body = request_of(range(1, 4)).SerializeToString()
        inbox.put(intake.take(TRACES, body, PROTOBUF, "a door").arrival).result(WAIT_S)
        for _ in range(MAX_FAILURES + 1):
            with no_file_grows_beyond(4096), pytest.raises(WRITE_ERRORS):
                settler.settle()
        assert inbox.failed_count(1) == 0
        assert settler.settle().new == 3
    assert calls_in(path) == [(number, 7) for number in range(1, 4)]
