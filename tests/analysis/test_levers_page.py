"""docs/levers.md says what the levers and the columns of their answer are."""

import importlib.util
from pathlib import Path
from typing import Any

from analysis.lever_lines import SCHEMA

ROOT = Path(__file__).resolve().parents[2]


def generator() -> Any:
    spec = importlib.util.spec_from_file_location(
        "generate_levers", ROOT / "docs" / "generate_levers.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_levers() -> None:
    assert (ROOT / "docs/levers.md").read_text("utf-8") == generator().page(), "run `make docs`"


def test_the_page_explains_every_column_of_the_answer() -> None:
    assert set(generator().COLUMNS) == set(SCHEMA)
