"""`gpuledger ingest` proposes a mapping for a file that it does not know, and reads it by that."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuledger.exits import ExitCode
from gpuledger.main import gpuledger

CSV = """timestamp,latency_ms,model,prompt_tokens,completion_tokens,zebra
1790841600500,1500,gpt-x,100,20,1
1790841601500,500,gpt-x,7,3,1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "requests.csv"
    path.write_text(CSV)
    return path


def run(*arguments: str | Path) -> Result:
    given = [str(argument) for argument in arguments]
    return CliRunner().invoke(gpuledger, given, standalone_mode=False)


def test_a_proposal_that_is_saved_reads_its_file(file: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.duckdb"
    told = run("ingest", file, "--ledger", ledger)
    assert told.return_value == ExitCode.NOT_USABLE
    advice, _, proposed = told.stderr.partition("--map mapping.toml:\n\n")
    assert "a mapping is proposed from its columns; save it as mapping.toml" in advice
    (tmp_path / "mapping.toml").write_text(proposed)
    mapped = ("--map", tmp_path / "mapping.toml", "--output", "json", "--ledger", ledger)
    rows = [json.loads(run("ingest", file, *mapped).stdout) for _ in range(2)]
    counts = [[row[0][key] for key in ("format", "read", "new", "duplicate")] for row in rows]
    assert counts == [["mapped", 2, 2, 0], ["mapped", 2, 0, 2]]


def test_a_file_of_other_columns_is_named_and_the_others_are_read(
    file: Path, tmp_path: Path
) -> None:
    (tmp_path / "mapping.toml").write_text('[columns]\nmodel = "model"\nzone = "x"\n')
    refused = run("ingest", file, "--map", tmp_path / "mapping.toml")
    assert "[columns] cannot fill 'zone'" in str(refused.exception)
    (tmp_path / "mapping.toml").write_text('[columns]\nmodel = "model"\nteam = "team"\n')
    other = tmp_path / "other.csv"
    other.write_text("model,team\ngpt-x,search\n")
    ledger = tmp_path / "ledger.duckdb"
    done = run("ingest", file, other, "--map", tmp_path / "mapping.toml", "--ledger", ledger)
    assert done.return_value == ExitCode.NOT_USABLE
    assert f"{file}: it has no column 'team', which the mapping names" in done.stderr
    assert "other.csv" in done.stdout


def test_a_format_and_a_mapping_of_rows_exclude_each_other(file: Path, tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text('[columns]\nmodel = "model"\n')
    refused = run("ingest", file, "--map", tmp_path / "mapping.toml", "--format", "native")
    assert "--format and a mapping of rows exclude each other" in str(refused.exception)
