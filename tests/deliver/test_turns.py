"""Who opens a ledger next: a writer gives way to whoever waits, and to nobody else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from ingest import current
from ingest.config import Configuration
from ingest.current import open_current
from ingest.errors import LedgerLockedError
from ingest.ledger import Ledger, open_for_reading, open_for_writing
from ingest.ledger_file import once_free
from ingest.turn import Patience, is_wanted, turn_at, turn_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with open_for_writing(tmp_path / "l.duckdb"):
        return tmp_path / "l.duckdb"


@contextmanager
def somebody_at(path: Path) -> Iterator[None]:
    """It is another thread's turn."""
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with turn_at(path, Patience(path)):
            is_held.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def elsewhere(action: Callable[[], object]) -> BaseException | None:
    """What `action` raises in another thread."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except LedgerLockedError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_a_writer_gives_way_to_somebody_who_waits_and_goes_on_afterwards(path: Path) -> None:
    with open_for_writing(path) as writer:
        writer.set_fact("before", "1")
        assert not writer.give_way()
        with somebody_at(path):
            assert is_wanted(path)
            assert writer.give_way()
            with duckdb.connect(str(path), read_only=True) as free:
                facts = "select value from ledger_facts where name = 'before'"
                assert free.execute(facts).fetchall() == [("1",)]
        assert not is_wanted(path)
        assert writer.fact("before") == "1"
        writer.set_fact("after", "2")
    with open_for_reading(path) as reader:
        assert reader.fact("after") == "2"


def test_a_ledger_in_memory_and_a_reader_give_way_to_nobody(path: Path) -> None:
    with open_for_writing(None) as ledger:
        ledger.release()
        assert not ledger.give_way()
        assert ledger.fact("schema_version") is not None
    with open_for_reading(path) as reader, somebody_at(path):
        assert not reader.give_way()
        assert reader.fact("schema_version") is not None


def test_a_turn_within_a_turn_is_the_same(path: Path) -> None:
    with turn_at(path, Patience(path, 0)):
        with turn_at(path, Patience(path, 0)):
            assert not is_wanted(path)
        assert isinstance(elsewhere(lambda: enter(path)), LedgerLockedError)
    assert elsewhere(lambda: enter(path)) is None


def enter(path: Path) -> None:
    with turn_at(path, Patience(path, 0)):
        pass


def test_nobody_gets_in_between_charging_and_reading(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[BaseException | None] = []
    make = current.make_current

    def made(ledger: Ledger, configuration: Configuration) -> None:
        make(ledger, configuration)
        refused.append(elsewhere(lambda: enter(path)))

    monkeypatch.setattr(current, "make_current", made)
    with open_current(path, Configuration()):
        assert [type(error) for error in refused] == [LedgerLockedError]
        assert elsewhere(lambda: enter(path)) is None


def test_others_pass_while_a_writer_waits_for_a_reader(path: Path) -> None:
    ends = threading.Event()

    def opened() -> None:
        if not ends.is_set():
            raise duckdb.IOException("Conflicting lock is held")

    writer = threading.Thread(target=lambda: once_free(path, opened, 60.0, turn_s=0.1))
    writer.start()
    while not is_wanted(path):
        pass
    with turn_at(path, Patience(path, 30.0)):
        pass
    ends.set()
    writer.join()
    assert not is_wanted(path)


def test_a_folder_without_a_ledger_has_no_turns(tmp_path: Path) -> None:
    with turn_at(tmp_path / "none.duckdb", Patience(None)):
        assert not is_wanted(tmp_path / "none.duckdb")
    assert not turn_path(tmp_path / "none.duckdb").exists()
