"""A database that cannot be read is a sentence without a password, and exit code 4."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuledger.main import main
from ingest.databases.address import Address, is_database_address


def as_user(url: str, user: str, password: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{password}@{rest.rpartition('@')[2]}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql+psycopg://u@h/d", True),
        ("sqlite:///calls.sqlite", True),
        ("calls.jsonl", False),
        ("C:/calls", False),
        ("-", False),
        ("logs/*.json", False),
    ],
)
def test_an_address_is_told_from_a_path(text: str, expected: bool) -> None:
    assert is_database_address(text) is expected


@pytest.mark.parametrize(
    ("given", "shown", "secret"),
    [
        ("postgresql://u:hush@h:5432/d", "postgresql://u@h:5432/d", "hush"),
        ("postgresql://u:hu%40sh@h/d?host=/tmp", "postgresql://u@h/d?host=/tmp", "hu@sh"),
        ("postgresql://u:hu@s/h@h/d", "postgresql://u@h/d", "hu@s/h"),
        ("postgresql://h/d?password=hush", "postgresql://h/d", "hush"),
        ("postgresql://h/d?sslpassword=hush&port=1", "postgresql://h/d?port=1", "hush"),
        ("sqlite:////data/a.sqlite", "sqlite:////data/a.sqlite", None),
    ],
)
def test_what_is_shown_of_an_address_has_no_secret(
    given: str, shown: str, secret: str | None
) -> None:
    address = Address(given)
    assert address.shown == shown
    assert repr(address) == f"Address({shown!r})"
    said = address.without_secrets(f"{given} does not answer")
    assert said == f"{shown} does not answer"
    if secret is not None:
        assert address.without_secrets(f"not with {secret}") == "not with ***"


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_wrong_password_says_so_and_shows_none(logs: Any, door: Any) -> None:
    said = door.refused(as_user(logs.url, "postgres", "wrongsecret"))
    assert 'password authentication failed for user "postgres"' in said
    assert "PGPASSWORD" in said
    assert "wrongsecret" not in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("127.0.0.1", "no-such-host.invalid"), "there is no such host"),
        (("//postgres", "//nobody"), "password authentication failed"),
        (("/t", "/x"), "does not exist; check the name in the address"),
    ],
)
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_what_is_wrong_with_an_address_is_told(
    logs: Any, door: Any, change: tuple[str, str], reason: str
) -> None:
    said = door.refused(_replaced_last(logs.url, *change))
    assert reason in said
    assert "s3cret" not in said


def _replaced_last(text: str, old: str, new: str) -> str:
    before, _, after = text.rpartition(old)
    return f"{before}{new}{after}"


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_missing_table_and_a_missing_right_are_told(logs: Any, door: Any) -> None:
    assert "there is no table 'SpendLog'; did you mean 'LiteLLM_SpendLogs'" in door.refused(
        logs.url, table="SpendLog"
    )
    logs.server.execute("postgres", "drop role if exists reader")
    logs.server.execute("postgres", "create role reader login password 'readersecret'")
    said = door.refused(as_user(logs.url, "reader", "readersecret"))
    assert "permission denied for table LiteLLM_SpendLogs" in said
    assert "grant select" in said
    assert "readersecret" not in said


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgresql://u:hush@127.0.0.1:1/d", "nothing listens there; check host and port"),
        ("postgresql://u:hush@h:port/d", "cannot be read as an address"),
        ("nosuch://u:hush@h/d", "no database is called 'nosuch'"),
        ("oracle+cx_oracle://u:hush@h/d", "the driver cx_Oracle is not installed"),
        ("sqlite:///missing.sqlite", "there is no file missing.sqlite"),
        ("sqlite://", "names no file"),
    ],
)
def test_the_command_exits_with_4_and_says_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    address: str,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["ingest", address, "--ledger", "ledger.duckdb"])
    said = capfd.readouterr()
    assert ended.value.code == 4
    assert reason in said.err
    assert "hush" not in said.err + said.out
    assert not Path("missing.sqlite").exists()


def test_a_missing_package_names_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("ingest.databases.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(SystemExit) as ended:
        main(["ingest", "postgresql://h/d", "--ledger", "ledger.duckdb"])
    assert ended.value.code == 4
    assert "pip install 'gpuledger[databases]'" in capfd.readouterr().err


def test_a_proposal_goes_to_stdout_and_the_hint_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("app.sqlite") as connection:
        connection.execute("create table calls (id text primary key, model text, ts integer)")
        connection.execute("insert into calls values ('a', 'm', 1790000000000)")
    connection.close()
    with pytest.raises(SystemExit) as ended:
        main(["ingest", "sqlite:///app.sqlite", "--ledger", "ledger.duckdb"])
    said = capfd.readouterr()
    assert ended.value.code == 4
    assert 'arrived_at = { column = "ts", unit = "ms" }' in said.out
    assert "run again with --map mapping.toml" in said.err
    Path("mapping.toml").write_text(said.out)
    with pytest.raises(SystemExit) as ended:
        main(["ingest", "sqlite:///app.sqlite", "--map", "mapping.toml", "--ledger", "l.duckdb"])
    assert not ended.value.code
    assert "sqlite:///app.sqlite#calls" in capfd.readouterr().out
