"""One table as one sheet: frozen header, number formats, live formulas with cached values.

Owns how a cell is written. Refuses to let a text become a formula, a link or a number.
"""

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from dashboard.monthly.tables import Column, Kind, Table, summed

SAFE_WORKBOOK_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
HEADER_HEIGHT_POINTS = 32
MOST_LETTERS = 32_767
WIDTHS: Mapping[Kind, int] = {
    "text": 26,
    "count": 14,
    "quantity": 14,
    "money": 14,
    "price": 14,
    "ratio": 10,
    "date": 12,
}


class Styles:
    """The formats of one workbook: a cell and a total for each kind of column."""

    def __init__(self, workbook: Workbook, money_decimals: int) -> None:
        cents = "#,##0" + ("." + "0" * money_decimals if money_decimals else "")
        numbers: Mapping[Kind, str] = {
            "text": "@",
            "count": "#,##0",
            "quantity": "#,##0.0000",
            "money": cents,
            "price": "#,##0.0000",
            "ratio": "0.0%",
            "date": "yyyy-mm-dd",
        }
        self.header: Format = workbook.add_format(
            {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "bg_color": "#eef1f5"}
        )
        self.cells = {k: workbook.add_format({"num_format": n}) for k, n in numbers.items()}
        self.totals = {
            k: workbook.add_format({"num_format": n, "bold": True, "top": 1})
            for k, n in numbers.items()
        }


def write_sheet(workbook: Workbook, table: Table, styles: Styles) -> None:
    """`table` as a sheet of its name: header in row 1, rows from 2, totals below."""
    sheet = workbook.add_worksheet(table.name)
    sheet.freeze_panes(1, 1)
    sheet.set_row(0, HEADER_HEIGHT_POINTS)
    for index, column in enumerate(table.columns):
        sheet.set_column(index, index, WIDTHS[column.kind])
        sheet.write_string(0, index, column.title, styles.header)
    for row_index, row in enumerate(table.frame.iter_rows(named=True), start=1):
        _write_row(sheet, row_index, row, table, styles)
    if table.is_summed:
        _write_totals(sheet, table, styles)


def total_address(table: Table, key: str) -> str:
    """The address of the total of column `key`, from any sheet: "'Endpoints'!P9"."""
    return f"'{table.name}'!{_letters(table, key)}{table.frame.height + 2}"


def range_address(table: Table, key: str) -> str:
    """The address of the rows of column `key`, from any sheet: "'Endpoints'!P2:P8"."""
    letters = _letters(table, key)
    return f"'{table.name}'!{letters}2:{letters}{table.frame.height + 1}"


def write_value(sheet: Worksheet, at: tuple[int, int], value: Any, style: Format) -> None:
    """One value in one cell; a text stays a text whatever it begins with, unknown is blank."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        sheet.write_blank(*at, None, style)
    elif isinstance(value, date):
        sheet.write_datetime(*at, value, style)
    elif isinstance(value, bool):
        sheet.write_string(*at, "yes" if value else "no", style)
    elif isinstance(value, int | float | Decimal):
        sheet.write_number(*at, float(value), style)
    else:
        sheet.write_string(*at, _fitting(str(value)), style)


def _fitting(text: str) -> str:
    """`text` as one cell holds it: XlsxWriter leaves a longer one out without a word."""
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _write_row(
    sheet: Worksheet, row_index: int, row: Mapping[str, Any], table: Table, styles: Styles
) -> None:
    for index, column in enumerate(table.columns):
        style = styles.cells[column.kind]
        value = row[column.key]
        if column.formula is not None and _is_computable(column, row):
            formula = _placed(column.formula, row_index, table)
            sheet.write_formula(row_index, index, formula, style, float(value))
        else:
            write_value(sheet, (row_index, index), value, style)


def _is_computable(column: Column, row: Mapping[str, Any]) -> bool:
    operands = re.findall(r"\{([^}:]+)\}", column.formula or "")
    return row[column.key] is not None and all(row[key] is not None for key in operands)


def _placed(formula: str, row_index: int, table: Table) -> str:
    def address(match: re.Match[str]) -> str:
        key = match.group(1)
        if key.startswith("total:"):
            return f"{_letters(table, key.removeprefix('total:'))}{table.frame.height + 2}"
        return f"{_letters(table, key)}{row_index + 1}"

    return "=" + re.sub(r"\{([^}]+)\}", address, formula)


def _write_totals(sheet: Worksheet, table: Table, styles: Styles) -> None:
    totals = summed(table)
    last_row = table.frame.height + 1
    sheet.write_string(last_row, 0, "Total", styles.totals["text"])
    for index, column in enumerate(table.columns[1:], start=1):
        style = styles.totals[column.kind]
        total = totals.get(column.key)
        if total is None:
            sheet.write_blank(last_row, index, None, style)
        else:
            letters = _letters(table, column.key)
            formula = f"=SUM({letters}2:{letters}{last_row})"
            sheet.write_formula(last_row, index, formula, style, float(total))


def _letters(table: Table, key: str) -> str:
    keys = [column.key for column in table.columns]
    return str(xl_col_to_name(keys.index(key)))
