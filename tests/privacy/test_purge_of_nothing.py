"""A purge that finds nothing says so and leaves the file; one that was cut short is finished."""

from pathlib import Path
from typing import Any

import pytest

from gpuledger.main import main
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.errors import LedgerError
from ingest.ledger import open_for_writing
from ingest.purge import Purge, purge, purging

USER = "the-user-of-this-test"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of one call of `USER`."""
    made = tmp_path / "l.duckdb"
    calls = tmp_path / "calls.jsonl"
    calls.write_text(
        f'{{"call_id": "a", "started_at": "2026-10-01T00:00:00Z", "user_id": "{USER}"}}\n'
    )
    with open_for_writing(made) as ledger:
        deliver_paths(ledger, [str(calls)], Configuration(user_ids="full"))
    return made


def purged(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What the command says on stderr, whose exit code is 0."""
    with pytest.raises(SystemExit) as ended:
        main(["purge", "--ledger", str(path), *options])
    assert ended.value.code == 0
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ("--user", "nobody"),
        ("--trace", "zz"),
        ("--before", "2020-01-01T00:00:00Z"),
        ("--user", "nobody", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_purge_that_nothing_matches_says_so_and_leaves_the_file(
    path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    file = path.stat().st_ino
    said = purged(path, capsys, *options)
    assert "nothing matched" in said
    assert "written anew" not in said
    assert path.stat().st_ino == file


def test_a_purge_that_was_cut_short_is_finished_by_the_next_though_that_finds_nothing(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(*_arguments: Any, **_options: Any) -> None:
        raise LedgerError("the disk is full")

    file = path.stat().st_ino
    assert USER.encode() in path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(purging, "rewrite", cut_short)
        with pytest.raises(LedgerError):
            purge(path, Purge(before={}, users=(USER,)), Configuration())
    assert path.stat().st_ino == file
    said = purged(path, capsys, "--user", USER)
    assert "nothing matched" in said
    assert "was written anew" in said
    assert path.stat().st_ino != file
    assert USER.encode() not in path.read_bytes()
    assert "written anew" not in purged(path, capsys, "--user", USER)
