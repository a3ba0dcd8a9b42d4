"""The schema goes forward only, and a ledger of another version is refused in words."""

from hashlib import sha256
from pathlib import Path

import pytest

from ingest.errors import LedgerVersionError
from ingest.ledger import open_for_reading, open_for_writing
from ingest.schema import current_version, migrations

RELEASED = {
    "ledger": "38660231fb5960ba961195cb02a16de216b1a494778a3bc740077bb06421018b",
    "pool_eras": "24f21c86bc9f87e2d7b7c20b06232a9b967de771059c3ed6d03d0b41a5e326bf",
    "charge_sums": "f98b5d19a10b84fc379831eca7d3ecdb7fc1de8d05d7e3fab10dfa6075cbe5f6",
    "call_views": "89d77b63643252e113549eea6656c5c9f1151d190e73dd79672ef5e811d8599e",
    "engine_metrics": "766f9ef593430ca815716066ae0690d876ccb334b00bb035cc94665e3822d820",
    "tools_hash": "0567469820672524f23e83ea1d256b7d85e656561e3584931eff8b08fd96933a",
    "costs_without_tokens": "b6ea0b3ad2c3530e3b91ebc861413a6c8973de7c66c2dd5a3bfad716f88ccc12",
    "prompt_measures": "166350c4f94e65cdf31fc75e954a93ff40fc1e601085d94725a6db875ff8c064",
    "answers": "2ef47f4e5467edd614c90578cf757564e8af83b7505bb1b97dc83626dc6476af",
    "volatile_prefixes": "1f65bef4ec9b7bf0eff673ea01c35152907a8dcd39f522d92688cf204822b9d2",
}
"""Migrations that ledgers out there were made with; a change is a new file, never an edit."""


def test_a_released_migration_is_never_edited() -> None:
    found = {m.name: sha256(m.sql.encode()).hexdigest() for m in migrations()}
    assert {name: found[name] for name in RELEASED} == RELEASED


def test_every_migration_is_released_with_its_digest() -> None:
    assert {migration.name for migration in migrations()} == set(RELEASED)


def test_the_view_of_calls_has_every_column_of_a_call_but_those_of_its_bookkeeping(
    tmp_path: Path,
) -> None:
    with open_for_writing(tmp_path / "new.duckdb") as ledger:
        rows, shown = (set(ledger.connection.table(t).columns) for t in ("call_rows", "calls"))
    assert rows - shown == {"digest", "fullness"}


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [migration.version for migration in migrations()]
    assert numbers == list(range(1, current_version() + 1))


def test_a_ledger_of_a_newer_version_is_refused_by_both_doors(tmp_path: Path) -> None:
    path = tmp_path / "newer.duckdb"
    with open_for_writing(path) as ledger:
        ledger.set_fact("schema_version", "99")
    for door in (open_for_writing, open_for_reading):
        with pytest.raises(LedgerVersionError, match=r"schema version 99.*newer"):
            door(path)


def test_a_reader_of_an_older_ledger_is_told_what_brings_it_forward(
    tmp_path: Path,
) -> None:
    path = tmp_path / "older.duckdb"
    with open_for_writing(path) as ledger:
        ledger.set_fact("schema_version", "0")
        ledger.connection.execute("create table kept (n integer)")
    with pytest.raises(LedgerVersionError, match="bring it forward"):
        open_for_reading(path)
