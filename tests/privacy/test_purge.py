"""What a purge takes and what it leaves: figures stay, identities and bytes go."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from gpuledger.main import main
from ingest.calls.fingerprints import pseudonym
from ingest.charging import charge
from ingest.config import Configuration, Pool, load_configuration
from ingest.deliver import deliver_paths
from ingest.errors import ConfigurationError
from ingest.ledger import open_for_reading, open_for_writing
from ingest.ledger_file import copy_ledger
from ingest.purge import Purge, cutoffs, purge
from ingest.receiver.beside import inbox_path
from ingest.receiver.inbox import Arrival, Inbox
from ingest.receiver.intake import JSON
from ingest.receiver.reception import Limits, Reception
from ingest.receiver.signals import TRACES

DAY = 86_400_000_000_000
NOW = 1_800_000_000_000_000_000
OLD, NEW = NOW - 100 * DAY, NOW - DAY
POOLS = Configuration(content="full", pools=(Pool(name="chat", models=("m",)),))
AFTER = NOW - 50 * DAY
ALL_TABLES = ("contents", "spans", "tool_runs", "retrievals", "rejects", "deliveries", "calls")


def span(trace: int, at: int, attributes: dict[str, Any], number: int = 1) -> dict[str, Any]:
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace:08x}{number:08x}",
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 2_000_000_000),
        "attributes": [{"key": key, "value": value} for key, value in attributes.items()],
    }


def chat(trace: int, at: int, user: str) -> dict[str, Any]:
    said = json.dumps([{"role": "user", "content": f"recipe of {user}"}])
    return span(
        trace,
        at,
        {
            "gen_ai.operation.name": {"stringValue": "chat"},
            "gen_ai.request.model": {"stringValue": "m"},
            "gen_ai.usage.input_tokens": {"intValue": "100"},
            "gen_ai.usage.output_tokens": {"intValue": "10"},
            "gen_ai.input.messages": {"stringValue": said},
            "user.id": {"stringValue": user},
        },
    )


def tool(trace: int, at: int) -> dict[str, Any]:
    name = {"gen_ai.operation.name": {"stringValue": "execute_tool"}}
    return span(trace, at, name, number=2)


SPANS = [
    *(chat(1, OLD, "old-user"), tool(1, OLD)),
    *(chat(2, NEW, "new-user"), tool(2, NEW)),
]


def file_of(folder: Path, spans: list[dict[str, Any]], name: str = "spans.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), "utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of an old and a new trace, each a call and a tool, and a rejected record."""
    made = tmp_path / "l.duckdb"
    bad = {**span(3, OLD, {}), "traceId": "old-user"}
    with open_for_writing(made) as ledger:
        for at, spans in ((OLD, [*SPANS[:2], bad]), (NEW, SPANS[2:])):
            file = file_of(tmp_path, spans)
            deliver_paths(ledger, [str(file)], POOLS, clock=lambda at=at: at)
    return made


def rows(path: Path, question: str) -> list[tuple[Any, ...]]:
    with open_for_reading(path) as ledger:
        return ledger.connection.execute(question).fetchall()


def counts(path: Path) -> dict[str, int]:
    with open_for_reading(path) as ledger:
        return {
            name: ledger.connection.table(name).count("*").fetchall()[0][0] for name in ALL_TABLES
        }


FIGURES = (
    "select started_at, ended_at, input_tokens, output_tokens, model, endpoint, pool from calls "
    "order by all"
)
CHARGES = "select call_no, prefill_gpu_seconds, decode_gpu_seconds from charges order by all"


def before(*tables: str) -> Purge:
    return Purge(before=dict.fromkeys(tables or ALL_TABLES, AFTER))


