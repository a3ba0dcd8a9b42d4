"""`gpuledger ingest`, `config` and `export` as a user runs them."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals
from subprocess import CompletedProcess
from typing import Any

import orjson
import pytest

from ingest.ledger import open_for_reading, open_for_writing

NATIVE = '{"call_id": "%s", "started_at": 1, "ended_at": 2, "model": "m", "input_tokens": 7}\n'

Done = CompletedProcess[str]
Run = Callable[..., Done]


def run_apart(folder: Path, *arguments: str, stdin: str = "") -> Done:
    """Runs a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gpuledger.main", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        input=stdin,
    )


@pytest.fixture
def native(tmp_path: Path) -> Path:
    path = tmp_path / "calls.jsonl"
    path.write_text(NATIVE % "a" + NATIVE % "b" + NATIVE % "a")
    return path


def rows_of(done: Done) -> Any:
    return orjson.loads(done.stdout)


def test_the_table_says_what_became_of_each_record(run: Run, native: Path) -> None:
    expected = {
        "source": "calls.jsonl",
        "format": "native",
        "read": 3,
        "new": 2,
        "duplicate": 1,
        "rejected": 0,
        "conflict": 0,
    }
    first = run("ingest", "calls.jsonl", "--output", "json")
    assert (first.returncode, rows_of(first), first.stderr) == (0, [expected], "")
    second = run("ingest", "calls.jsonl", "--output", "json")
    assert rows_of(second) == [{**expected, "new": 0, "duplicate": 3}]


def test_csv_and_table_have_the_same_cells(run: Run, native: Path) -> None:
    assert run("ingest", "calls.jsonl", "--output", "csv").stdout == (
        "source,format,read,new,duplicate,rejected,conflict\ncalls.jsonl,native,3,2,1,0,0\n"
    )
    assert "calls.jsonl" in run("ingest", "calls.jsonl").stdout


def test_rejects_are_counted_and_only_strict_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text(NATIVE % "a" + "{broken\n" + NATIVE % "b")
    lenient = run("ingest", "some.jsonl", "--output", "json")
    assert lenient.returncode == 0
    assert rows_of(lenient)[0]["rejected"] == 1
    assert lenient.stderr.startswith("rejected: some.jsonl: 1 × ")
    assert "line 2" in lenient.stderr
    assert run("ingest", "some.jsonl", "--strict").returncode == 3


UNREADABLE = {
    "empty.jsonl": (b"", "an empty file"),
    "pointer.jsonl": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
        "a Git LFS pointer",
    ),
    "page.json": (b"<!DOCTYPE html><html>404</html>", "an HTML page"),
    "cut.jsonl.gz": (gzip.compress(os.urandom(3_000).hex().encode())[:-900], "a truncated gzip"),
    "notes.txt": (b"dear diary", "no reader recognises it"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_data_is_named_and_the_others_are_taken(
    run: Run, native: Path, tmp_path: Path, name: str
) -> None:
    content, message = UNREADABLE[name]
    (tmp_path / name).write_bytes(content)
    done = run("ingest", name, "calls.jsonl", "--output", "json")
    assert done.returncode == 4
    assert f"not read: {name}: {message}" in done.stderr or (
        name == "notes.txt" and message in done.stderr
    )
    assert [row["new"] for row in rows_of(done)] == [None, 2]


def test_a_file_that_describes_another_is_named_and_is_no_failure(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "meta.json").write_text('{"vllm_version": "0.19.0", "engine_kwargs": {}}')
    (folder / "calls.jsonl").write_text(NATIVE % "a")
    done = run("ingest", "run")
    assert done.returncode == 0
    assert "not read by itself: run/meta.json: the description of a vLLM run" in done.stderr


def test_a_missing_path_is_named(run: Run) -> None:
    done = run("ingest", "nowhere.jsonl")
    assert done.returncode == 4
    assert "not read: nowhere.jsonl: does not exist" in done.stderr


def test_an_unknown_format_is_wrong_usage_and_names_the_nearest(run: Run, native: Path) -> None:
    done = run("ingest", "calls.jsonl", "--format", "otlp-jsno")
    assert done.returncode == 2
    assert "did you mean 'otlp-json'?" in done.stderr


def test_a_source_on_standard_input_is_taken(tmp_path: Path) -> None:
    done = run_apart(tmp_path, "ingest", "-", "--output", "json", stdin=NATIVE % "a")
    assert rows_of(done)[0]["new"] == 1


def test_a_locked_ledger_is_named_with_its_holder(native: Path, tmp_path: Path) -> None:
    with open_for_writing(tmp_path / "gpuledger.duckdb"):
        done = run_apart(tmp_path, "ingest", "calls.jsonl")
    assert done.returncode == 4
    assert f"in use by another process (PID {os.getpid()})" in done.stderr


def test_a_folder_is_no_ledger(run: Run, native: Path, tmp_path: Path) -> None:
    done = run("ingest", "calls.jsonl", "--ledger", str(tmp_path))
    assert done.returncode == 2
    assert "is a directory" in done.stderr


def test_another_file_is_no_ledger_and_is_left_alone(run: Run, native: Path) -> None:
    before = native.read_bytes()
    done = run("ingest", "calls.jsonl", "--ledger", "calls.jsonl")
    assert done.returncode == 4
    assert "cannot be opened as a ledger" in done.stderr
    assert native.read_bytes() == before


def test_a_ledger_in_a_folder_that_does_not_exist_is_refused(run: Run, native: Path) -> None:
    done = run("ingest", "calls.jsonl", "--ledger", "none/l.duckdb")
    assert done.returncode == 4
    assert "the folder none does not exist" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_a_read_only_folder_is_named(run: Run, native: Path, tmp_path: Path) -> None:
    folder = tmp_path / "frozen"
    folder.mkdir(mode=0o555)
    done = run("ingest", "calls.jsonl", "--ledger", "frozen/l.duckdb")
    assert done.returncode == 4
    assert "frozen/l.duckdb" in done.stderr


def test_an_unknown_configuration_key_stops_before_anything_is_written(
    run: Run, native: Path, tmp_path: Path
) -> None:
    (tmp_path / "gpuledger.toml").write_text('curency = "EUR"\n')
    done = run("ingest", "calls.jsonl")
    assert done.returncode == 2
    assert "unknown key 'curency'; did you mean 'currency'?" in done.stderr
    assert not (tmp_path / "gpuledger.duckdb").exists()


def test_a_map_file_holds_the_map_and_nothing_else(run: Run, native: Path, tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text('currency = "EUR"\n[map]\nteam = ["attribute.team"]\n')
    done = run("ingest", "calls.jsonl", "--map", "map.toml")
    assert done.returncode == 2
    assert "a file for --map holds one table, [map]" in done.stderr


def test_a_map_file_takes_the_place_of_the_configured_map(run: Run, tmp_path: Path) -> None:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "squad", "value": {"stringValue": "search"}},
    ]
    span = {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": "chat m",
        "startTimeUnixNano": "1800000000000000000",
        "endTimeUnixNano": "1800000001000000000",
        "attributes": attributes,
    }
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (tmp_path / "spans.json").write_bytes(orjson.dumps(document))
    (tmp_path / "map.toml").write_text('[map]\nteam = ["attribute.squad"]\n')
    assert run("ingest", "spans.json", "--map", "map.toml").returncode == 0
    with open_for_reading(tmp_path / "gpuledger.duckdb") as ledger:
        assert ledger.connection.execute("select team from calls").fetchall() == [("search",)]


