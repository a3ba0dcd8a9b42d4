"""Tables of a page: which columns, under which title with which unit, in which number format.

Owns the shapes and formats of the tables on the pages. Refuses to round a number: a format does,
and the download has it whole.
"""

from typing import Any

import polars as pl
import streamlit as st

from analysis.money import total_of
from analysis.trace_outline import Whole
from analysis.wording import counted
from dashboard.lines import labelled_with_pool, with_rounded_cost
from dashboard.rounding import decimals_of
from dashboard.wording import call_money_text, count_text, quantity_text

TOTAL_LABEL = "total"
COST_WIDTH_PX = 110
"""Room for 9,999.999999: a number that is too wide is cut at its left, where it matters most."""

SEEN_FIRST_PX = 1120
"""What a window of 1,280 pixels shows of a table without scrolling."""
LETTER_COLUMNS = ("N", "Tp_s", "L_tokens", "Td_s", "B", "price_per_gpu_hour")
SUM_COLUMNS = (
    "gpu_seconds",
    "prefill_gpu_seconds",
    "decode_gpu_seconds",
    "input_tokens",
    "output_tokens",
)


def law_table(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """The law's lines with rounded money, and the total that they add up to as the last row."""
    lines = with_rounded_cost(labelled_with_pool(frame, (by,)))
    shown = lines.select(
        "label",
        pl.col("rounded_cost").alias("cost"),
        "currency",
        "share_ratio",
        *LETTER_COLUMNS,
        *SUM_COLUMNS,
        "estimated_ratio",
        "basis",
    )
    return pl.concat([shown, *_totals(shown)], how="diagonal")


def _totals(lines: pl.DataFrame) -> list[pl.DataFrame]:
    """A row of totals for each currency; calls and GPU-seconds of all lines stand in one row.

    That is the total of the money where there is one currency, else a row of its own before them.
    """
    currencies = lines["currency"].drop_nulls().unique(maintain_order=True).to_list()
    known = [name for name in ("N", *SUM_COLUMNS) if lines[name].null_count() < lines.height]
    counts = {name: lines[name].sum() for name in known}
    bills = [
        {
            "label": TOTAL_LABEL,
            "currency": currency,
            "cost": total_of(lines.filter(pl.col("currency") == currency)["cost"].to_list()),
        }
        for currency in currencies
    ]
    of_all = {"label": TOTAL_LABEL, **counts}
    rows = [bills[0] | of_all] if len(bills) == 1 else [of_all, *bills]
    return [pl.DataFrame([row], schema={name: lines.schema[name] for name in row}) for row in rows]


def law_columns(by: str, currency: str) -> dict[str, Any]:
    """How the columns of `law_table` are shown: up to the letters they fit SEEN_FIRST_PX."""
    number = st.column_config.NumberColumn
    return {
        "label": st.column_config.TextColumn(by, pinned=True, width=190),
        "cost": number("cost", format=money_format(currency), width=COST_WIDTH_PX),
        "currency": st.column_config.TextColumn("currency", width=80),
        "share_ratio": number("share", format="percent", width=80),
        "N": number("N, calls", format="%,d", width=105),
        "Tp_s": number("Tp, s", format="%.4f", width=90),
        "L_tokens": number("L, tokens", format="%,.1f", width=100),
        "Td_s": number("Td, s/token", format="%.5f", width=100),
        "B": number("B, calls at once", format="%.2f", width=125),
        "price_per_gpu_hour": number("p, per GPU-hour", format="%.4f", width=130),
        "gpu_seconds": number("GPU-seconds", format="%,.1f"),
        "prefill_gpu_seconds": number("prefill GPU-s", format="%,.1f"),
        "decode_gpu_seconds": number("decode GPU-s", format="%,.1f"),
        "input_tokens": number("input tokens", format="%,d"),
        "output_tokens": number("output tokens", format="%,d"),
        "estimated_ratio": number("estimated", format="percent"),
        "basis": st.column_config.TextColumn("priced by"),
    }


def comparison_columns(by: str, previous_name: str | None, currency: str) -> dict[str, Any]:
    """How the columns of `comparison.compared_lines` are shown."""
    number = st.column_config.NumberColumn
    money = money_format(currency)
    return {
        "label": st.column_config.TextColumn(by, pinned=True),
        "cost": number(f"cost, {currency}", format=money),
        "share_ratio": st.column_config.ProgressColumn("share", format="percent", max_value=1),
        "cost_before": number(f"in {previous_name}, {currency}", format=money),
        "change": number(f"change, {currency}", format=money),
        "change_ratio": number("change", format="percent"),
    }


def calls_table(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of calls that a reader compares, in reading order."""
    return frame.select(
        _to_the_second(pl.coalesce("started_at", "arrived_at")).alias("started_at"),
        "endpoint",
        "team",
        "model",
        "status",
        "http_status",
        "cost",
        "currency",
        "gpu_seconds",
        "queue_s",
        "prefill_s",
        "decode_s",
        "e2e_s",
        "input_tokens",
        "cache_read_tokens",
        "output_tokens",
        "basis",
        "unpriced_reason",
        "timing_source",
        "trace_id",
        "call_id",
    )


def call_columns() -> dict[str, Any]:
    """How the columns of `calls_table` are shown."""
    number = st.column_config.NumberColumn
    return {
        "started_at": st.column_config.TextColumn("began"),
        "http_status": number("HTTP", format="%d"),
        "cost": number("cost", format="%.6f", width=COST_WIDTH_PX),
        "gpu_seconds": number("GPU-seconds", format="%,.3f"),
        "queue_s": number("queue, s", format="%.3f"),
        "prefill_s": number("prefill, s", format="%.3f"),
        "decode_s": number("decode, s", format="%.3f"),
        "e2e_s": number("end to end, s", format="%.3f"),
        "input_tokens": number("input tokens", format="%,d"),
        "cache_read_tokens": number("of which cached", format="%,d"),
        "output_tokens": number("output tokens", format="%,d"),
        "basis": st.column_config.TextColumn("priced by"),
        "unpriced_reason": st.column_config.TextColumn("why no price"),
        "timing_source": st.column_config.TextColumn("timing from"),
        "trace_id": st.column_config.TextColumn("trace"),
        "call_id": st.column_config.TextColumn("call"),
    }


def traces_table(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of an answer of `traces`, in reading order."""
    return frame.select(
        "endpoint",
        "team",
        _to_the_second(pl.col("started_at")),
        "cost",
        "currency",
        "gpu_seconds",
        "duration_s",
        "call_count",
        "failed_count",
        "trace_id",
    )


def trace_columns() -> dict[str, Any]:
    """How the columns of `traces_table` are shown."""
    number = st.column_config.NumberColumn
    return {
        "trace_id": st.column_config.TextColumn("trace"),
        "call_count": number("calls", format="%,d"),
        "failed_count": number("failed", format="%,d"),
        "started_at": st.column_config.TextColumn("began"),
        "duration_s": number("duration, s", format="%,.2f"),
        "gpu_seconds": number("GPU-seconds", format="%,.2f"),
        "cost": number("cost", format="%.6f", width=COST_WIDTH_PX),
    }


def spans_table(trace: pl.DataFrame) -> pl.DataFrame:
    """The spans of an answer of `trace`, with what their calls used and cost."""
    return trace.select(
        "depth",
        "name",
        "kind",
        "service",
        "status",
        "http_status",
        "at_s",
        "duration_s",
        "queue_s",
        "prefill_s",
        "decode_s",
        "gpu_seconds",
        "cost",
        "currency",
        "input_tokens",
        "output_tokens",
        "model",
        "replica",
        "unpriced_reason",
        "span_id",
    )


def span_columns() -> dict[str, Any]:
    """How the columns of `spans_table` are shown."""
    number = st.column_config.NumberColumn
    return call_columns() | {
        "at_s": number("begins at, s", format="%.4f"),
        "duration_s": number("duration, s", format="%.4f"),
        "span_id": st.column_config.TextColumn("span"),
    }


def trace_sentence(whole: Whole, currency: str) -> str:
    """What the calls of one trace come to, shown or not: how many, tokens, GPU-seconds, money."""
    money = [call_money_text(amount, name) for name, amount in whole.costs]
    tokens = f"{count_text(whole.input_tokens)} in, {count_text(whole.output_tokens)} out tokens"
    parts = [
        f"{counted(whole.call_count, 'call')} among {counted(whole.row_count, 'span')}: {tokens}",
        f"{quantity_text(whole.gpu_seconds)} GPU-seconds",
        *(money or [call_money_text(None, currency)]),
    ]
    if whole.unpriced_count:
        parts.append(f"{counted(whole.unpriced_count, 'call')} not priced or in part")
    return ", ".join(parts)


def unpriced_columns() -> dict[str, Any]:
    """How the columns of `remedies.with_remedies` are shown."""
    return {
        "call_count": st.column_config.NumberColumn("calls", format="%,d"),
        "reason": st.column_config.TextColumn("why no price"),
        "remedy": st.column_config.TextColumn("what to do"),
        "model": st.column_config.TextColumn("model"),
    }


def _to_the_second(instant: pl.Expr) -> pl.Expr:
    """An instant's RFC 3339 text without its zone, which stands in the heading, to the second."""
    return instant.str.slice(0, 19).str.replace("T", " ")


def money_format(currency: str) -> str:
    """The number format of an amount in `currency`, to its smallest unit."""
    return f"%,.{decimals_of(currency)}f"