def test_what_is_old_goes_and_every_figure_stays(path: Path) -> None:
    was = rows(path, FIGURES), rows(path, CHARGES)
    done = purge(path, before(), POOLS)
    assert {row.table: row.rows for row in done.removed if row.rows} == {
        "contents": 1,
        "prompt_measures": 1,
        "spans": 2,
        "tool_runs": 1,
        "rejects": 1,
        "deliveries": 1,
        "calls": 1,
    }
    assert (rows(path, FIGURES), rows(path, CHARGES)) == was
    told = "select user_id, trace_id is null, input_hash is null from calls order by ended_at"
    assert rows(path, told) == [(None, True, True), ("new-user", False, False)]
    assert counts(path) == {
        "contents": 1,
        "spans": 2,
        "tool_runs": 1,
        "retrievals": 0,
        "rejects": 0,
        "deliveries": 1,
        "calls": 2,
    }


@pytest.mark.parametrize("table", ["contents", "spans", "rejects"])
def test_a_table_goes_alone(path: Path, table: str) -> None:
    was = counts(path)
    purge(path, before(table), POOLS)
    assert {name for name, count in counts(path).items() if count != was[name]} == {table}


def test_what_was_purged_is_in_no_byte_of_the_files(path: Path) -> None:
    assert b"old-user" in path.read_bytes()
    purge(path, before(), POOLS)
    assert all(b"old-user" not in file.read_bytes() for file in path.parent.glob("l.duckdb*"))
    left = sorted(file.name for file in path.parent.glob("l.duckdb*"))
    assert left == ["l.duckdb", "l.duckdb.turn"]


def test_a_dry_run_says_the_same_and_changes_nothing(path: Path) -> None:
    was = path.read_bytes()
    told = purge(path, Purge(before=before().before, is_dry_run=True), POOLS)
    assert path.read_bytes() == was
    assert purge(path, before(), POOLS).removed == told.removed


def test_a_second_purge_finds_nothing(path: Path) -> None:
    purge(path, before(), POOLS)
    assert {row.rows for row in purge(path, before(), POOLS).removed} == {0}


def test_where_volatile_text_stood_goes_with_the_hashes(tmp_path: Path) -> None:
    said = json.dumps([{"role": "system", "content": "At 10:15. " + "Be brief, be kind. " * 30}])
    old = chat(1, OLD, "old-user")
    old["attributes"].append({"key": "gen_ai.input.messages", "value": {"stringValue": said}})
    path = tmp_path / "l.duckdb"
    with open_for_writing(path) as ledger:
        deliver_paths(ledger, [str(file_of(tmp_path, [old]))], POOLS, clock=lambda: OLD)
    kept = "select count(volatile_spans), count(stable_prefix_hashes) from call_rows"
    assert rows(path, kept) == [(1, 1)]
    purge(path, before(), POOLS)
    assert rows(path, kept) == [(0, 0)]


BY_USER = Purge(before={}, users=("old-user",))
BY_TRACE = Purge(before={}, traces=(f"{1:032x}",))


@pytest.mark.parametrize("asked", [BY_USER, BY_TRACE], ids=["user", "trace"])
def test_a_user_or_a_trace_goes_wherever_it_is(path: Path, asked: Purge) -> None:
    was = rows(path, FIGURES), rows(path, CHARGES)
    purge(path, asked, POOLS)
    assert rows(path, "select distinct trace_id from spans") == [(f"{2:032x}",)]
    assert rows(path, "select prompt like '%new-user%' from contents") == [(True,)]
    assert rows(path, "select count(*) from tool_runs") == [(1,)]
    assert rows(path, "select count(user_id) from call_rows") == [(1,)]
    assert (rows(path, FIGURES), rows(path, CHARGES)) == was
    if asked.users:
        assert rows(path, "select count(*) from rejects") == [(0,)]
        assert b"old-user" not in path.read_bytes()