INTERRUPTED = """
import sys, time
from gpuledger.main import main
from ingest.readers.native import Native

read = Native.read

def slowly(self, source):
    yield from read(self, source)
    print("halfway", file=sys.stderr, flush=True)
    time.sleep(60)

Native.read = slowly
main()
"""


@pytest.mark.parametrize("signal", [SIGINT, SIGKILL])
def test_a_stop_in_the_middle_leaves_the_ledger_as_it_was(
    run: Run, native: Path, tmp_path: Path, signal: Signals
) -> None:
    run("ingest", "calls.jsonl")
    (tmp_path / "more.jsonl").write_text("".join(NATIVE % f"n{i}" for i in range(12_000)))
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "ingest", "more.jsonl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "halfway\n"
    process.send_signal(signal)
    _, said = process.communicate(timeout=60)
    ended = (130, "interrupted\n") if signal is SIGINT else (-SIGKILL, "")
    assert (process.returncode, said.lstrip("\n")) == ended
    with open_for_reading(tmp_path / "gpuledger.duckdb") as ledger:
        assert ledger.connection.execute("select count(*) from calls").fetchall() == [(2,)]
    assert rows_of(run("ingest", "more.jsonl", "--output", "json"))[0]["new"] == 12_000


def test_config_check_says_ok_or_why_not(run: Run, tmp_path: Path) -> None:
    assert run("config", "check").stdout == "ok\n"
    (tmp_path / "gpuledger.toml").write_text('[[pools]]\nname = "a"\nprise_per_gpu_hour = "3"\n')
    done = run("config", "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'price_per_gpu_hour'?" in done.stderr


def test_config_show_prints_what_was_understood_and_no_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gpuledger.toml").write_text(
        'hash_key = "k3y"\n[[pools]]\nname = "a"\nprice_per_gpu_hour = "2.99"\n'
        'from = 2026-10-01T00:00:00Z\n[map]\nteam = ["attribute.team", "resource.team"]\n'
    )
    shown = run("config", "show", "--format", "csv").stdout
    assert "hash_key,(set)\n" in shown
    assert "pools[0].price_per_gpu_hour,2.99\n" in shown
    assert "pools[0].from,2026-10-01T00:00:00Z\n" in shown
    assert 'map.team,"attribute.team, resource.team"\n' in shown
    assert "k3y" not in shown
    understood = rows_of(run("config", "show", "--format", "json"))
    assert understood["pools"][0]["replicas"] == 1
    assert understood["content"] == "hash"


def test_an_export_is_taken_again_as_the_same_calls(run: Run, native: Path, tmp_path: Path) -> None:
    run("ingest", "calls.jsonl")
    done = run("export")
    assert (done.returncode, done.stderr) == (0, "wrote 2 calls\n")
    (tmp_path / "again.jsonl").write_text(done.stdout)
    (row,) = rows_of(run("ingest", "again.jsonl", "--output", "json"))
    assert (row["format"], row["duplicate"], row["conflict"]) == ("native", 2, 0)


def test_an_export_does_not_write_over_a_file(run: Run, native: Path) -> None:
    run("ingest", "calls.jsonl")
    before = native.read_bytes()
    done = run("export", "--out", "calls.jsonl")
    assert done.returncode == 2
    assert "calls.jsonl exists" in done.stderr
    assert native.read_bytes() == before


def test_an_export_to_parquet_names_its_files(run: Run, native: Path, tmp_path: Path) -> None:
    run("ingest", "calls.jsonl")
    assert run("export", "--format", "parquet").returncode == 2
    done = run("export", "--format", "parquet", "--out", "out")
    assert done.returncode == 0
    assert (tmp_path / "out" / "charges.parquet").exists()
