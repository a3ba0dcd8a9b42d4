"""A ledger exported and ingested again is the same ledger."""

from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from ingest.config import Configuration
from ingest.current import open_current
from ingest.deliver import deliver_paths
from ingest.export import write_native, write_parquet
from ingest.ledger import Ledger, open_for_writing

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"
COLUMNS = "* exclude (call_no, cohort_id, delivery_id)"
CONFIGURATION = Configuration(content="full")


def taken(ledger: Ledger, *paths: Path) -> None:
    results = deliver_paths(ledger, [str(path) for path in paths], CONFIGURATION)
    assert any(result.counts for result in results)


def exported(ledger: Ledger) -> bytes:
    out = BytesIO()
    write_native(ledger.connection, out)
    return out.getvalue()


def rows(ledger: Ledger, text: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(text).fetchall()


def assert_round_trip(folder: Path, *paths: Path) -> None:
    with open_for_writing(None) as first, open_for_writing(None) as second:
        taken(first, *paths)
        (folder / "export.jsonl").write_bytes(exported(first))
        taken(second, folder / "export.jsonl")
        for text in (
            f"select {COLUMNS} from calls order by call_id",
            "select * from contents order by call_id",
            "select * from call_prompts order by call_id",
            "select digest, fullness from call_rows order by call_id",
        ):
            assert rows(second, text) == rows(first, text)
        again = deliver_paths(first, [str(folder / "export.jsonl")], CONFIGURATION)
        assert again[0].counts is not None
        assert (again[0].counts.new, again[0].counts.conflict) == (0, 0)
        sums = "select sum(prefill_gpu_seconds), sum(decode_gpu_seconds) from charges"
        assert rows(second, sums) == rows(first, sums)


def test_calls_of_every_small_fixture_survive_the_round_trip(tmp_path: Path) -> None:
    assert_round_trip(tmp_path, FIXTURES)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the public files are not here")
def test_calls_of_public_files_survive_the_round_trip(tmp_path: Path) -> None:
    assert_round_trip(
        tmp_path,
        SHARED / "B_envoy_aigw_openinference",
        SHARED / "B_jaeger_ui",
        SHARED / "A_llmservingsim_vllm",
        SHARED / "vllm_cpu",
    )


def test_what_is_not_known_is_left_out_and_money_keeps_its_digits(
    ledger: Ledger, tmp_path: Path
) -> None:
    line = '{"call_id": "a", "started_at": 1, "ended_at": 3, "reported_cost": 0.000000001}\n'
    (tmp_path / "one.jsonl").write_text(line)
    taken(ledger, tmp_path / "one.jsonl")
    text = exported(ledger).decode()
    assert '"reported_cost":1E-9' in text
    assert None not in orjson.loads(text).values()


def test_parquet_holds_the_calls_and_what_they_were_charged(tmp_path: Path) -> None:
    path = tmp_path / "l.duckdb"
    with open_for_writing(path) as ledger:
        taken(ledger, FIXTURES)
        calls = rows(ledger, "select count(*) from calls")[0][0]
        charges = rows(ledger, "select count(*) from charges")[0][0]
    with open_current(path, CONFIGURATION) as ledger:
        files = write_parquet(ledger.connection, tmp_path / "out")
    assert [file.name for file in files] == [
        "calls.parquet",
        "cohorts.parquet",
        "charges.parquet",
        "token_charges.parquet",
        "pools.parquet",
    ]
    assert pl.read_parquet(tmp_path / "out" / "calls.parquet").height == calls
    assert pl.read_parquet(tmp_path / "out" / "charges.parquet").height == charges
