"""The monthly report as a workbook: a sheet a table, and a summary that refers to them.

Owns the summary sheet. Refuses a figure that stands alone: where a table holds it, the summary
has a formula that reads it there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from io import BytesIO

from xlsxwriter.workbook import Workbook

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.sheets import (
    SAFE_WORKBOOK_OPTIONS,
    Styles,
    range_address,
    total_address,
    write_sheet,
    write_value,
)
from dashboard.monthly.tables import Kind, Table
from dashboard.rounding import decimals_of

SUMMARY_WIDTHS = (34, 22, 60)
FIXED_CREATION = datetime(2000, 1, 1)  # noqa: DTZ001 - the file format knows no zone


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One row of the summary: a name, its value, how it comes about, and a formula if it has."""

    name: str
    value: str | int | float | Decimal | None
    kind: Kind
    note: str = ""
    formula: str | None = None


def workbook_bytes(figures: MonthlyFigures) -> bytes:
    """The report of `figures` as the bytes of an .xlsx file; the same figures, the same bytes."""
    buffer = BytesIO()
    workbook = Workbook(buffer, {"in_memory": True, **SAFE_WORKBOOK_OPTIONS})
    workbook.set_properties({"title": _title(figures), "created": FIXED_CREATION})
    styles = Styles(workbook, decimals_of(figures.summary.currency))
    tables = figures.tables()
    _write_summary(workbook, figures, tables, styles)
    for table in tables:
        write_sheet(workbook, table, styles)
    workbook.close()
    return buffer.getvalue()


def summary_rows(figures: MonthlyFigures, tables: Mapping[str, Table]) -> list[SummaryRow]:
    """The rows of the summary, from what was spent to whether the tables agree."""
    return [*_spend_rows(figures, tables), *_work_rows(figures, tables), *_agreement_rows(tables)]


def _spend_rows(figures: MonthlyFigures, tables: Mapping[str, Table]) -> list[SummaryRow]:
    endpoints = tables["Endpoints"]
    total = total_address(endpoints, "rounded_cost")
    lines = range_address(endpoints, "line")
    costs = range_address(endpoints, "rounded_cost")
    change = None
    if figures.previous_cost and figures.summary.cost is not None:
        change = float(figures.summary.cost / figures.previous_cost - 1)
    return [
        SummaryRow(name="Window", value=figures.window_text, kind="text"),
        SummaryRow(name="Currency", value=figures.summary.currency, kind="text"),
        SummaryRow(
            name="Cost",
            value=figures.summary.cost,
            kind="money",
            formula=f"={total}",
            note="All lines, idle included",
        ),
        SummaryRow(
            name="of which idle",
            value=figures.summary.idle_cost,
            kind="money",
            formula=f'=SUMIF({lines},"idle",{costs})',
            note="Provisioned GPUs on which no call was in service",
        ),
        SummaryRow(
            name=f"Cost of {figures.previous_month}", value=figures.previous_cost, kind="money"
        ),
        SummaryRow(
            name="Change",
            value=change,
            kind="ratio",
            formula=None if change is None else "=B4/B6-1",
            note="Which letters moved stands on the report's page",
        ),
    ]


def _work_rows(figures: MonthlyFigures, tables: Mapping[str, Table]) -> list[SummaryRow]:
    endpoints = tables["Endpoints"]
    summary = figures.summary
    sums: tuple[tuple[str, str, int | float | None, Kind], ...] = (
        ("Calls", "N", summary.calls_count, "count"),
        ("Input tokens", "input_tokens", summary.input_tokens, "count"),
        ("Output tokens", "output_tokens", summary.output_tokens, "count"),
        ("GPU-seconds", "gpu_seconds", summary.gpu_seconds, "quantity"),
    )
    rows = [
        SummaryRow(name=name, value=value, kind=kind, formula=f"={total_address(endpoints, key)}")
        for name, key, value, kind in sums
    ]
    return [
        *rows,
        SummaryRow(
            name="Calls without a price",
            value=summary.unpriced_calls_count,
            kind="count",
            note="Not part of the cost",
        ),
        SummaryRow(
            name="Estimated share of GPU-seconds",
            value=summary.estimated_ratio,
            kind="ratio",
            note="Where the telemetry does not say when the first token came",
        ),
        *[SummaryRow(name="Note", value=note, kind="text") for note in figures.notes],
    ]


def _agreement_rows(tables: Mapping[str, Table]) -> list[SummaryRow]:
    endpoints = total_address(tables["Endpoints"], "rounded_cost")
    others = {
        "Teams": total_address(tables["Teams"], "rounded_cost"),
        "Days": total_address(tables["Days"], "cost"),
    }
    return [
        SummaryRow(
            name=f"Endpoints less {name}",
            value=0,
            kind="money",
            formula=f"=ROUND({endpoints}-{address},6)",
            note="0: the tables add up to the same cost",
        )
        for name, address in others.items()
    ]


def _write_summary(
    workbook: Workbook, figures: MonthlyFigures, tables: tuple[Table, ...], styles: Styles
) -> None:
    sheet = workbook.add_worksheet("Summary")
    sheet.freeze_panes(1, 1)
    for index, (title, width) in enumerate(
        zip((_title(figures), "Value", "What it is"), SUMMARY_WIDTHS, strict=True)
    ):
        sheet.set_column(index, index, width)
        sheet.write_string(0, index, title, styles.header)
    rows = summary_rows(figures, {table.name: table for table in tables})
    for row_index, row in enumerate(rows, start=1):
        sheet.write_string(row_index, 0, row.name, styles.cells["text"])
        style = styles.cells[row.kind]
        if row.formula is not None and row.value is not None:
            sheet.write_formula(row_index, 1, row.formula, style, float(row.value))
        else:
            write_value(sheet, (row_index, 1), row.value, style)
        sheet.write_string(row_index, 2, row.note, styles.cells["text"])


def _title(figures: MonthlyFigures) -> str:
    return f"Inference cost, {figures.month}"
