"""The sample's manifest, and the generator's run, made once for all tests of this folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuledger.demo import demo
from ingest.ledger import Ledger, open_for_reading
from sample_data.generate import generate
from sample_data.sample import sample_manifest_path


@pytest.fixture(scope="session")
def manifest() -> dict[str, Any]:
    """The committed manifest."""
    loaded: dict[str, Any] = json.loads(sample_manifest_path().read_text("utf-8"))
    return loaded


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the generator has just written."""
    folder = tmp_path_factory.mktemp("generated")
    generate(folder)
    return folder


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The ledger that `gpuledger demo` built, and what it printed."""
    path = tmp_path_factory.mktemp("demo") / "made" / "gpuledger.duckdb"
    arguments = ["--ledger", str(path), "--no-serve", "--format", "json"]
    return path, CliRunner().invoke(demo, arguments, catch_exceptions=False)


@pytest.fixture
def sample_ledger(demo_run: tuple[Path, Result]) -> Iterator[Ledger]:
    """The sample's ledger, open for reading."""
    with open_for_reading(demo_run[0]) as ledger:
        yield ledger
