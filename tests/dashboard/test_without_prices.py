"""A ledger whose calls have no price shows them, and says what they lack."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from analysis.sql import question_named
from dashboard.remedies import REMEDIES
from dashboard.server import CONFIG_VARIABLE, LEDGER_VARIABLE, SCRIPT
from dashboard.view import NO_TIMES
from ingest.config import load_configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

RUN_TIMEOUT_S = 60
PageOf = Callable[..., AppTest]


@pytest.fixture
def without_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger of two calls that tell neither their times nor a price."""
    source = tmp_path / "calls.jsonl"
    one = {"call_id": "a", "endpoint": "/a", "model": "m", "uncached_input_tokens": 7}
    source.write_text(f"{json.dumps(one)}\n{json.dumps(one | {'call_id': 'b'})}\n", "utf-8")
    with open_for_writing(tmp_path / "l.duckdb") as ledger:
        deliver_paths(ledger, [str(source)], load_configuration(None), format_name="native")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "l.duckdb"))
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)


@pytest.mark.usefixtures("without_times")
def test_calls_without_times_are_counted_and_say_what_they_lack() -> None:
    app = AppTest.from_file(str(SCRIPT), default_timeout=RUN_TIMEOUT_S).run()
    assert not app.exception
    assert app.subheader[0].value == "Cost of inference, all calls (UTC)"
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown == {"Calls": "2", "Input tokens": "14", "Output tokens": "–"}
    texts = [element.value for element in app.text]
    assert NO_TIMES in texts
    assert "The calls' GPU-seconds are not known; 2 calls with 14 tokens" in texts[1]
    reasons = app.dataframe[0].value
    assert reasons["call_count"].to_list() == [2]
    assert reasons["remedy"].to_list() == [REMEDIES["its times are not known"]]


@pytest.mark.usefixtures("without_times")
def test_the_page_of_traces_says_that_its_calls_are_in_none(page_run: PageOf) -> None:
    opened = page_run("traces")
    assert not opened.exception
    assert opened.text[1].value.startswith("Of 2 calls here none is in a trace that fits.")


@pytest.mark.usefixtures("without_times")
def test_gpu_seconds_that_are_not_known_are_no_zero(page_run: PageOf) -> None:
    opened = page_run("endpoints")
    assert not opened.exception
    table = opened.dataframe[0].value
    assert table["N"].to_list() == [2, 2]
    assert table["gpu_seconds"].isna().to_list() == [True, True]


def test_every_reason_for_no_price_has_a_remedy() -> None:
    question = question_named("unpriced", "checks")
    assert set(re.findall(r"'((?:its|no) [^']+)'", question.sql())) == set(REMEDIES)
