"""What a user may point `ingest` at by mistake: each is named, and no neighbour is lost."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import orjson
import pytest

from gpuledger.main import gpuledger, main

GOOD = b'{"call_id": "%s", "started_at": 1, "ended_at": 2, "model": "m", "input_tokens": 7}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPULEDGER_LEDGER", raising=False)
    return tmp_path


def ingested(
    capfd: pytest.CaptureFixture[str], *paths: str
) -> tuple[int, list[tuple[int | None, ...]], str]:
    """The exit code; read, new, duplicate, rejected of each source; what was said."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["ingest", *paths, "--output", "json"])
    said = capfd.readouterr()
    rows = orjson.loads(said.out)
    columns = ("read", "new", "duplicate", "rejected")
    return int(ended.value.code or 0), [tuple(row[c] for c in columns) for row in rows], said.err


def test_a_record_nested_without_end_is_rejected_alone(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    deep = b'{"call_id": "d", "started_at": ' + b"[" * 1000 + b"]" * 1000 + b"}\n"
    (folder / "a.jsonl").write_bytes(GOOD % b"a" + deep + GOOD % b"b")
    code, counts, said = ingested(capfd, "a.jsonl")
    assert (code, counts) == (0, [(3, 2, 0, 1)])
    assert "1 × nested deeper than 254 levels (first: line 2)" in said


def test_zero_bytes_between_records_take_no_record_with_them(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_bytes(GOOD % b"a" + b"\x00" * 512 + GOOD % b"b")
    assert ingested(capfd, "a.jsonl")[:2] == (0, [(2, 2, 0, 0)])
    (folder / "cut.jsonl").write_bytes(GOOD % b"c" + b"\x00" * 512)
    assert ingested(capfd, "cut.jsonl")[:2] == (0, [(2, 1, 0, 1)])


def test_line_ends_a_mark_repeated_keys_and_lone_surrogates_are_read(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "crlf.jsonl").write_bytes((GOOD % b"a" + GOOD % b"b").replace(b"\n", b"\r\n"))
    (folder / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + GOOD % b"c")
    (folder / "twice.jsonl").write_bytes(b'{"call_id": "x", "call_id": "d", "started_at": 1}\n')
    (folder / "half.jsonl").write_bytes(b'{"call_id": "\\ud800", "started_at": 1}\n')
    code, counts, said = ingested(capfd, "crlf.jsonl", "bom.jsonl", "twice.jsonl", "half.jsonl")
    assert (code, said) == (0, "")
    assert counts == [(2, 2, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0)]


def test_a_name_that_is_no_utf8_is_shown_and_read(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"bad\xff.jsonl")
    (folder / name).write_bytes(GOOD % b"a")
    assert ingested(capfd, name)[:2] == (0, [(1, 1, 0, 0)])


def test_links_to_nothing_and_to_themselves_are_named_and_a_circle_of_folders_ends(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "gone").symlink_to("nothing")
    (folder / "self").symlink_to("self")
    (folder / "circle").mkdir()
    (folder / "circle" / "a.jsonl").write_bytes(GOOD % b"a")
    (folder / "circle" / "again").symlink_to("../circle")
    code, counts, said = ingested(capfd, "gone", "self", "circle")
    assert (code, counts[2]) == (4, (1, 1, 0, 0))
    for name in ("gone", "self"):
        assert f"not read: {name}: a link to nothing, or to itself; check where it leads" in said


def test_members_that_cannot_be_opened_leave_the_others(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("secret.jsonl", GOOD % b"a")
        archive.writestr("inner.zip", b"PK\x03\x04")
        archive.writestr("good.jsonl", GOOD % b"b")
    content = bytearray(packed.getvalue())
    content[content.find(b"PK\x03\x04") + 6] |= 1
    content[content.find(b"PK\x01\x02") + 8] |= 1
    (folder / "a.zip").write_bytes(content)
    code, counts, said = ingested(capfd, "a.zip")
    assert (code, counts[2]) == (4, (1, 1, 0, 0))
    assert "a.zip!secret.jsonl: encrypted; unpack the archive with its password first" in said
    assert "a.zip!inner.zip: a zip archive inside another file; unpack it first" in said


def apart(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A shell's command, with `gpuledger` as `$G`."""
    return subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={**os.environ, "G": f"{sys.executable} -m gpuledger.main"},
    )


def test_a_closed_standard_input_is_named(folder: Path) -> None:
    done = apart(folder, "$G ingest - <&-")
    assert done.returncode == 4
    assert done.stderr == (
        "not read: -: standard input is closed; pipe the data into the command\n"
    )


def test_a_full_disk_is_said_and_nothing_of_the_source_stays(folder: Path) -> None:
    (folder / "a.jsonl").write_bytes(b"".join(GOOD % (b"%d" % n) for n in range(60_000)))
    full = apart(folder, "ulimit -f 200; $G ingest a.jsonl")
    assert full.returncode == 4, full.stderr
    assert "error: the ledger could not be read or written: " in full.stderr
    assert "run the command again" in full.stderr
    assert "Traceback" not in full.stderr
    again = apart(folder, "$G ingest a.jsonl --output json")
    assert orjson.loads(again.stdout)[0]["new"] == 60_000


def test_a_disk_that_is_full_at_the_commit_is_said_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Failed to commit: Could not write file: No space left on device"

    def full(**_: object) -> None:
        raise duckdb.TransactionException(said)

    monkeypatch.setattr(gpuledger, "main", full)
    with pytest.raises(SystemExit) as ended:
        main(["formats"])
    assert ended.value.code == 4
    assert f"error: the ledger could not be read or written: {said}" in capfd.readouterr().err


def test_what_lies_beside_data_in_a_folder_is_skipped_and_named_by_itself_refused(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = folder / "data"
    data.mkdir()
    (data / "a.jsonl").write_bytes(GOOD % b"a")
    (data / "README.md").write_text("# What this is\n")
    (data / "__init__.py").write_text("")
    (data / "LICENSE").write_text("Do what you like.\n")
    (data / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for path in ("data", "data/*"):
        code, counts, said = ingested(capfd, path)
        assert code == 0
        assert next(row for row in counts if row[0] is not None)[0] == 1
        assert "skipped: data/README.md: a text for people, no telemetry" in said
        assert "skipped: data/__init__.py: a program, no telemetry" in said
        assert "skipped: data/LICENSE: a licence, no telemetry" in said
        assert "skipped: data/plot.png: a picture, no telemetry" in said
    code, _, said = ingested(capfd, "./data/README.md", "data/a.jsonl")
    assert code == 4
    assert "not read: data/README.md: " in said


def test_a_folder_of_which_every_file_is_skipped_holds_no_data(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "README.md").write_text("# Nothing yet\n")
    assert ingested(capfd, "data")[0] == 4


def test_a_file_that_is_called_as_no_data_and_is_data_is_read(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "calls.md").write_bytes(GOOD % b"a")
    assert ingested(capfd, "data")[:2] == (0, [(1, 1, 0, 0)])


def test_the_table_of_several_sources_ends_with_all_of_them(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_bytes(GOOD % b"a" + GOOD % b"b")
    (folder / "b.jsonl").write_bytes(GOOD % b"b" + GOOD % b"c" + b'{"call_id": 7}\n')
    with pytest.raises(SystemExit):
        main(["ingest", "a.jsonl", "b.jsonl"])
    rows = [line.split() for line in capfd.readouterr().out.splitlines() if line.strip()]
    assert rows[-1] == ["total", "–", "5", "3", "1", "1", "0"]
    with pytest.raises(SystemExit):
        main(["ingest", "a.jsonl"])
    assert "total" not in capfd.readouterr().out
