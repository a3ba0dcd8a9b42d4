"""Any table of any database through a mapping, in SQLite and in PostgreSQL."""

import sqlite3
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ingest.config import Configuration
from ingest.databases.deliver import Proposal, deliver_databases
from ingest.deliver import deliver_paths
from ingest.errors import ConfigurationError
from ingest.readers.mapping_file import RowMapping, mapping_of

REQUESTS = """
create table requests (
    id integer primary key,
    tenant text,
    created_at timestamp,
    latency_ms integer,
    model text,
    tokens_in integer,
    tokens_out integer,
    state text
);
"""
TERMS: dict[str, Any] = {
    "name": "requests",
    "watermark": "created_at",
    "timezone": "Asia/Tokyo",
}
COLUMNS: dict[str, Any] = {
    "arrived_at": "created_at",
    "duration_s": {"column": "latency_ms", "unit": "ms"},
    "model": "model",
    "tenant": "tenant",
    "input_tokens": "tokens_in",
    "output_tokens": "tokens_out",
    "status": {"column": "state", "values": {"done": "ok", "failed": "error"}},
}
S = 1_000_000_000


def requests(terms: dict[str, Any] | None = None, **columns: Any) -> RowMapping:
    given = {"table": TERMS | (terms or {}), "columns": COLUMNS | columns}
    return mapping_of(given, "mapping.toml")


def nanoseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Asia/Tokyo")).timestamp()) * S


