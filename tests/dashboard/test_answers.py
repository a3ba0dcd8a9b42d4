"""Answers are those of the law, whatever they are made of, and a window is read once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import streamlit as st

from analysis.law import law
from analysis.window import Window
from dashboard import answers
from dashboard.source import FileVersion, Source
from ingest.config import load_configuration
from ingest.current import open_current

OCTOBER = Window.month("2026-10", "UTC")
TOKYO = Window.month("2026-10", "Asia/Tokyo")
GROUPS = ((), ("endpoint",), ("team", "model"), ("status",), ("day", "endpoint"))


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """No answer of another test is kept."""
    st.cache_data.clear()
    yield
    st.cache_data.clear()


def source_of(files: Any, version: FileVersion = (0, 0)) -> Source:
    return Source(
        ledger_path=files.ledger,
        config_path=files.config,
        ledger_version=version,
        config_version=None,
    )


def asked_directly(
    ledger_path: Path, config_path: Path, by: tuple[str, ...], window: Window, **where: str
) -> pl.DataFrame:
    configuration = load_configuration(config_path)
    with open_current(ledger_path, configuration) as ledger:
        return law(ledger, configuration, by=by, window=window, where=where).frame


@pytest.mark.parametrize("window", [OCTOBER, TOKYO, Window(timezone="UTC")], ids=str)
@pytest.mark.parametrize("by", GROUPS, ids=str)
def test_an_answer_made_of_sums_by_day_is_that_of_the_law(
    sample: Any, by: tuple[str, ...], window: Window
) -> None:
    source = source_of(sample)
    answers.law_by(source, ("model",), window, {})
    found = answers.law_by(source, by, window, {"team": "search"}).frame
    assert found.equals(asked_directly(sample.ledger, sample.config, by, window, team="search"))
    whole = answers.law_by(source, by, window, {}).frame
    assert whole.equals(asked_directly(sample.ledger, sample.config, by, window))


def test_a_window_is_read_once_for_each_version_of_the_ledger(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    scanned = answers.scanned

    def counted(*arguments: Any, **named: Any) -> pl.DataFrame:
        read.append(named["window"])
        return scanned(*arguments, **named)

    monkeypatch.setattr(answers, "scanned", counted)
    for by in GROUPS:
        answers.law_by(source_of(small), by, OCTOBER, {})
    answers.law_by(source_of(small), ("endpoint",), OCTOBER, {"endpoint": "/chat"})
    assert read == [OCTOBER]
    answers.law_by(source_of(small, (1, 0)), ("endpoint",), OCTOBER, {})
    answers.law_by(source_of(small, (1, 0)), ("endpoint",), TOKYO, {})
    assert read == [OCTOBER, OCTOBER, TOKYO]
