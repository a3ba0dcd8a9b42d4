"""The pages of docs/metrics say what the headers of the questions say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location(
        "generate_metrics", ROOT / "docs" / "generate_metrics.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, str] = module.pages()
    return pages


def test_pages_are_those_of_the_headers() -> None:
    written = {path.name: path.read_text("utf-8") for path in (ROOT / "docs/metrics").iterdir()}
    assert written == generated(), "run `make docs`"


def test_the_headline_states_its_identity() -> None:
    assert "N * (Tp_s + L_tokens * Td_s) / B = cost" in generated()["law.md"]
