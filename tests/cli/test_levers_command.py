"""`gpuledger levers`: the same cells in each format, and blocks where a terminal is too narrow."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.lever_lines import SCHEMA
from gpuledger.lever_blocks import block_lines
from gpuledger.main import gpuledger

S = 1_000_000_000
T0 = 1_794_304_800 * S
CONFIGURATION = """
[[pools]]
name = "a"
price_per_gpu_hour = "3.60"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of three equal calls, the last two of which a cache answers."""
    path = tmp_path_factory.mktemp("levers")
    (path / "gpuledger.toml").write_text(CONFIGURATION)
    calls = [
        {
            "call_id": str(number),
            "endpoint": "/ask",
            "pool": "a",
            "replica": "r",
            "timing_source": "engine",
            "prompt_hash": "p",
            "temperature": 0,
            "arrived_at": T0 + number * 20 * S,
            "started_at": T0 + number * 20 * S,
            "first_token_at": T0 + (number * 20 + 1) * S,
            "ended_at": T0 + (number * 20 + 10) * S,
        }
        for number in range(3)
    ]
    (path / "calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in calls))
    assert run(path, "ingest", str(path / "calls.jsonl")).exit_code == 0
    return path


def run(folder: Path, *arguments: str) -> Any:
    places = ["--ledger", str(folder / "l.duckdb"), "--config", str(folder / "gpuledger.toml")]
    return CliRunner().invoke(gpuledger, [*arguments, *places], catch_exceptions=False)


def test_json_is_a_list_of_objects_with_the_documented_keys(folder: Path) -> None:
    done = run(folder, "levers", "--format", "json")
    lines = json.loads(done.stdout)
    assert all(list(line) == list(SCHEMA) for line in lines)
    assert len(lines) == 44
    assert (lines[0]["number"], lines[0]["applies"]) == (1, "yes")
    assert lines[0]["attributed_gpu_seconds"] == pytest.approx(20.0)
    assert lines[0]["attributed_cost"] == pytest.approx(0.02)


def test_csv_has_the_same_cells(folder: Path) -> None:
    told = json.loads(run(folder, "levers", "--format", "json").stdout)
    cells = list(csv.DictReader(io.StringIO(run(folder, "levers", "--format", "csv").stdout)))
    assert [cell["lever"] for cell in cells] == [line["lever"] for line in told]
    assert [cell["evidence"] for cell in cells] == [line["evidence"] or "" for line in told]


def test_a_piped_table_has_a_row_for_each_lever_that_was_asked_for(folder: Path) -> None:
    done = run(folder, "levers", "--applies", "yes")
    assert "exact response cache" in done.stdout
    assert "admission control" not in done.stdout
    assert "each GPU-second is counted once" in done.stderr


def test_an_answer_that_is_none_is_wrong_usage(folder: Path) -> None:
    assert run(folder, "levers", "--applies", "perhaps").exit_code == 2
    assert run(folder, "levers", "--where", "endpont=/ask").exit_code == 2


def test_a_block_holds_every_cell_within_the_width() -> None:
    values = dict.fromkeys(SCHEMA) | {
        "number": 1,
        "lever": "exact response cache",
        "tier": 0,
        "applies": "yes",
        "attributed_gpu_seconds": 12.5,
        "evidence": "two calls were sent again and again",
        "risk": "old answers",
        "evaluate": "ledger, replay",
    }
    frame = pl.DataFrame([values], schema=SCHEMA, orient="row")
    assert list(block_lines(frame, 40)) == [
        "  1 exact response cache",
        "    tier 0   applies yes",
        "    evaluate ledger, replay",
        "    attributed_gpu_seconds 12.5",
        "    evidence   two calls were sent again",
        "               and again",
        "    risk       old answers",
    ]