def test_a_user_is_found_by_the_id_though_only_its_hash_is_stored(tmp_path: Path) -> None:
    configuration = Configuration(user_ids="hash", hash_key="k")
    made = tmp_path / "l.duckdb"
    with open_for_writing(made) as ledger:
        deliver_paths(ledger, [str(file_of(tmp_path, SPANS))], configuration)
    assert (pseudonym("old-user", configuration),) in rows(made, "select user_id from calls")
    purge(made, Purge(before={}, users=("old-user",)), configuration)
    hashed = pseudonym("new-user", configuration)
    assert rows(made, "select user_id from calls order by user_id nulls last") == [
        (hashed,),
        (None,),
    ]


def test_a_purged_record_delivered_again_is_a_duplicate(tmp_path: Path) -> None:
    made = tmp_path / "l.duckdb"
    record = {
        "call_id": "1",
        "model": "m",
        "user_id": "old-user",
        "started_at": OLD,
        "ended_at": OLD + DAY,
    }
    file = tmp_path / "calls.jsonl"
    file.write_text(json.dumps(record) + "\n", "utf-8")

    def delivered() -> Any:
        with open_for_writing(made) as ledger:
            (result,) = deliver_paths(ledger, [str(file)], POOLS, format_name="native")
        return result.counts

    assert delivered().new == 1
    purge(made, before("calls"), POOLS)
    assert (delivered().new, delivered().duplicate) == (0, 1)
    assert rows(made, "select user_id from calls") == [(None,)]


def told_twice(folder: Path) -> list[str]:
    """One call as a gateway and as a client logged it, under the same id of the answer."""
    common = {"model": "m", "response_id": "chatcmpl-1", "timing_source": "span"}
    common |= {"uncached_input_tokens": 100, "visible_output_tokens": 10}
    second = 1_000_000_000
    app = {"call_id": "a", "service": "app", "user_id": "old-user"}
    views = [
        {**common, **app, "arrived_at": OLD, "ended_at": OLD + 9 * second},
        {
            **common,
            "call_id": "b",
            "service": "gateway",
            "arrived_at": OLD + second,
            "ended_at": OLD + 8 * second,
        },
    ]
    files = []
    for view in views:
        file = folder / f"{view['call_id']}.jsonl"
        file.write_text(json.dumps(view) + "\n", "utf-8")
        files.append(str(file))
    return files


@pytest.mark.parametrize("asked", [BY_USER, before("calls")], ids=["user", "age"])
def test_a_call_of_several_views_stays_one_call_when_they_are_told_again(
    tmp_path: Path, asked: Purge
) -> None:
    made, files = tmp_path / "l.duckdb", told_twice(tmp_path)
    users = "select user_id from calls union all select user_id from call_views"
    for _ in range(2):
        with open_for_writing(made) as ledger:
            deliver_paths(ledger, files, POOLS, format_name="native")
        purge(made, asked, POOLS)
        assert rows(made, users) == [(None,)] * 3
        assert b"old-user" not in made.read_bytes()


def test_charges_after_a_purge_are_those_of_before(path: Path) -> None:
    was = rows(path, CHARGES)
    purge(path, before(), POOLS)
    with open_for_writing(path) as ledger:
        ledger.connection.execute("update charge_partitions set is_stale = true")
        charge(ledger, POOLS)
    assert rows(path, CHARGES) == was


def wait_in_inbox(path: Path, user: str, *, with_damage: bool = False) -> None:
    """Have a request with a call of `user` acknowledged, behind one that cannot be taken."""
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [chat(9, OLD, user)]}]}]})
    with Inbox(inbox_path(path), max_bytes=2**30) as inbox:
        meter = MeterProvider().get_meter("test")
        reception = Reception(POOLS, inbox, Limits(), meter, clock=lambda: NOW)
        if with_damage:
            damaged = {"received_at": NOW, "door": "OTLP/HTTP", "format_name": "otlp-json"}
            inbox.put(Arrival(**damaged, checksum="", record_count=1, content=b"damaged"))
        _, stored = reception.take(TRACES, body.encode(), JSON, "OTLP/HTTP")
        stored.result(timeout=60)


