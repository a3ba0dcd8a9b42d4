"""Nothing is lost and nothing doubled, however late rows come and however a run ends."""

from itertools import count
from typing import Any

import pytest

from ingest.config import Configuration
from ingest.databases import deliver_table
from ingest.databases.address import Address
from ingest.databases.deliver import deliver_databases
from ingest.ledger import open_for_writing
from ingest.readers.mapping_file import RowMapping, TableTerms

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

IDS = "call_id"


def logs_with(**terms: Any) -> RowMapping:
    """What a mapping file may say of the spend logs as a whole."""
    return RowMapping(table=TableTerms(**terms), columns={})


def in_the_ledger(door: Any) -> int:
    return len(door.calls(IDS))


def test_a_second_run_reads_the_lag_again_and_adds_nothing(logs: Any, door: Any) -> None:
    for number, start in enumerate(("01:00:00", "02:00:00", "02:30:00", "03:00:00")):
        logs.insert(f"r{number}", start)
    assert door.deliver(logs.url) == (4, 4, 0, 0)
    assert door.deliver(logs.url) == (3, 0, 0, 0)
    assert door.deliver(logs.url, mapping=logs_with(lag="1 min")) == (3, 0, 0, 0)
    assert door.deliver(logs.url, mapping=logs_with(lag="1 min")) == (1, 0, 0, 0)
    assert in_the_ledger(door) == 4


def test_a_row_that_comes_late_inside_of_the_lag_is_taken(logs: Any, door: Any) -> None:
    logs.insert("early", "01:00:00")
    logs.insert("last", "03:00:00")
    door.deliver(logs.url)
    logs.insert("late", "02:15:00")
    assert door.deliver(logs.url) == (2, 1, 0, 0)


def test_a_row_that_comes_later_than_the_lag_is_found_by_counting(logs: Any, door: Any) -> None:
    logs.insert("early", "01:00:00")
    logs.insert("last", "09:00:00")
    door.deliver(logs.url)
    logs.insert("late", "01:30:00")
    assert door.deliver(logs.url) == (3, 1, 0, 0)
    assert door.deliver(logs.url) == (1, 0, 0, 0)


def test_without_the_check_only_the_lag_is_read(logs: Any, door: Any) -> None:
    logs.insert("early", "01:00:00")
    logs.insert("last", "09:00:00")
    door.deliver(logs.url, mapping=logs_with(check=False))
    logs.insert("late", "01:30:00")
    assert door.deliver(logs.url, mapping=logs_with(check=False)) == (1, 0, 0, 0)
    assert door.deliver(logs.url) == (3, 1, 0, 0)


def test_rows_that_share_the_newest_instant_are_all_taken(logs: Any, door: Any) -> None:
    terms = logs_with(lag="0 s")
    logs.insert("a", "01:00:00")
    assert door.deliver(logs.url, mapping=terms) == (1, 1, 0, 0)
    logs.insert("b", "01:00:00")
    assert door.deliver(logs.url, mapping=terms) == (2, 1, 0, 0)
    logs.insert("c", "01:00:00.001")
    assert door.deliver(logs.url, mapping=terms) == (3, 1, 0, 0)
    assert door.deliver(logs.url, mapping=terms) == (1, 0, 0, 0)


def test_a_row_that_is_filled_in_replaces_what_was_known_of_it(logs: Any, door: Any) -> None:
    logs.insert("a", "01:00:00", prompt_tokens=0, completion_tokens=0, spend=0.0, status="failure")
    logs.insert("last", "09:00:00")
    door.deliver(logs.url)
    assert door.calls("status, input_tokens, user_id")[0] == ("error", None, None)
    logs.execute(
        "update \"LiteLLM_SpendLogs\" set status = 'success', end_user = 'u', spend = 0.5, "
        "prompt_tokens = 1000, completion_tokens = 20, total_tokens = 1020 where request_id = 'a'"
    )
    assert door.deliver(logs.url) == (2, 0, 0, 1)
    assert door.calls("status, input_tokens, user_id")[0] == ("ok", 1000, "u")
    assert door.deliver(logs.url) == (1, 0, 0, 0)
    assert in_the_ledger(door) == 2


def test_a_change_that_no_count_shows_is_found_by_when_the_row_moved(logs: Any, door: Any) -> None:
    logs.insert("a", "01:00:00", status="success")
    logs.insert("last", "09:00:00")
    door.deliver(logs.url)
    change = "update \"LiteLLM_SpendLogs\" set model = 'gpt-5'{} where request_id = 'a'"
    logs.execute(change.format(""))
    assert door.deliver(logs.url) == (1, 0, 0, 0)
    logs.execute(change.format(", updated_at = timestamp '2027-01-01'"))
    assert door.deliver(logs.url) == (2, 0, 0, 1)


