"""The tables of the report: which columns each has, under which title, of which kind.

Owns the list of tables and the order of their columns; every document writes the same ones.
Refuses to hold a figure: a table is a frame and a description of it.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import polars as pl

Kind = Literal["text", "count", "quantity", "money", "price", "ratio", "date"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: where it is read, what it is called, how it is written.

    `formula` recomputes the cell from others of its row, named by key in braces; `{total:key}`
    is the total of a column. `is_summed` columns have a total below them; the page, which is for
    reading, leaves out those that are not `is_on_page`.
    """

    key: str
    title: str
    kind: Kind
    formula: str | None = None
    is_summed: bool = False
    is_on_page: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the report; `name` is the sheet's name and the end of the file's name."""

    name: str
    columns: tuple[Column, ...]
    frame: pl.DataFrame

    @property
    def is_summed(self) -> bool:
        """Whether a row of totals stands below the rows."""
        return not self.frame.is_empty() and any(column.is_summed for column in self.columns)


LAW_FORMULA = "{price_per_gpu_hour}/3600*{N}*({Tp_s}+{L_tokens}*{Td_s})/{B}"


def law_table(name: str, group_title: str, frame: pl.DataFrame, currency: str) -> Table:
    """The law's lines: money first, then the letters it comes from, then a live formula of them."""
    columns = (
        Column(key="label", title=group_title, kind="text"),
        Column(key="line", title="Line", kind="text", is_on_page=False),
        Column(key="basis", title="Priced by", kind="text"),
        Column(key="rounded_cost", title=f"Cost ({currency})", kind="money", is_summed=True),
        Column(
            key="share_ratio",
            title="Share",
            kind="ratio",
            formula="{rounded_cost}/{total:rounded_cost}",
        ),
        Column(key="N", title="N (calls)", kind="count", is_summed=True),
        Column(key="price_per_gpu_hour", title=f"p ({currency}/GPU-h)", kind="price"),
        Column(key="Tp_s", title="Tp (s)", kind="quantity"),
        Column(key="L_tokens", title="L (tokens)", kind="quantity"),
        Column(key="Td_s", title="Td (s/token)", kind="quantity"),
        Column(key="B", title="B (calls/GPU)", kind="quantity"),
        Column(key="gpu_seconds", title="GPU-seconds", kind="quantity", is_summed=True),
        *_law_details(currency),
        Column(key="estimated_ratio", title="Estimated", kind="ratio"),
    )
    return Table(name=name, columns=columns, frame=frame)


def _law_details(currency: str) -> tuple[Column, ...]:
    summed_quantities: tuple[tuple[str, str, Kind], ...] = (
        ("prefill_gpu_seconds", "Prefill GPU-s", "quantity"),
        ("decode_gpu_seconds", "Decode GPU-s", "quantity"),
        ("input_tokens", "Input tokens", "count"),
        ("output_tokens", "Output tokens", "count"),
    )
    return (
        *[
            Column(key=key, title=title, kind=kind, is_summed=True, is_on_page=False)
            for key, title, kind in summed_quantities
        ],
        Column(
            key="law_cost",
            title=f"p·N·(Tp+L·Td)/B ({currency})",
            kind="price",
            formula=LAW_FORMULA,
            is_on_page=False,
        ),
    )


def days_table(frame: pl.DataFrame, currency: str) -> Table:
    """One row a day: calls, GPU-seconds and what the day cost, with and without idle."""
    columns = (
        Column(key="day", title="Day", kind="date"),
        Column(key="N", title="Calls", kind="count", is_summed=True),
        Column(key="gpu_seconds", title="GPU-seconds", kind="quantity", is_summed=True),
        Column(key="calls_cost", title=f"Calls ({currency})", kind="money", is_summed=True),
        Column(key="idle_cost", title=f"Idle ({currency})", kind="money", is_summed=True),
        Column(
            key="cost",
            title=f"Cost ({currency})",
            kind="money",
            formula="{calls_cost}+{idle_cost}",
            is_summed=True,
        ),
    )
    return Table(name="Days", columns=columns, frame=frame)


def idle_and_unpriced_table(frame: pl.DataFrame, currency: str) -> Table:
    """One row a pool with idle time, and one a model whose calls have no price."""
    columns = (
        Column(key="line", title="Line", kind="text"),
        Column(key="label", title="Pool or model", kind="text"),
        Column(key="N", title="Calls", kind="count", is_summed=True),
        Column(key="input_tokens", title="Input tokens", kind="count", is_summed=True),
        Column(key="output_tokens", title="Output tokens", kind="count", is_summed=True),
        Column(key="gpu_seconds", title="GPU-seconds", kind="quantity", is_summed=True),
        Column(key="price_per_gpu_hour", title=f"p ({currency}/GPU-h)", kind="price"),
        Column(key="rounded_cost", title=f"Cost ({currency})", kind="money", is_summed=True),
    )
    return Table(name="Idle and unpriced", columns=columns, frame=frame)


def plain_table(name: str, frame: pl.DataFrame) -> Table:
    """`frame` as it is: each column under its own name."""
    columns = tuple(
        Column(key=key, title=key.replace("_", " "), kind=_kind_of(kind))
        for key, kind in frame.schema.items()
    )
    return Table(name=name, columns=columns, frame=frame)


def _kind_of(kind: pl.DataType) -> Kind:
    if kind.is_integer():
        return "count"
    if kind.is_numeric():
        return "quantity"
    return "date" if kind == pl.Date else "text"


def summed(table: Table) -> dict[str, Decimal | float | None]:
    """The total of each summed column over its known values; None where none is known."""
    keys = [column.key for column in table.columns if column.is_summed]
    return {
        key: None if table.frame[key].null_count() == table.frame.height else table.frame[key].sum()
        for key in keys
    }
