"""What a reader does, in a real Chromium, on the sample data."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

OpenPage = Callable[..., Any]
FIRST_CHECKBOX_PX = (18, 52)
"""Where the checkbox of a table's first row is, from its upper left corner."""


@pytest.fixture(scope="module")
def bill(sample: Any, run_command: Callable[..., str]) -> Callable[[str, str], str]:
    """A function that gives the total of `ask law` over a month, as a page writes it."""

    def total(month: str, month_after: str) -> str:
        printed = run_command(
            "ask", "law", "--by", "endpoint", "--since", month, "--until", month_after,
            "--format", "json", "--ledger", str(sample.ledger), "--config", str(sample.config),
        )  # fmt: skip
        lines = json.loads(printed, parse_float=Decimal)
        costs = [line["cost"] for line in lines if line["cost"] is not None]
        return f"{round(sum(costs, Decimal(0)), 2):,} USD"

    return total


def first_number(page: Any) -> str:
    """The cost on the overview."""
    page.get_by_text("Cost by day and").first.wait_for()
    return str(page.get_by_test_id("stMetricValue").first.inner_text())


def choose_first_row(page: Any, label: str) -> None:
    """Tick the first row of the table that is called `label`."""
    table = page.get_by_test_id("stDataFrame").filter(has=page.get_by_label(label, exact=True))
    box = table.last.bounding_box()
    across, down = FIRST_CHECKBOX_PX
    page.mouse.click(box["x"] + across, box["y"] + down)


def test_the_cost_on_the_first_page_is_that_of_ask_law(
    served: str, page_of: OpenPage, bill: Callable[[str, str], str]
) -> None:
    page = page_of()
    page.goto(served)
    assert first_number(page) == bill("2026-10", "2026-11")


def test_a_view_travels_in_its_address(
    served: str, page_of: OpenPage, bill: Callable[[str, str], str]
) -> None:
    page = page_of()
    page.goto(f"{served}/?period=2026-09&by=team")
    assert first_number(page) == bill("2026-09", "2026-10")
    page.get_by_role("link", name="Endpoints").click()
    page.get_by_text("The law by team, 2026-09-01 to 2026-09-30").wait_for()
    assert parse_qs(urlsplit(page.url).query) == {"by": ["team"], "period": ["2026-09"]}


def test_a_period_without_data_in_the_address_is_told(served: str, page_of: OpenPage) -> None:
    page = page_of()
    page.goto(f"{served}/?period=2027-01")
    first_number(page)
    page.wait_for_load_state("networkidle")
    sentence = "The address asks for period 2027-01, which has no data; showing 2026-10"
    assert page.get_by_text(sentence).count() == 1


def test_from_an_endpoint_to_its_calls_to_the_waterfall_of_one(
    served: str, page_of: OpenPage
) -> None:
    page = page_of()
    page.goto(f"{served}/endpoints?line=/agent/run")
    page.get_by_text("Showing 500 of").wait_for()
    choose_first_row(page, "Calls")
    page.get_by_text("One trace").wait_for()
    page.locator(".js-plotly-plot").get_by_text("decode").wait_for()
    assert page.locator(".js-plotly-plot").get_by_text("GPU-s,").count() > 0


def test_a_trace_that_is_chosen_stays_chosen_when_the_page_is_loaded_again(
    served: str, page_of: OpenPage
) -> None:
    page = page_of()
    page.goto(f"{served}/traces?only_endpoint=/agent/run")
    page.get_by_text("traces; choose one below").wait_for()
    choose_first_row(page, "Traces")
    page.get_by_text("One trace").wait_for()
    page.wait_for_url("**trace=*")
    page.reload()
    page.locator(".js-plotly-plot").get_by_text("execute_tool").first.wait_for()


def test_a_choice_goes_into_the_address(served: str, page_of: OpenPage) -> None:
    page = page_of()
    page.goto(served)
    first_number(page)
    page.get_by_role("combobox", name="Lines by").click()
    page.get_by_role("option", name="model").click()
    page.get_by_text("Cost by day and model").wait_for()
    page.wait_for_url("**by=model**")


def test_nothing_is_asked_of_another_host(served: str, page_of: OpenPage) -> None:
    page = page_of()
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    for path in ("", "/endpoints?line=/chat", "/traces"):
        page.goto(served + path)
        page.wait_for_load_state("networkidle")
    assert hosts - {None} == {"127.0.0.1"}


def test_a_phone_shows_the_cost_without_scrolling_sideways(served: str, page_of: OpenPage) -> None:
    page = page_of(390)
    page.goto(served)
    first_number(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_ingest_can_write_while_the_dashboard_is_open(
    served: str, sample: Any, page_of: OpenPage, run_command: Callable[..., str]
) -> None:
    page = page_of()
    page.goto(served)
    cost = first_number(page)
    run_command("check", "--ledger", str(sample.ledger), "--config", str(sample.config))
    call = {
        "call_id": "late",
        "endpoint": "/late",
        "timing_source": "stream",
        "started_at": "2026-10-15T00:00:00Z",
        "ended_at": "2026-10-15T00:00:01Z",
    }
    late = sample.ledger.with_name("late.jsonl")
    late.write_text(json.dumps(call) + "\n", "utf-8")
    run_command("ingest", str(late), "--ledger", str(sample.ledger), "--config", str(sample.config))
    page.reload()
    assert first_number(page) == cost
    page.get_by_text("34 calls with").wait_for()


def test_a_table_is_downloaded_whole_and_guarded_and_in_no_other_way(
    served: str, page_of: OpenPage
) -> None:
    page = page_of()
    page.goto(f"{served}/endpoints")
    button = page.get_by_role("button", name="Download: The law by endpoint")
    button.wait_for()
    with page.expect_download() as download:
        button.click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert download.value.suggested_filename == "gpuledger-law.csv"
    assert lines[0].startswith("label,cost,currency,share_ratio,N,")
    assert lines[-1].startswith("total,245.310,USD,")
    page.get_by_test_id("stDataFrame").first.hover()
    assert not page.get_by_role("button", name="Download as CSV").is_visible()
