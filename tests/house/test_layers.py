"""The tree is the diagram: what a static import graph cannot see."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYERS = ["gpuledger", "dashboard", "simulator", "analysis", "ingest"]


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_contract_lists_the_layers_from_top_to_bottom() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    assert contracts[0]["layers"] == LAYERS


def test_every_shipped_package_is_linted() -> None:
    shipped = {
        pattern.removesuffix("*")
        for pattern in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    assert shipped - {"sample_data"} == set(PROJECT["tool"]["importlinter"]["root_packages"])


def test_every_folder_with_python_is_a_layer_or_a_named_exception() -> None:
    with_python = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith(".") and any(path.glob("**/*.py"))
    }
    assert with_python - {"build"} == {*LAYERS, "tests", "benchmarks", "docs", "sample_data"}


def test_headless_layers_load_no_drawing_library_even_deferred() -> None:
    for module in ("ingest.deliver", "analysis.law", "gpuledger.main", "gpuledger.ask"):
        assert not loaded_by(f"import {module}") & {"streamlit", "plotly"}, module


def test_the_command_line_answers_help_without_opening_the_database() -> None:
    assert "duckdb" not in loaded_by("import gpuledger.main")


def test_no_dashboard_module_is_named_like_a_package_that_it_could_hide() -> None:
    names = {path.stem for path in (ROOT / "dashboard").iterdir()} - {"__init__", "__pycache__"}
    dependencies = {
        name.split(">")[0].replace("-", "_").lower() for name in PROJECT["project"]["dependencies"]
    }
    assert not names & (set(sys.stdlib_module_names) | dependencies | set(LAYERS))
