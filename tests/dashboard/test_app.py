"""The pages on a small ledger, run without a browser: figures, drill-down, trouble in words."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.server import CONFIG_VARIABLE, LEDGER_VARIABLE, SCRIPT
from ingest.ledger import open_for_writing

NASTY_NAME = "<b>/bold</b> **x** [y](javascript:alert(1))"
RUN_TIMEOUT_S = 60
PageOf = Callable[..., AppTest]


@pytest.fixture
def app(small: Any, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The dashboard on the small ledger, not yet run."""
    monkeypatch.setenv(LEDGER_VARIABLE, str(small.ledger))
    monkeypatch.setenv(CONFIG_VARIABLE, str(small.config))
    return AppTest.from_file(str(SCRIPT), default_timeout=RUN_TIMEOUT_S)


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def texts(app: AppTest) -> list[str]:
    return [element.value for element in app.text]


def test_the_overview_opens_on_the_newest_month_that_is_over(app: AppTest) -> None:
    app.run()
    assert not app.exception
    assert app.subheader[0].value == "Cost of inference, 2026-10-01 to 2026-10-31 (UTC)"
    assert metrics(app)["Cost"] == "111.60 USD"
    assert metrics(app)["GPU-seconds, idle included"] == "111,600"
    assert metrics(app)["Idle"] == "111.40 USD"


def test_one_sentence_says_what_is_measured_and_what_has_no_price(app: AppTest) -> None:
    app.run()
    assert texts(app)[0] == (
        "100.0\u00a0% of the calls' GPU-seconds are measured, 0.0\u00a0% estimated; "
        "1 call with 110 tokens without a price, not in the cost."
    )


def test_the_address_holds_the_view(app: AppTest) -> None:
    app.query_params["period"] = "2026-09"
    app.query_params["by"] = "team"
    app.query_params["zone"] = "Asia/Tokyo"
    app.run()
    assert app.subheader[0].value == "Cost of inference, 2026-09-01 to 2026-09-30 (Asia/Tokyo)"
    assert [box.value for box in app.selectbox[:3]] == ["2026-09", "team", "Asia/Tokyo"]


def test_a_range_of_days_includes_both_ends_and_is_compared_with_the_days_before(
    app: AppTest,
) -> None:
    app.query_params.update({"period": "days", "from": "2026-10-01", "to": "2026-10-02"})
    app.run()
    assert app.subheader[0].value == "Cost of inference, 2026-10-01 to 2026-10-02 (UTC)"
    assert metrics(app)["Cost"] == "7.20 USD"


def test_days_without_calls_show_what_was_provisioned(app: AppTest) -> None:
    app.query_params.update({"period": "days", "from": "2026-10-10", "to": "2026-10-12"})
    app.run()
    assert not app.exception
    # Three hours at 3.60.
    assert metrics(app)["Cost"] == metrics(app)["Idle"] == "10.80 USD"
    assert texts(app)[0] == "No call was made; the cost is that of provisioned GPUs."


def test_days_that_end_before_they_begin_are_refused_in_words(app: AppTest) -> None:
    app.query_params.update({"period": "days", "from": "2026-10-09", "to": "2026-10-02"})
    app.run()
    assert not app.exception
    assert app.subheader[0].value == "This view cannot be shown"


def test_a_filter_shows_its_calls_alone(app: AppTest) -> None:
    app.query_params["only_endpoint"] = "/chat"
    app.run()
    assert metrics(app)["Cost"] == "0.10 USD"
    assert metrics(app)["Idle"] == "–"


def test_a_month_before_that_begins_late_is_nothing_to_compare_with(app: AppTest) -> None:
    app.run()
    assert "Nothing to compare with: no calls here cover a period before from its start." in texts(
        app
    )
    assert [metric.delta for metric in app.metric[:3]] == ["", "", ""]


def test_names_are_shown_as_text(app: AppTest) -> None:
    app.run()
    assert [element.value for element in app.markdown] == []
    labels = app.dataframe[0].value["label"].to_list()
    assert labels == ["idle", "/chat", NASTY_NAME, "unattributed"]


