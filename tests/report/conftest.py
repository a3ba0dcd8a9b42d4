"""One month's figures, small enough to be worked out by hand."""

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from dashboard.lines import labelled, with_rounded_cost
from dashboard.monthly.figures import MonthlyFigures
from dashboard.series import spend_by_day

FORMULA_NAME = "=cmd|'/c calc'!A0"
SCRIPT_NAME = '<script>alert("x")</script>'
LAW_SCHEMA: dict[str, Any] = {
    "line": pl.String,
    "basis": pl.String,
    "N": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "price_per_gpu_hour": pl.Float64,
    "Tp_s": pl.Float64,
    "L_tokens": pl.Float64,
    "Td_s": pl.Float64,
    "B": pl.Float64,
    "prefill_gpu_seconds": pl.Float64,
    "decode_gpu_seconds": pl.Float64,
    "gpu_seconds": pl.Float64,
    "cost": pl.Decimal(38, 9),
    "share_ratio": pl.Float64,
    "estimated_ratio": pl.Float64,
}
# 3.6 USD a GPU-hour is 0.001 USD a GPU-second. The first line: 100,000 calls, 0.5 s prefill and
# 200 tokens of 0.02 s are 450,000 s of residence; nine at once are 50,000 GPU-seconds: 50 USD.
LINES: tuple[tuple[str | None, tuple[Any, ...]], ...] = (
    (
        "/chat",
        (
            *("calls", "gpu", 100_000, 9_000_000, 20_000_000, 3.6, 0.5, 200.0, 0.02, 9.0),
            *(50_000 / 9, 400_000 / 9, 50_000.0, Decimal("50"), 0.54, 0.0),
        ),
    ),
    (
        None,
        (
            *("idle", "gpu", None, None, None, 3.6, None, None, None, None),
            *(None, None, 20_004.0, Decimal("20.004"), 0.22, None),
        ),
    ),
    (
        FORMULA_NAME,
        (
            *("calls", "token", 40, 4_000, 400, None, None, 10.0, None, None),
            *(None, None, None, Decimal("12.345"), 0.13, None),
        ),
    ),
    (
        SCRIPT_NAME,
        (
            *("calls", "gpu", 100, 10_000, 0, 3.6, 0.1, 0.0, None, 0.000999500),
            *(10_005.0, 0.0, 10_005.0, Decimal("10.005"), 0.11, 1.0),
        ),
    ),
    (
        None,
        (
            *("unpriced", "token", 7, 700, 70, None, None, 10.0, None, None),
            *(None, None, None, None, None, None),
        ),
    ),
)


def law_frame(column: str) -> pl.DataFrame:
    """LINES as `ask law --by COLUMN` answers them."""
    names = pl.Series(column, [name for name, _ in LINES], dtype=pl.String)
    values = pl.DataFrame([row for _, row in LINES], schema=LAW_SCHEMA, orient="row")
    return values.insert_column(0, names)


def lines_of(column: str) -> pl.DataFrame:
    """The same with what a document needs beside it."""
    frame = with_rounded_cost(labelled(law_frame(column), (column,)), "USD")
    is_law = (pl.col("line") == "calls") & (pl.col("basis") == "gpu")
    return frame.with_columns(law_cost=pl.when(is_law).then(pl.col("cost").cast(pl.Float64)))


@pytest.fixture
def figures() -> MonthlyFigures:
    """92.354 USD in two days of October: 72.35 of calls and 20.00 of idle time."""
    days = pl.DataFrame(
        {
            "day": [date(2026, 10, 1), date(2026, 10, 2)],
            "N": [60_000, 40_147],
            "gpu_seconds": [50_009.0, 30_000.0],
            "calls_cost": [Decimal("42.35"), Decimal("30.00")],
            "idle_cost": [Decimal("10.00"), Decimal("10.00")],
            "cost": [Decimal("52.35"), Decimal("40.00")],
        }
    )
    spend = pl.DataFrame(
        {
            "day": [date(2026, 10, 1), date(2026, 10, 2), date(2026, 10, 2)],
            "label": ["/chat", SCRIPT_NAME, "idle"],
            "cost": [Decimal("50"), Decimal("22.35"), Decimal("20")],
        }
    )
    lines = lines_of("endpoint")
    return MonthlyFigures(
        month="2026-10",
        window_text="2026-10-01 to 2026-10-31, Asia/Tokyo",
        currency="USD",
        total_cost=Decimal("92.35"),
        previous_month="2026-09",
        previous_cost=Decimal("73.88"),
        calls_count=100_147,
        input_tokens=9_014_700,
        output_tokens=20_000_470,
        gpu_seconds=80_009.0,
        idle_cost=Decimal("20.00"),
        unpriced_calls_count=7,
        estimated_ratio=0.1667,
        endpoints=lines,
        teams=lines_of("team"),
        days=days,
        idle_and_unpriced=lines.filter(pl.col("line") != "calls"),
        moved=pl.DataFrame(
            {
                "letter": ["N", "B"],
                "before": [90_000.0, 8.0],
                "now": [100_147.0, 9.0],
                "effect_cost": [Decimal("25.00"), Decimal("-6.53")],
            }
        ),
        data_quality=pl.DataFrame({"check": ["conservation"], "found": ["=1+1"], "count": [0]}),
        spend=spend_by_day(spend, currency="USD", window_text="2026-10"),
        notes=("GPU-seconds by residency",),
    )
