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

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.svg import Effect, effects_svg, legend_html, spend_svg
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

LETTER_NAMES = {
    "p": "p, price of a GPU-hour",
    "N": "N, calls",
    "Tp": "Tp, prefill s a call",
    "L": "L, output tokens a call",
    "Td": "Td, s an output token",
    "B": "B, calls at once per GPU",
}


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
    effects = [_effect(row, currency) for row in figures.moved.iter_rows(named=True)]
    return _template().render(
        figures=figures,
        headline=headline(figures),
        trust=trust_sentence(figures.summary),
        effects=effects,
        effects_svg=Markup(effects_svg(effects, "Effect of each letter on the cost")),  # noqa: S704 - our own SVG, its texts escaped
        moved=[_moved_row(row, currency) for row in figures.moved.iter_rows(named=True)],
        moved_total=signed_money_text(_sum(figures.moved, "effect_cost"), currency),
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


def _effect(row: Mapping[str, Any], currency: str) -> Effect:
    return Effect(
        name=LETTER_NAMES.get(row["letter"], row["letter"]),
        cost=float(row["effect_cost"]),
        text=signed_money_text(row["effect_cost"], currency),
    )


def _moved_row(row: Mapping[str, Any], currency: str) -> dict[str, str]:
    return {
        "name": LETTER_NAMES.get(row["letter"], row["letter"]),
        "before": quantity_text(row["before"]),
        "now": quantity_text(row["now"]),
        "effect": signed_money_text(row["effect_cost"], currency),
    }


def _sum(frame: Any, key: str) -> Decimal | None:
    return None if frame.is_empty() else frame[key].sum()


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