class File:
    """One SQLite file with a table of requests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    def execute(self, statement: str, *rows: tuple[Any, ...]) -> None:
        with sqlite3.connect(self.path) as connection:
            if rows:
                connection.executemany(statement, rows)
            else:
                connection.executescript(statement)
        connection.close()

    def insert(self, *rows: tuple[Any, ...]) -> None:
        self.execute("insert into requests values (?, ?, ?, ?, ?, ?, ?, ?)", *rows)


@pytest.fixture
def file(tmp_path: Path) -> File:
    made = File(tmp_path / "app.sqlite")
    made.execute(REQUESTS)
    return made


def one(number: int, at: str, state: str = "done", **given: Any) -> tuple[Any, ...]:
    latency_ms = given.get("latency_ms", 1500)
    return (number, given.get("tenant", "acme"), at, latency_ms, "llama", 100, 20, state)


def test_a_table_becomes_calls_in_the_declared_zone(file: File, door: Any) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 09:00:05.250", "failed"))
    assert door.deliver(file.url, mapping=requests()) == (2, 2, 0, 0)
    start = nanoseconds("2026-10-01T09:00:00")
    assert door.calls("arrived_at, ended_at, model, tenant, input_tokens, status") == [
        (start, start + 1_500_000_000, "llama", "acme", 100, "ok"),
        (start + 5_250_000_000, start + 6_750_000_000, "llama", "acme", 100, "error"),
    ]


def test_late_rows_and_equal_instants_of_a_file_are_taken_once(file: File, door: Any) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00"))
    assert door.deliver(file.url, mapping=requests()) == (2, 2, 0, 0)
    assert door.deliver(file.url, mapping=requests()) == (1, 0, 0, 0)
    file.insert(one(3, "2026-10-01 12:00:00"), one(4, "2026-10-01 08:00:00"))
    assert door.deliver(file.url, mapping=requests()) == (4, 2, 0, 0)
    assert door.deliver(file.url, mapping=requests()) == (2, 0, 0, 0)


def test_a_row_without_a_watermark_is_not_lost(file: File, door: Any) -> None:
    mapping = requests({"watermark": "created_at"})
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00"))
    door.deliver(file.url, mapping=mapping)
    file.execute(
        "insert into requests (id, model, tokens_in, tokens_out, state) "
        "values (9, 'llama', 1, 1, 'done')"
    )
    assert door.deliver(file.url, mapping=mapping) == (2, 1, 0, 0)
    assert door.deliver(file.url, mapping=mapping) == (1, 0, 0, 0)


def test_a_number_that_counts_rows_is_a_watermark_without_a_lag(file: File, door: Any) -> None:
    mapping = requests({"watermark": "id"})
    file.insert(one(1, "2026-10-01 09:00:00"), one(5, "2026-10-01 09:00:00"))
    assert door.deliver(file.url, mapping=mapping) == (2, 2, 0, 0)
    file.insert(one(6, "2026-10-01 08:00:00"), one(3, "2026-10-01 10:00:00"))
    assert door.deliver(file.url, mapping=mapping) == (4, 2, 0, 0)


def test_a_table_without_a_watermark_is_read_whole_each_time(file: File, door: Any) -> None:
    mapping = requests({"watermark": None} | {"identity": ["tenant", "id"]})
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00"))
    assert door.deliver(file.url, mapping=mapping) == (2, 2, 0, 0)
    assert door.deliver(file.url, mapping=mapping) == (2, 0, 0, 0)


def test_a_bad_row_is_rejected_with_its_id_and_takes_no_other_with_it(
    file: File, door: Any
) -> None:
    file.insert(
        one(1, "2026-10-01 09:00:00"), one(2, "yesterday"), one(3, "2026-10-01 09:00:00", "odd")
    )
    assert door.deliver(file.url, mapping=requests({"watermark": "id"})) == (3, 1, 2, 0)
    found = door.ledger.connection.sql("select position, reason from rejects order by position")
    assert [(position, reason.partition("'")[0]) for position, reason in found.fetchall()] == [
        ("id=2", "arrived_at (created_at): "),
        ("id=3", "state "),
    ]


@pytest.mark.parametrize(
    ("terms", "columns", "reason"),
    [
        ({}, {"model": "modle"}, "reads 'modle', which requests has not; did you mean 'model'"),
        ({"watermark": "created"}, {}, "reads 'created'.*did you mean 'created_at'"),
        ({"identity": ["uuid"]}, {}, "reads 'uuid', which requests has not; did you mean 'id'"),
    ],
)
def test_a_mapping_of_a_column_that_is_not_there_names_the_nearest(
    file: File, door: Any, terms: dict[str, Any], columns: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        door.deliver(file.url, mapping=requests(terms, **columns))


def test_a_table_of_another_database_is_not_taken_for_the_same_rows(
    file: File, door: Any, tmp_path: Path
) -> None:
    other = File(tmp_path / "eu.sqlite")
    other.execute(REQUESTS)
    file.insert(one(1, "2026-10-01 09:00:00"))
    other.insert(one(1, "2026-10-01 10:00:00", tenant="other"))
    door.deliver(file.url, mapping=requests())
    assert "the ledger has the rows of requests from sqlite" in door.refused(
        other.url, mapping=requests()
    )
    assert door.deliver(other.url, mapping=requests({"namespace": "eu"})) == (1, 1, 0, 0)
    assert [tenant for (tenant,) in door.calls("tenant")] == ["acme", "other"]


def test_a_mapping_is_proposed_from_the_columns_and_can_be_used(file: File, door: Any) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"))
    [proposal] = deliver_databases(door.ledger, [file.url], Configuration())
    assert isinstance(proposal, Proposal)
    assert (
        proposal.text
        == """\
[table]
name = "requests"
identity = ["id"]
watermark = "created_at"
lag = "1 h"   # how late a row may appear
timezone = "UTC"   # of times that tell no zone

[columns]
arrived_at = "created_at"
duration_s = { column = "latency_ms", unit = "ms" }
model = "model"
input_tokens = "tokens_in"
output_tokens = "tokens_out"
tenant = "tenant"

