"""The monthly report as one HTML page that needs nothing else: no script, no request.

Owns the words of the page and how its cells are written. Refuses markup from the data: the
template escapes every value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.svg import effect_svg, legend_html, spend_svg
from dashboard.monthly.tables import Column, Table, summed
from dashboard.summary import trust_sentence
from dashboard.wording import (
    UNKNOWN,
    change_text,
    count_text,
    money_text,
    quantity_text,
    ratio_text,
    signed_money_text,
    small_decimal_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of the numbers that come first, with what stands beside it."""

    name: str
    text: str
    beside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the page: its text and the kind that aligns it."""

    text: str
    kind: str


def report_page(figures: MonthlyFigures) -> str:
    """The report of `figures` as one HTML document; the same figures, the same text."""
    currency = figures.summary.currency
    return _template().render(
        figures=figures,
        headline=headline(figures),
        trust=trust_sentence(figures.summary),
        moved=_moved_rows(figures.moved, currency),
        moved_total=_moved_total(figures.moved, currency),
        spend_svg=Markup(spend_svg(figures.spend)),  # noqa: S704 - our own SVG, its texts escaped
        spend_legend=Markup(legend_html(figures.spend)),  # noqa: S704 - our own list, its texts escaped
        tables=[_table(table, currency) for table in figures.tables()],
    )


def headline(figures: MonthlyFigures) -> list[Headline]:
    """The three numbers that come first: cost, GPU-seconds, idle."""
    summary = figures.summary
    change = change_text(summary.cost, figures.previous_cost)
    return [
        Headline(
            name="Cost",
            text=money_text(summary.cost, summary.currency),
            beside=f"{change} against {figures.previous_month}" if change else "all lines",
        ),
        Headline(
            name="GPU-seconds, idle included",
            text=quantity_text(summary.gpu_seconds),
            beside=f"{count_text(summary.calls_count)} calls",
        ),
        Headline(
            name="Idle",
            text=money_text(summary.idle_cost, summary.currency),
            beside=f"{ratio_text(summary.idle_ratio)} of the GPU-seconds",
        ),
    ]


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("dashboard.monthly").joinpath("page.html").read_text("utf-8")
    return environment.from_string(source)


def _moved_rows(moved: pl.DataFrame, currency: str) -> list[dict[str, Any]]:
    largest = max((abs(float(cost)) for cost in moved["effect_cost"]), default=0.0)
    return [
        {
            "name": row["name"],
            "before": quantity_text(row["before"]),
            "now": quantity_text(row["now"]),
            "bar": Markup(effect_svg(float(row["effect_cost"]), largest)),  # noqa: S704 - our own
            "effect": _effect_text(row["effect_cost"], currency),
        }
        for row in moved.iter_rows(named=True)
    ]


def _moved_total(moved: pl.DataFrame, currency: str) -> str:
    return _effect_text(sum(moved["effect_cost"], Decimal(0)), currency)


def _effect_text(cost: Decimal, currency: str) -> str:
    """The effect without its currency, which stands in the title."""
    return signed_money_text(cost, currency).removesuffix(f" {currency}")


def _table(table: Table, currency: str) -> dict[str, Any]:
    columns = [column for column in table.columns if column.is_on_page]
    totals = summed(table) if table.is_summed else {}
    return {
        "name": table.name,
        "titles": [Cell(text=column.title, kind=column.kind) for column in columns],
        "rows": [_row(columns, row, currency) for row in table.frame.iter_rows(named=True)],
        "totals": _totals_row(columns, totals, currency) if totals else None,
    }


def _row(columns: Sequence[Column], row: Mapping[str, Any], currency: str) -> list[Cell]:
    return [
        Cell(text=cell_text(row[column.key], column, currency), kind=column.kind)
        for column in columns
    ]


def _totals_row(columns: Sequence[Column], totals: Mapping[str, Any], currency: str) -> list[Cell]:
    rest = [
        Cell(
            text=cell_text(totals[column.key], column, currency) if column.key in totals else "",
            kind=column.kind,
        )
        for column in columns[1:]
    ]
    return [Cell(text="Total", kind="text"), *rest]


def cell_text(value: Any, column: Column, currency: str) -> str:
    """The text of one cell of the page, by the kind of its column; the unit is in its title."""
    if value is None:
        return UNKNOWN
    match column.kind:
        case "money":
            return money_text(value, currency).removesuffix(f" {currency}")
        case "price":
            return small_decimal_text(value) if isinstance(value, Decimal) else f"{value:,.4f}"
        case "ratio":
            return ratio_text(value)
        case "count":
            return count_text(value)
        case "quantity":
            return quantity_text(value)
        case "date":
            return value.isoformat() if isinstance(value, date) else str(value)
        case _:
            return str(value)