@pytest.mark.parametrize("damaged", [0, 1])
def test_what_waits_in_the_inbox_is_taken_first_and_its_bytes_go(path: Path, damaged: int) -> None:
    wait_in_inbox(path, "waiting-user", with_damage=bool(damaged))
    done = purge(path, Purge(before={}, users=("waiting-user",)), POOLS)
    assert {row.table: row.rows for row in done.removed if row.rows} == {
        "contents": 1,
        "prompt_measures": 1,
        "spans": 1,
        "calls": 1,
    }
    assert done.left_count == damaged
    with sqlite3.connect(inbox_path(path)) as connection:
        assert connection.execute("select count(*) from arrivals").fetchall() == [(damaged,)]
    for file in path.parent.glob("l.duckdb*"):
        assert b"waiting-user" not in file.read_bytes()


def test_an_inbox_counts_anew_what_a_purge_has_taken_from_it(path: Path) -> None:
    with Inbox(inbox_path(path), max_bytes=2**30) as inbox:
        wait_in_inbox(path, "waiting-user")
        given = {"received_at": NOW, "door": "OTLP/HTTP", "format_name": "otlp-json"}
        arrival = Arrival(**given, checksum="", record_count=1, content=b"damaged")
        inbox.put(arrival).result(timeout=60)
        assert (inbox.waiting_count, inbox.waiting_bytes) == (1, 7)
        with sqlite3.connect(inbox_path(path)) as other:
            other.execute("delete from arrivals")
        assert inbox.waiting(max_bytes=1, max_records=1, max_failures=3) == []
        assert (inbox.waiting_count, inbox.waiting_bytes) == (0, 0)


def test_what_another_writer_adds_during_the_copy_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []

    def copy_and_write(*given: Any, **options: Any) -> Any:
        state = copy_ledger(*given, **options)
        if not copies:
            with open_for_writing(path) as ledger:
                ledger.set_fact("meanwhile", "yes")
        copies.append(state)
        return state

    monkeypatch.setattr("ingest.purge.rewriting.copy_ledger", copy_and_write)
    purge(path, before(), POOLS)
    assert len(copies) == 2
    assert rows(path, "select value from ledger_facts where name = 'meanwhile'") == [("yes",)]


def test_the_command_says_what_it_took(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--table", "spans", "--before", "2026-12-01T00:00:00Z"]
    with pytest.raises(SystemExit) as ended:
        main(["purge", "--ledger", str(path), "--format", "csv", *options])
    said = capsys.readouterr()
    assert ended.value.code == 0
    assert said.out.splitlines() == [
        "table,action,rows",
        "spans,rows removed,2",
        "cohorts,rows removed,0",
    ]
    assert "was written anew" in said.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "nothing to purge is named"),
        (["--table", "spans"], "[retention] gives spans no age"),
        (["--table", "span"], "is not one of"),
        (["--before", "soon"], "is no instant"),
    ],
)
def test_what_is_not_said_is_asked_for(
    path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["purge", "--ledger", str(path), *options])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_ages_are_counted_back_from_now(tmp_path: Path) -> None:
    file = tmp_path / "gpuledger.toml"
    file.write_text('[retention]\nspans = "2d"\nrejects = "12h"\n', "utf-8")
    assert cutoffs(load_configuration(file), NOW) == {
        "spans": NOW - 2 * DAY,
        "rejects": NOW - DAY // 2,
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('span = "2d"', "knows no table 'span'; did you mean 'spans'"),
        ('spans = "soon"', 'retention.spans is "soon"; it must be an age in days or hours'),
        ("spans = 2", "retention.spans is 2; it must be a text"),
    ],
)
def test_an_age_that_is_none_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "gpuledger.toml"
    file.write_text(f"[retention]\n{line}\n", "utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        load_configuration(file)