# not mapped: "id", "state"
"""
    )
    mapping = mapping_of(tomllib.loads(proposal.text), "proposal")
    assert door.deliver(file.url, mapping=mapping) == (1, 1, 0, 0)


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "bigint", "numeric"])
def test_every_kind_of_time_of_postgresql_is_a_watermark(
    database: Any, door: Any, kind: str
) -> None:
    name = "odd Table"
    database.execute(f'create table "{name}" ("Id" uuid primary key, "At" {kind}, n int)')
    counted = "extract(epoch from timestamptz '2026-10-01 {}+09') * 1000"
    told = "timestamptz '2026-10-01 {}+09'" if kind == "timestamptz" else "'2026-10-01 {}'"
    value = counted if kind in {"bigint", "numeric"} else told
    insert = f'insert into "{name}" values (gen_random_uuid(), {value}, 5)'
    for at in ("09:00:00", "12:00:00"):
        database.execute(insert.format(at))
    source = {"column": "At", "unit": "ms"} if kind in {"bigint", "numeric"} else "At"
    given = {
        "table": {"name": name, "watermark": "At", "timezone": "Asia/Tokyo"},
        "columns": {"arrived_at": source, "input_tokens": "n"},
    }
    mapping = mapping_of(given, "mapping.toml")
    assert door.deliver(database.url, mapping=mapping) == (2, 2, 0, 0)
    assert door.calls("arrived_at")[0] == (nanoseconds("2026-10-01T09:00:00"),)
    database.execute(insert.format("08:00:00"))
    assert door.deliver(database.url, mapping=mapping) == (3, 1, 0, 0)
    assert door.deliver(database.url, mapping=mapping) == (1, 0, 0, 0)


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "date"])
def test_a_time_that_no_calendar_has_takes_no_other_row_with_it(
    database: Any, door: Any, kind: str
) -> None:
    database.execute(f"create table t (id serial primary key, at {kind}, seen {kind})")
    for at in ("-infinity", "2026-10-01", "0044-03-15 BC", "2026-10-02", "infinity"):
        database.execute(f"insert into t (at, seen) values ('{at}', '{at}')")
    given = {
        "table": {"name": "t", "watermark": "at", "changed": "seen"},
        "columns": {"arrived_at": "at"},
    }
    mapping = mapping_of(given, "mapping.toml")
    assert door.deliver(database.url, mapping=mapping)[:3] == (5, 2, 3)
    assert door.deliver(database.url, mapping=mapping)[1] == 0
    given["table"] |= {"watermark": "id"}
    assert door.deliver(database.url, mapping=mapping_of(given, "m"))[:3] == (5, 0, 3)


def test_times_in_nanoseconds_are_not_summed(file: File, door: Any) -> None:
    file.execute("create table t (id integer primary key, at integer, n integer)")
    at = 1_790_000_000 * S
    file.execute("insert into t values (?, ?, ?)", *((n, at + n * 3600 * S, n) for n in range(20)))
    given = {
        "table": {"name": "t", "watermark": "at"},
        "columns": {"arrived_at": {"column": "at", "unit": "ns"}, "input_tokens": "n"},
    }
    mapping = mapping_of(given, "mapping.toml")
    assert door.deliver(file.url, mapping=mapping) == (20, 20, 0, 0)
    assert door.deliver(file.url, mapping=mapping) == (2, 0, 0, 0)
    file.execute("update t set n = 7 where id = 3")
    assert door.deliver(file.url, mapping=mapping) == (20, 0, 0, 1)


def test_bytes_that_are_no_text_end_no_reading(file: File, door: Any) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00"))
    file.execute("update requests set tenant = cast(x'61ff62' as text) where id = 2")
    assert door.deliver(file.url, mapping=requests()) == (2, 2, 0, 0)
    assert door.calls("tenant") == [("acme",), ("a\N{REPLACEMENT CHARACTER}b",)]


def test_a_view_is_read_like_a_table(file: File, door: Any) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00", "failed"))
    file.execute("create view answered as select * from requests where state = 'done'")
    mapping = requests({"name": "answered", "identity": ["id"]})
    assert door.deliver(file.url, mapping=mapping) == (1, 1, 0, 0)
    with pytest.raises(ConfigurationError, match="answered has no primary key; name the columns"):
        door.deliver(file.url, mapping=requests({"name": "answered"}))


def test_a_table_and_its_export_are_the_same_calls_through_one_mapping(
    file: File, door: Any, tmp_path: Path
) -> None:
    file.insert(one(1, "2026-10-01 09:00:00"), one(2, "2026-10-01 12:00:00.125", "failed"))
    exported = tmp_path / "requests.csv"
    exported.write_text(
        "id,tenant,created_at,latency_ms,model,tokens_in,tokens_out,state\n"
        "1,acme,2026-10-01 09:00:00,1500,llama,100,20,done\n"
        "2,acme,2026-10-01 12:00:00.125,1500,llama,100,20,failed\n"
    )
    mapping = requests({"name": "main.requests", "identity": ["id"]})
    assert door.deliver(file.url, mapping=mapping) == (2, 2, 0, 0)
    [again] = deliver_paths(door.ledger, [str(exported)], Configuration(), mapping=mapping)
    assert (again.counts.read, again.counts.new, again.counts.conflict) == (2, 0, 0)