HOLD_LEDGER = """
import sys
from pathlib import Path
from dashboard.view import NO_TIMES
from ingest.config import load_configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

with open_for_writing(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def page(app: AppTest, page_run: PageOf) -> PageOf:
    """A function that runs one page on the small ledger."""
    return page_run


def test_the_lines_of_the_law_add_up_to_the_total_below_them(page: PageOf) -> None:
    table = page("endpoints").dataframe[0].value
    lines, total = table["cost"][:-1].dropna(), table["cost"].iloc[-1]
    assert table["label"].to_list()[-2:] == ["unpriced", "total"]
    assert (float(sum(lines)), float(total)) == (111.60, 111.60)
    assert table["N"].to_list()[-1] == 4


def test_days_without_calls_have_an_idle_line_and_a_total(page: PageOf) -> None:
    opened = page("endpoints", period="days", **{"from": "2026-10-10", "to": "2026-10-12"})
    assert not opened.exception
    table = opened.dataframe[0].value
    assert table["label"].to_list() == ["idle (a)", "total"]
    assert [float(cost) for cost in table["cost"]] == [10.80, 10.80]
    assert any("no calls with origin=production" in text for text in texts(opened))


def test_a_line_opens_its_calls(page: PageOf) -> None:
    opened = page("endpoints", line=NASTY_NAME)
    assert not opened.exception
    assert "Showing 1 of 1 calls" in texts(opened)
    assert opened.dataframe[1].value["call_id"].size == 1


def test_the_line_of_calls_without_an_endpoint_opens_those(page: PageOf) -> None:
    opened = page("endpoints", line="unattributed")
    assert opened.dataframe[1].value["endpoint"].isna().to_list() == [True]


def test_the_calls_without_a_price_say_why(page: PageOf) -> None:
    opened = page("endpoints", line="unpriced")
    assert "Showing 1 of 1 calls" in texts(opened)
    assert opened.dataframe[1].value["unpriced_reason"].to_list() == [
        "neither a pool nor a price by the token is known for its model"
    ]


def test_a_trace_of_the_address_is_drawn(page: PageOf) -> None:
    opened = page("traces", trace="trace1001")
    assert not opened.exception
    assert "Showing 4 of 4 traces; choose one below" in texts(opened)
    assert "1 call among 1 span: 100 in, 10 out tokens, 100 GPU-seconds, 0.100 USD" in texts(opened)


@pytest.mark.parametrize(
    ("name", "key", "asked", "sentence"),
    [
        ("overview", "period", "2027-01", "period 2027-01, which has no data; showing 2026-10"),
        ("overview", "by", "planet", "by planet, which is not known; showing endpoint"),
        ("endpoints", "line", "/x", "line /x, which has no calls here; showing choose a line"),
        ("traces", "trace", "nosuch", "trace nosuch, which the ledger does not have"),
    ],
)
def test_what_the_address_asks_for_in_vain_is_said(
    page: PageOf, name: str, key: str, asked: str, sentence: str
) -> None:
    opened = page(name, **{key: asked})
    assert not opened.exception
    assert f"The address asks for {sentence}" in texts(opened)


def test_what_was_asked_in_vain_is_said_until_another_value_is_chosen(app: AppTest) -> None:
    app.query_params["period"] = "2027-01"
    app.run()
    sentence = "The address asks for period 2027-01, which has no data; showing 2026-10"
    app.selectbox(key="by").select("team").run()
    assert sentence in texts(app)
    app.selectbox(key="period").select("2026-09").run()
    assert not [text for text in texts(app) if "The address asks for" in text]


@pytest.mark.parametrize("asked", ["2026-13-45", "soon", "1969-12-31", "20261001"])
def test_a_day_that_is_none_is_said_until_another_is_chosen(app: AppTest, asked: str) -> None:
    app.query_params.update({"period": "days", "from": asked, "to": "2026-10-02"})
    app.run()
    sentence = (
        f"The address asks for from {asked}, which is no day from 1970 on, such as 2026-10-01; "
        "showing 2026-10-01"
    )
    assert sentence in texts(app)
    app.selectbox(key="by").select("team").run()
    assert sentence in texts(app)
    app.date_input(key="from").set_value(date(2026, 10, 2)).run()
    assert not [text for text in texts(app) if "The address asks for" in text]


def test_a_missing_ledger_says_how_to_make_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "none.duckdb"))
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)
    app = AppTest.from_file(str(SCRIPT), default_timeout=RUN_TIMEOUT_S).run()
    assert not app.exception
    assert app.subheader[0].value == "There is no ledger yet"
    assert "gpuledger ingest PATH" in app.code[0].value


def test_a_ledger_that_is_being_written_asks_to_try_again(
    small: Any, app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "busy.duckdb"
    shutil.copy(small.ledger, copy)
    monkeypatch.setenv(LEDGER_VARIABLE, str(copy))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LEDGER, str(copy)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"held\n"
        app.run()
        assert not app.exception
        assert app.subheader[0].value == "The ledger is being written"
        writer.communicate(b"\n")
    app.button[0].click().run()
    assert metrics(app)["Cost"] == "111.60 USD"


def test_an_empty_ledger_says_how_to_fill_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_for_writing(tmp_path / "empty.duckdb").close()
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "empty.duckdb"))
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)
    app = AppTest.from_file(str(SCRIPT), default_timeout=RUN_TIMEOUT_S).run()
    assert not app.exception
    assert app.subheader[0].value == "The ledger has no calls here"
    assert "gpuledger ingest PATH" in app.code[0].value


def test_a_wrong_configuration_is_named(
    small: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = tmp_path / "gpuledger.toml"
    wrong.write_text('curency = "USD"', "utf-8")
    monkeypatch.setenv(LEDGER_VARIABLE, str(small.ledger))
    monkeypatch.setenv(CONFIG_VARIABLE, str(wrong))
    app = AppTest.from_file(str(SCRIPT), default_timeout=RUN_TIMEOUT_S).run()
    assert "did you mean 'currency'?" in texts(app)[0]
