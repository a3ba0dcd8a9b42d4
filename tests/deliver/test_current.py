"""A ledger is brought up to the configuration at hand before it is read, and only then."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest import current
from ingest.config import Configuration, Pool
from ingest.current import open_current
from ingest.deliver import deliver, deliver_paths
from ingest.errors import LedgerMissingError
from ingest.files import Source
from ingest.ledger import DatabaseError, Ledger, open_for_writing
from ingest.records import Call, Span

MakeReader = Callable[..., Any]
AT = 1_800_000_000_000_000_000
SPAN = Span(
    trace_id="a" * 32,
    span_id="1" * 16,
    name="chat m",
    kind="client",
    started_at=AT,
    ended_at=AT + 2_000_000_000,
    attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "squad": "search"},
)
CALL = Call(
    identity="1",
    timing_source="engine",
    model="served",
    replica="r",
    started_at=AT,
    first_token_at=AT + 1_000_000_000,
    ended_at=AT + 4_000_000_000,
)


@pytest.fixture
def path(tmp_path: Path, source: Source, reader_of: MakeReader) -> Path:
    path = tmp_path / "l.duckdb"
    with open_for_writing(path) as ledger:
        deliver_paths(ledger, [], Configuration())
        deliver(ledger, source, reader_of([SPAN], [CALL]), Configuration())
    return path


def busy(ledger: Ledger) -> Any:
    text = "select sum(prefill_gpu_seconds + decode_gpu_seconds) from charges"
    return ledger.connection.execute(text).fetchall()[0][0]


def test_a_delivery_that_was_not_charged_is_charged_before_it_is_read(path: Path) -> None:
    with open_current(path, Configuration()) as ledger:
        with pytest.raises(DatabaseError, match="read-only"):
            ledger.set_fact("a", "b")
        assert busy(ledger) == pytest.approx(4.0)


def test_a_current_ledger_is_never_opened_for_writing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_current(path, Configuration()).close()

    def refused(*_: Any, **__: Any) -> Ledger:
        raise AssertionError("opened for writing")

    monkeypatch.setattr(current, "open_for_writing", refused)
    with open_current(path, Configuration()) as ledger, open_current(path, Configuration()):
        assert busy(ledger) == pytest.approx(4.0)


def test_another_size_of_a_pool_is_charged_again(path: Path) -> None:
    pools = (Pool(name="p", models=("served",), gpus_per_replica=2),)
    with open_current(path, Configuration(pools=pools)) as ledger:
        assert busy(ledger) == pytest.approx(8.0)
    with open_current(path, Configuration()) as ledger:
        assert busy(ledger) == pytest.approx(4.0)


def test_another_map_is_applied_to_calls_that_are_there(path: Path) -> None:
    text = "select team from calls where span_id is not null"
    mapped = Configuration(map={"team": ("attribute.squad",)})
    for configuration, team in ((mapped, "search"), (Configuration(), None)):
        with open_current(path, configuration) as ledger:
            assert ledger.connection.execute(text).fetchall() == [(team,)]


def test_a_map_given_for_one_delivery_outlives_the_next_question(
    path: Path, source: Source, reader_of: MakeReader
) -> None:
    override = Configuration(map={"team": ("attribute.squad",)})
    with open_for_writing(path) as ledger:
        deliver(ledger, source, reader_of([replace(SPAN, trace_id="b" * 32)]), override)
    with open_current(path, Configuration()) as ledger:
        text = "select team from calls where span_id is not null order by trace_id"
        assert ledger.connection.execute(text).fetchall() == [(None,), ("search",)]


def test_a_missing_ledger_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(LedgerMissingError):
        open_current(tmp_path / "l.duckdb", Configuration())
    assert list(tmp_path.iterdir()) == []


def test_other_rules_derive_the_calls_of_every_trace_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_for_writing(path) as ledger:
        ledger.connection.execute("delete from call_rows where trace_id is not null")
    counted = "select count(*) from calls"
    with open_current(path, Configuration()) as ledger:
        assert ledger.connection.execute(counted).fetchall() == [(1,)]
    monkeypatch.setattr("ingest.deliver.DERIVATION_VERSION", 99)
    with open_current(path, Configuration()) as ledger:
        assert ledger.connection.execute(counted).fetchall() == [(2,)]
