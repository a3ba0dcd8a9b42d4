"""One line has one amount on every surface: printed table, page, workbook, HTML, CSV."""

import re
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from io import BytesIO
from typing import Any

import polars as pl
import pytest
from openpyxl import load_workbook

from analysis.law import law
from analysis.window import Window
from dashboard.comparison import compared_lines
from dashboard.lines import labelled_with_pool
from dashboard.monthly.documents import table_csv
from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.gather import monthly_figures
from dashboard.monthly.page import report_page
from dashboard.monthly.workbook import workbook_bytes
from dashboard.tables import TOTAL_LABEL, law_table
from ingest.config import load_configuration
from ingest.ledger import open_for_reading

MONTHS = {"2026-09": "2026-10", "2026-10": "2026-11"}
COMMAND = (sys.executable, "-m", "gpuledger.main", "ask", "law")
Amounts = dict[str, Decimal]


def by_label(pairs: Iterable[tuple[str, Any]]) -> Amounts:
    """Label to cost; a team that pays by the GPU and by the token has two lines."""
    found: Amounts = {}
    for label, cost in pairs:
        found[label] = found.get(label, Decimal(0)) + amount(cost)
    return found


def amount(text: Any) -> Decimal:
    return round(Decimal(str(text).replace(",", "")), 2)


def printed(sample: Any, by: str, month: str) -> Amounts:
    """Label to cost of `ask law` as a table; idle time by its pool."""
    asked = ["--by", by, "--since", month, "--until", MONTHS[month]]
    files = ["--ledger", str(sample.ledger), "--config", str(sample.config)]
    done = subprocess.run(
        [*COMMAND, *asked, *files], capture_output=True, text=True, check=True, timeout=300
    )
    rows = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines() if "  " in line]
    header = next(row for row in rows if row[0] == "line")
    found = []
    for cells in rows[rows.index(header) + 1 :]:
        row = dict(zip(header, cells, strict=False))
        if row.get("currency") == "USD":
            label = {"idle": f"idle ({row['pool']})", "calls": row[by]}.get(
                row["line"], row["line"]
            )
            found.append((label, row["cost"]))
    return by_label(found)


def in_frame(frame: pl.DataFrame, column: str = "rounded_cost") -> Amounts:
    priced = frame.drop_nulls(column)
    return by_label(zip(priced["label"], priced[column], strict=True))


def in_workbook(figures: MonthlyFigures, sheet: str) -> Amounts:
    rows = load_workbook(BytesIO(workbook_bytes(figures)), data_only=True)[sheet].values
    header = next(rows)
    at = header.index("Cost (USD)")
    return by_label((row[0], row[at]) for row in rows if row[at] is not None)


def in_page(figures: MonthlyFigures, table: str) -> Amounts:
    page = report_page(figures)
    section = page[page.index(f">{table}<") :]
    rows = re.findall(r"<tr.*?</tr>", section[: section.index("</table>")], re.DOTALL)
    cells = [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, 16)]
        for row in rows
    ]
    at = cells[0].index("Cost (USD)")
    return by_label((row[0], row[at]) for row in cells[1:] if re.search(r"\d", row[at]))


@pytest.mark.parametrize("by", ["endpoint", "team", "model"])
@pytest.mark.parametrize("month", MONTHS)
def test_a_line_has_one_amount_on_every_surface(sample: Any, by: str, month: str) -> None:
    configuration = load_configuration(sample.config)
    zone = configuration.timezone
    with open_for_reading(sample.ledger) as ledger:
        frame = law(ledger, configuration, by=(by,), window=Window.month(month, zone)).frame
        figures = monthly_figures(ledger, configuration, month, zone)
    expected = printed(sample, by, month)
    total = expected.pop(TOTAL_LABEL)
    assert sum(expected.values()) == total
    on_page = in_frame(law_table(frame, by), "cost")
    assert on_page == {**expected, TOTAL_LABEL: total}
    side_by_side = in_frame(compared_lines(frame, None, by, "USD"), "cost")
    assert sum(side_by_side.values()) == total
    assert (
        side_by_side.items()
        >= {label: cost for label, cost in expected.items() if not label.startswith("idle")}.items()
    )
    sheet = {"endpoint": "Endpoints", "team": "Teams"}.get(by)
    if sheet is not None:
        (table,) = [table for table in figures.tables() if table.name == sheet]
        assert in_frame(table.frame) == expected
        assert in_workbook(figures, sheet) == {**expected, "Total": total}
        assert in_page(figures, sheet) == {**expected, "Total": total}
        assert in_frame(pl.read_csv(table_csv(table).encode(), infer_schema=False)) == expected


def test_idle_time_of_a_month_is_one_amount_however_its_calls_are_grouped(sample: Any) -> None:
    configuration = load_configuration(sample.config)
    window = Window.month("2026-10", configuration.timezone)
    with open_for_reading(sample.ledger) as ledger:
        frames = [
            labelled_with_pool(law(ledger, configuration, by=(by,), window=window).frame, (by,))
            for by in ("endpoint", "team", "model", "operation")
        ]
    found = [
        in_frame(law_table(frame, by), "cost")
        for frame, by in zip(frames, ("endpoint", "team", "model", "operation"), strict=True)
    ]
    assert {amounts["idle (rag-l4)"] for amounts in found} == {Decimal("48.22")}
