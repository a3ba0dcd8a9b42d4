"""The pages of docs/metrics say what the questions declare: in a header, or as facts."""

import importlib.util
from pathlib import Path

import pytest

from analysis.computed import COMPUTED
from analysis.errors import QuestionFileError
from analysis.facts import FIELDS, Facts
from analysis.sql import all_questions

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


def test_pages_are_those_of_the_facts() -> None:
    written = {path.name: path.read_text("utf-8") for path in (ROOT / "docs/metrics").iterdir()}
    assert written == generated(), "run `make docs`"


def test_the_headline_states_its_identity() -> None:
    assert "N * (Tp_s + L_tokens * Td_s) / B = cost" in generated()["law.md"]


def test_a_computed_question_has_a_page_a_line_of_the_index_and_a_module_of_its_name() -> None:
    pages = generated()
    for facts in COMPUTED:
        assert f"**Identity.** {facts.identity}." in pages[f"{facts.name}.md"]
        assert f"| [{facts.name}]({facts.name}.md) | {facts.question} |" in pages["README.md"]
        assert (ROOT / f"analysis/{facts.name}.py").exists()


def test_no_question_is_declared_twice() -> None:
    names = [facts.name for facts in (*COMPUTED, *all_questions(), *all_questions("checks"))]
    assert len(names) == len(set(names))


def test_a_fact_that_says_nothing_is_an_error() -> None:
    told = dict.fromkeys(FIELDS, "something")
    with pytest.raises(QuestionFileError, match="question 'something' does not say its nulls"):
        Facts(**told | {"nulls": ""})
