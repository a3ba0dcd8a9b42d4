"""What could not be taken is counted where it is ingested and listed where it is asked for."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

GOOD = '{"call_id": "%s", "started_at": 1, "ended_at": 2, "model": "m", "input_tokens": 7}\n'

Done = CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def two_files(run: Run, tmp_path: Path) -> None:
    """Two deliveries: one with a bad line, one with bad lines 2 and 10."""
    (tmp_path / "a.jsonl").write_text(GOOD % "a" + "{broken\n")
    lines = [GOOD % f"b{number}" for number in range(10)]
    lines[1] = '{"call_id": "x", "started_at": 1, "input_tokens": -4}\n'
    lines[9] = '{"call_id": "y", "started_at": 1, "modle": "m"}\n'
    (tmp_path / "b.jsonl").write_text("".join(lines))
    assert run("ingest", "a.jsonl", "b.jsonl", "--content", "full").returncode == 0


def asked(run: Run, *arguments: str) -> tuple[list[dict[str, Any]], str]:
    done = run("ask", "rejects", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.usefixtures("two_files")
def test_each_reject_is_listed_with_its_delivery_position_reason_and_record(run: Run) -> None:
    rows, said = asked(run)
    assert [
        (row["delivery_id"], row["source"], row["format"], row["position"]) for row in rows
    ] == [
        (1, "a.jsonl", "native", "line 2"),
        (2, "b.jsonl", "native", "line 2"),
        (2, "b.jsonl", "native", "line 10"),
    ]
    assert rows[0]["record"] == "{broken"
    assert rows[1]["reason"] == "input_tokens -4 is below 0"
    assert rows[2]["reason"] == "unknown key 'modle'; did you mean 'model'?"
    assert said == "3 rejects\n"


@pytest.mark.usefixtures("two_files")
def test_table_csv_and_json_of_rejects_have_the_same_cells(run: Run) -> None:
    rows, _ = asked(run)
    as_csv = list(csv.DictReader(io.StringIO(run("ask", "rejects", "--format", "csv").stdout)))
    assert as_csv == [{key: str(value) for key, value in row.items()} for row in rows]
    table = run("ask", "rejects").stdout
    assert all(row["reason"] in table for row in rows)


@pytest.mark.usefixtures("two_files")
def test_rejects_are_chosen_by_source_delivery_and_time_of_delivery(run: Run) -> None:
    rows, said = asked(run, "--where", "source=b.jsonl")
    assert [row["position"] for row in rows] == ["line 2", "line 10"]
    assert said == "2 rejects with source=b.jsonl\n"
    assert len(asked(run, "--where", "delivery_id=1")[0]) == 1
    assert len(asked(run, "--where", "format=native")[0]) == 3
    assert len(asked(run, "--since", "2020-01")[0]) == 3
    rows, said = asked(run, "--until", "2020-01")
    assert rows == []
    assert said == "no record with delivered until 2020-01-01T00:00:00+00:00 was rejected\n"


@pytest.mark.usefixtures("two_files")
def test_a_cut_list_says_how_many_more_there_are(run: Run) -> None:
    rows, said = asked(run, "--limit", "2")
    assert len(rows) == 2
    assert said == "the first 2 rejects, 1 more; raise --limit\n"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("endpoint=/chat", "cannot filter by 'endpoint'; known: source, format, delivery_id"),
        ("sorce=a", "did you mean 'source'?"),
        ("source=", "every reject has its source; write source=value"),
        ("delivery_id=two", "delivery_id 'two' is no whole number"),
    ],
)
@pytest.mark.usefixtures("two_files")
def test_a_condition_that_rejects_do_not_have_is_wrong_usage(
    run: Run, condition: str, said: str
) -> None:
    done = run("ask", "rejects", "--where", condition)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("content", "kept"), [("full", "{broken"), ("hash", "v1k:"), ("off", None)]
)
def test_the_record_is_what_the_privacy_setting_keeps(
    run: Run, tmp_path: Path, content: str, kept: str | None
) -> None:
    (tmp_path / "gpuledger.toml").write_text('hash_key = "k"\n')
    (tmp_path / "a.jsonl").write_text(GOOD % "a" + "{broken\n")
    run("ingest", "a.jsonl", "--content", content)
    (row,), _ = asked(run)
    record = row["record"]
    assert (record if content != "hash" else record[:4]) == kept
    assert content == "full" or "broken" not in str(record)


def test_a_ledger_without_rejects_gives_an_empty_answer(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD % "a")
    run("ingest", "a.jsonl")
    assert asked(run) == ([], "no record was rejected\n")


def test_ingest_says_how_many_records_have_yet_other_reasons(run: Run, tmp_path: Path) -> None:
    bad = "".join(f'{{"call_id": "{n}", "started_at": 1, "key{n}": 1}}\n' for n in range(13))
    (tmp_path / "a.jsonl").write_text(GOOD % "a" + bad)
    said = run("ingest", "a.jsonl").stderr.splitlines()
    assert len(said) == 12
    assert said[10] == "rejected: a.jsonl: 3 more for other reasons"
    assert said[11] == "each rejected record: see `gpuledger ask rejects`"
    assert len(asked(run)[0]) == 13