def test_rows_that_were_deleted_there_stay_here(logs: Any, door: Any) -> None:
    for number, start in enumerate(("01:00:00", "02:00:00", "09:00:00")):
        logs.insert(f"r{number}", start)
    door.deliver(logs.url)
    logs.execute("delete from \"LiteLLM_SpendLogs\" where request_id = 'r0'")
    assert door.deliver(logs.url) == (2, 0, 0, 0)
    assert in_the_ledger(door) == 3
    assert door.deliver(logs.url) == (1, 0, 0, 0)


def test_a_long_table_is_delivered_in_stretches_that_end_between_instants(
    logs: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver_table, "STRETCH_ROWS", 2)
    rows = [logs.row(f"r{n}", f"01:00:{second:02}") for n, second in enumerate((0, 1, 1, 1, 2, 3))]
    logs.insert_all(*rows, logs.row("last", "09:00:00"))
    told: list[int] = []
    assert door.deliver(logs.url, progress=lambda _, found: told.append(found.read)) == (7, 7, 0, 0)
    assert told == [4, 6, 7]
    reads = door.ledger.connection.sql("select read_count from deliveries order by delivery_id")
    assert [row[0] for row in reads.fetchall()] == [4, 2, 1]
    assert door.deliver(logs.url) == (1, 0, 0, 0)
    logs.insert("late", "01:00:02.5")
    assert door.deliver(logs.url) == (4, 1, 0, 0)
    assert door.deliver(logs.url) == (1, 0, 0, 0)


def test_an_interrupted_run_goes_on_where_it_was(
    logs: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver_table, "STRETCH_ROWS", 2)
    rows = [logs.row(f"r{n}", f"0{n}:00:00") for n in range(1, 7)]
    logs.insert_all(*rows)
    keep = deliver_table.keep_delivery
    number = count(1)

    def power_cut(*given: Any) -> None:
        if next(number) == 3:
            raise KeyboardInterrupt
        keep(*given)

    monkeypatch.setattr(deliver_table, "keep_delivery", power_cut)
    with pytest.raises(KeyboardInterrupt):
        door.deliver(logs.url)
    assert in_the_ledger(door) == 4
    logs.insert("late", "01:30:00")
    assert door.deliver(logs.url) == (5, 3, 0, 0)
    assert in_the_ledger(door) == 7


def test_a_server_that_goes_away_is_told_and_what_was_taken_stays(
    logs: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver_table, "STRETCH_ROWS", 200)
    logs.insert_all(
        *(logs.row(f"r{n}", f"{n // 60:02}:{n % 60:02}:00", spend=0.5) for n in range(1000))
    )
    keep = deliver_table.keep_delivery
    first = iter([True])

    def losing(*given: Any) -> None:
        if next(first, False):
            logs.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        keep(*given)

    monkeypatch.setattr(deliver_table, "keep_delivery", losing)
    said = door.refused(logs.url)
    assert "what was taken already is not taken twice" in said
    taken = in_the_ledger(door)
    assert 200 <= taken < 1000
    read, new, rejected, conflict = door.deliver(logs.url)
    assert (new, rejected, conflict) == (1000 - taken, 0, 0)
    assert read < 1000


def test_what_is_written_during_a_run_belongs_to_the_next(
    logs: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver_table, "STRETCH_ROWS", 1)
    logs.insert("a", "01:00:00")
    logs.insert("b", "05:00:00")
    keep = deliver_table.keep_delivery
    wrote = iter(["during"])

    def writing(*given: Any) -> None:
        for request_id in wrote:
            logs.insert(request_id, "01:30:00")
        keep(*given)

    monkeypatch.setattr(deliver_table, "keep_delivery", writing)
    assert door.deliver(logs.url) == (2, 2, 0, 0)
    assert door.deliver(logs.url) == (3, 1, 0, 0)


def test_the_password_is_stored_nowhere(logs: Any, tmp_path: Any) -> None:
    path = tmp_path / "ledger.duckdb"
    logs.insert("a", "01:00:00")
    with open_for_writing(path) as ledger:
        assert "s3cret" in logs.url
        [result] = deliver_databases(ledger, [logs.url], Configuration())
        facts = ledger.connection.sql("select name || value from ledger_facts").fetchall()
    assert "s3cret" not in result.source
    assert not [fact for (fact,) in facts if "s3cret" in fact]
    assert b"s3cret" not in path.read_bytes()


def test_another_driver_or_password_is_the_same_table(logs: Any, door: Any) -> None:
    shown = Address(logs.url)
    other = Address(logs.url.replace("+psycopg", "").replace("s3cret", "new"))
    assert shown.key == other.key
    assert shown.shown != other.shown
