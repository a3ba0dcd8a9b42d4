"""`gpuledger report` writes the figures of `ask law`, or says why it cannot."""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

S = 1_000_000_000
OCTOBER = 1_790_812_800 * S  # 2026-10-01T00:00:00Z
DAY = 86_400 * S
CONFIGURATION = """
timezone = "UTC"

[[pools]]
name = "a"
replicas = 1
price_per_gpu_hour = "3.60"
schedule = ["mon-sun 00:00-01:00"]
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuledger.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def call(name: str, at: int, **columns: Any) -> dict[str, Any]:
    """Three seconds on a GPU whose second costs a thousandth of a dollar."""
    return {
        "call_id": name,
        "endpoint": "=1+1",
        "team": "@search",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": at,
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 3 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name a ledger with calls in September and October."""
    folder = tmp_path_factory.mktemp("report")
    calls = [
        call("before", OCTOBER - 30 * DAY),
        *[call(f"{day}", OCTOBER + day * DAY) for day in range(20)],
        call("x", OCTOBER + 5 * DAY + 60 * S, endpoint="/b", team=None),
    ]
    (folder / "calls.jsonl").write_text("".join(json.dumps(one) + "\n" for one in calls), "utf-8")
    (folder / "gpuledger.toml").write_text(CONFIGURATION, "utf-8")
    options = [
        "--ledger", str(folder / "l.duckdb"), "--config", str(folder / "gpuledger.toml"),
    ]  # fmt: skip
    done = run("ingest", str(folder / "calls.jsonl"), *options)
    assert done.returncode == 0, done.stderr
    return options


def test_the_workbook_has_the_lines_of_ask_law_to_the_cent(
    where: list[str], tmp_path: Path
) -> None:
    done = run("report", "--month", "2026-10", "--out", str(tmp_path), *where)
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.split()] == [
        "gpuledger-2026-10.xlsx",
        "gpuledger-2026-10.html",
    ]
    asked = run(
        "ask", "law", "--since", "2026-10", "--until", "2026-11", "--format", "json", *where
    )
    law = [Decimal(str(line["cost"])) for line in json.loads(asked.stdout)]
    sheet = load_workbook(tmp_path / "gpuledger-2026-10.xlsx", data_only=True)["Endpoints"]
    labels, costs = ([cell.value for cell in sheet[column]] for column in ("A", "D"))
    # 31 hours at 3.60 are 111.60; twenty calls are 0.06 and one is 0.003.
    assert labels == ["Endpoint", "idle (a)", "=1+1", "/b", "Total"]
    assert costs == ["Cost (USD)", 111.54, 0.06, 0, 111.60]
    assert sum(law) == Decimal("111.60")


def test_every_table_adds_up_to_the_same_bill(where: list[str], tmp_path: Path) -> None:
    run("report", "--month", "2026-10", "--out", str(tmp_path), *where)
    book = load_workbook(tmp_path / "gpuledger-2026-10.xlsx", data_only=True)
    totals = [book["Endpoints"]["D5"], book["Teams"]["D5"], book["Days"]["F33"]]
    assert [cell.value for cell in totals] == [111.60, 111.60, 111.60]
    days = [book["Days"][f"F{row}"].value for row in range(2, 33)]
    assert round(sum(days), 2) == 111.60
    assert book["Summary"]["B4"].value == 111.60


def test_the_month_before_is_compared(where: list[str], tmp_path: Path) -> None:
    run("report", "--month", "2026-10", "--out", str(tmp_path), "--format", "html", *where)
    page = (tmp_path / "gpuledger-2026-10.html").read_text("utf-8")
    assert "What moved since 2026-09" in page
    assert "Change of the cost" in page


def test_what_moved_is_told_by_endpoint_as_explain_tells_it(
    where: list[str], tmp_path: Path
) -> None:
    run("report", "--month", "2026-10", "--out", str(tmp_path), "--format", "html", *where)
    page = (tmp_path / "gpuledger-2026-10.html").read_text("utf-8")
    asked = run("explain", "--from", "2026-09", "--to", "2026-10", "--format", "json", *where)
    total = next(row for row in json.loads(asked.stdout) if row["line"] == "total")
    # One call of a known endpoint became twenty; the call of /b has no letter, it is new.
    assert round(total["N_effect"], 3) == 0.057
    assert "Effect on C, summed over endpoints, USD" in page
    assert "<td>+0.06</td>" in page
    assert "lines that are new" in page


def test_the_first_month_has_nothing_to_compare_with(where: list[str], tmp_path: Path) -> None:
    run("report", "--month", "2026-09", "--out", str(tmp_path), "--format", "html", *where)
    page = (tmp_path / "gpuledger-2026-09.html").read_text("utf-8")
    assert "Nothing to compare with: no calls cover 2026-08 from its start." in page


def test_the_same_month_twice_gives_the_same_bytes(where: list[str], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        out = str(tmp_path / folder)
        run("report", "--month", "2026-10", "--out", out, "--format", "xlsx,html,csv", *where)
    one, two = ([*sorted((tmp_path / name).iterdir())] for name in ("one", "two"))
    assert len(one) == 7
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_a_month_without_calls_is_a_report_of_its_idle_time(
    where: list[str], tmp_path: Path
) -> None:
    done = run("report", "--month", "2026-12", "--out", str(tmp_path), "--format", "html,xlsx",
               *where)  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "gpuledger-2026-12.html").read_text("utf-8")
    # 31 hours at 3.60.
    assert "<dd>111.60 USD" in page
    assert "No call was made; the cost is that of provisioned GPUs." in page
    assert "22 calls reach from 2026-09-01" in page
    book = load_workbook(tmp_path / "gpuledger-2026-12.xlsx", data_only=True)
    assert [row[0] for row in book["Endpoints"].values][1:] == ["idle (a)", "Total"]


def test_a_month_without_data_is_said_and_nothing_is_written(
    where: list[str], tmp_path: Path
) -> None:
    done = run("report", "--month", "1969-01", "--out", str(tmp_path / "none"), *where)
    assert done.returncode == 4
    assert "no calls" in done.stderr
    assert "the ledger's 22 calls reach from 2026-09-01" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--month", "2026-13"], "is no month; write it as 2026-10"),
        (["--month", "2026-10", "--tz", "Mars"], "time zone 'Mars' is unknown"),
        (["--month", "2026-10", "--format", "pdf"], "'pdf' is no format; known: xlsx, html, csv"),
    ],
)
def test_wrong_usage_is_named(
    where: list[str], tmp_path: Path, options: list[str], message: str
) -> None:
    done = run("report", "--out", str(tmp_path), *options, *where)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
