"""The workbook's totals can be computed again from its cells, and no text becomes a formula."""

from dataclasses import replace
from io import BytesIO
from typing import Any

import polars as pl
import pytest
from openpyxl import load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.workbook import workbook_bytes

HOSTILE_NAMES = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "two\nlines", "＝1+1", "/x" * 500,
    "\u202eevil\u202c", "\u05e9\u05dc\u05d5\u05dd", "🚀 /chat", "{=1+1}", "http://h/x", "1e5",
)  # fmt: skip
FORMULA_NAME = "=cmd|'/c calc'!A0"


def sheet_of(figures: MonthlyFigures, name: str, *, formulas: bool = False) -> Worksheet:
    return load_workbook(BytesIO(workbook_bytes(figures)), data_only=not formulas)[name]


def column(sheet: Worksheet, title: str) -> list[Any]:
    titles = [cell.value for cell in sheet[1]]
    return [row[titles.index(title)].value for row in sheet.iter_rows(min_row=2)]


def test_there_is_one_sheet_a_table_in_a_fixed_order(figures: MonthlyFigures) -> None:
    assert load_workbook(BytesIO(workbook_bytes(figures))).sheetnames == [
        "Summary",
        "Endpoints",
        "Teams",
        "Days",
        "Idle and unpriced",
        "Data quality",
    ]


@pytest.mark.parametrize("name", ["Endpoints", "Teams"])
def test_the_lines_add_up_to_the_total_to_the_cent(figures: MonthlyFigures, name: str) -> None:
    *lines, total = column(sheet_of(figures, name), "Cost (USD)")
    assert [line for line in lines if line is not None] == [50.00, 20.00, 12.35, 10.00]
    assert round(sum(line or 0 for line in lines), 2) == total == 92.35


def test_the_days_add_up_to_the_same_total(figures: MonthlyFigures) -> None:
    assert column(sheet_of(figures, "Days"), "Cost (USD)") == [52.35, 40.00, 92.35]


def test_totals_are_formulas_over_the_rows_above_them(figures: MonthlyFigures) -> None:
    assert column(sheet_of(figures, "Endpoints", formulas=True), "Cost (USD)")[-1] == "=SUM(D2:D6)"


def test_the_law_is_a_formula_whose_operands_give_its_cached_value(
    figures: MonthlyFigures,
) -> None:
    formulas = sheet_of(figures, "Endpoints", formulas=True)
    assert column(formulas, "p·N·(Tp+L·Td)/B (USD)")[0] == "=G2/3600*F2*(H2+I2*J2)/K2"
    values = [cell.value for cell in sheet_of(figures, "Endpoints")[2]]
    count, price, prefill_s, tokens, decode_s, batch = (values[i] for i in (5, 6, 7, 8, 9, 10))
    assert price / 3600 * count * (prefill_s + tokens * decode_s) / batch == pytest.approx(50.0)
    assert values[16] == pytest.approx(50.0)


def test_the_summary_refers_to_the_tables_and_carries_their_values(
    figures: MonthlyFigures,
) -> None:
    formulas = sheet_of(figures, "Summary", formulas=True)
    values = sheet_of(figures, "Summary")
    assert [cell.value for cell in formulas[4]][:2] == ["Cost", "='Endpoints'!D7"]
    assert [cell.value for cell in values[4]][:2] == ["Cost", 92.35]
    assert formulas["B5"].value == "=SUMIF('Endpoints'!B2:B6,\"idle\",'Endpoints'!D2:D6)"
    assert values["B5"].value == 20.00
    assert formulas["B7"].value == "=B4/B6-1"
    assert values["B7"].value == pytest.approx(0.25)


def test_a_name_that_looks_like_a_formula_is_a_text(figures: MonthlyFigures) -> None:
    sheet = sheet_of(figures, "Endpoints", formulas=True)
    cell = next(row[0] for row in sheet.iter_rows(min_row=2) if row[0].value == FORMULA_NAME)
    assert cell.data_type == "s"
    found = sheet_of(figures, "Data quality", formulas=True)["B2"]
    assert (found.value, found.data_type) == ("=1+1", "s")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_whole_texts(figures: MonthlyFigures, name: str) -> None:
    hostile = figures.endpoints.with_columns(label=pl.lit(name))
    sheet = sheet_of(replace(figures, endpoints=hostile), "Endpoints", formulas=True)
    assert (sheet["A2"].value, sheet["A2"].data_type, sheet["A2"].hyperlink) == (name, "s", None)


def test_a_name_too_long_for_a_cell_is_cut_with_a_sign_of_it(figures: MonthlyFigures) -> None:
    endless = figures.endpoints.with_columns(label=pl.lit("x" * 40_000))
    cell = sheet_of(replace(figures, endpoints=endless), "Endpoints")["A2"]
    assert cell.value == "x" * 32_766 + "…"


def test_what_is_not_known_is_an_empty_cell(figures: MonthlyFigures) -> None:
    unpriced = [cell.value for cell in sheet_of(figures, "Endpoints")[6]]
    assert unpriced[0] == "unpriced"
    assert unpriced[3] is None
    assert unpriced[4] is None


def test_headers_stay_in_view(figures: MonthlyFigures) -> None:
    assert sheet_of(figures, "Endpoints").freeze_panes == "B2"


def test_the_same_figures_give_the_same_bytes(figures: MonthlyFigures) -> None:
    assert workbook_bytes(figures) == workbook_bytes(figures)
