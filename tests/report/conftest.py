"""One month's figures, small enough to be worked out by hand."""

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from dashboard.lines import labelled, with_rounded_cost
from dashboard.monthly.figures import MonthlyFigures
from dashboard.series import spend_by_day
from dashboard.summary import summary_of

FORMULA_NAME = "=cmd|'/c calc'!A0"
SCRIPT_NAME = '<script>alert("x")</script>'
LAW_SCHEMA: dict[str, Any] = {
    "line": pl.String,
    "basis": pl.String,
    "N": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "price_per_gpu_hour": pl.Decimal(38, 9),
    "Tp_s": pl.Float64,
    "L_tokens": pl.Float64,
    "Td_s": pl.Float64,
    "B": pl.Float64,
    "prefill_gpu_seconds": pl.Float64,
    "decode_gpu_seconds": pl.Float64,
    "gpu_seconds": pl.Float64,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "share_ratio": pl.Float64,
    "estimated_ratio": pl.Float64,
}
# 3.6 USD a GPU-hour is 0.001 USD a GPU-second. The first line: 100,000 calls, 0.5 s prefill and
# 200 tokens of 0.02 s are 450,000 s of residence; nine at once are 50,000 GPU-seconds: 50 USD.
CHAT = {
    "line": "calls",
    "basis": "gpu",
    "N": 100_000,
    "input_tokens": 9_000_000,
    "output_tokens": 20_000_000,
    "price_per_gpu_hour": Decimal("3.6"),
    "Tp_s": 0.5,
    "L_tokens": 200.0,
    "Td_s": 0.02,
    "B": 9.0,
    "prefill_gpu_seconds": 50_000 / 9,
    "decode_gpu_seconds": 400_000 / 9,
    "gpu_seconds": 50_000.0,
    "cost": Decimal("50"),
    "currency": "USD",
    "share_ratio": 0.54,
    "estimated_ratio": 0.0,
}
IDLE = {
    "line": "idle",
    "basis": "gpu",
    "price_per_gpu_hour": Decimal("3.6"),
    "gpu_seconds": 20_004.0,
    "cost": Decimal("20.004"),
    "currency": "USD",
    "share_ratio": 0.22,
}
BY_TOKEN = {
    "line": "calls",
    "basis": "token",
    "N": 40,
    "input_tokens": 4_000,
    "output_tokens": 400,
    "L_tokens": 10.0,
    "cost": Decimal("12.345"),
    "currency": "USD",
    "share_ratio": 0.13,
}
EMBEDDING = {
    "line": "calls",
    "basis": "gpu",
    "N": 100,
    "input_tokens": 10_000,
    "output_tokens": 0,
    "price_per_gpu_hour": Decimal("3.6"),
    "Tp_s": 0.1,
    "L_tokens": 0.0,
    "B": 0.0009995,
    "prefill_gpu_seconds": 10_005.0,
    "decode_gpu_seconds": 0.0,
    "gpu_seconds": 10_005.0,
    "cost": Decimal("10.005"),
    "currency": "USD",
    "share_ratio": 0.11,
    "estimated_ratio": 1.0,
}
UNPRICED = {
    "line": "unpriced",
    "basis": "unpriced",
    "N": 7,
    "input_tokens": 700,
    "output_tokens": 70,
    "L_tokens": 10.0,
}
LINES = (
    ("/chat", CHAT),
    (None, IDLE),
    (FORMULA_NAME, BY_TOKEN),
    (SCRIPT_NAME, EMBEDDING),
    (None, UNPRICED),
)


def law_frame(column: str) -> pl.DataFrame:
    """LINES as `ask law --by COLUMN` answers them."""
    rows = [{column: name, **values} for name, values in LINES]
    return pl.DataFrame(rows, schema={column: pl.String, **LAW_SCHEMA})


def lines_of(column: str) -> pl.DataFrame:
    """The same with what a document needs beside it."""
    frame = with_rounded_cost(labelled(law_frame(column), (column,)))
    is_law = (pl.col("line") == "calls") & (pl.col("basis") == "gpu")
    return frame.with_columns(law_cost=pl.when(is_law).then(pl.col("cost")))


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
            "currency": ["USD", "USD", "USD"],
        }
    )
    lines = lines_of("endpoint")
    return MonthlyFigures(
        month="2026-10",
        window_text="2026-10-01 to 2026-10-31, Asia/Tokyo",
        summary=summary_of(lines, "USD"),
        previous_month="2026-09",
        previous_cost=Decimal("73.88"),
        endpoints=lines,
        teams=lines_of("team"),
        days=days,
        idle_and_unpriced=lines.filter(pl.col("line") != "calls"),
        moved=pl.DataFrame(
            {
                "name": ["N, calls", "B, calls at once per GPU"],
                "before": [90_000.0, 8.0],
                "now": [100_147.0, 9.0],
                "effect_cost": [Decimal("25.00"), Decimal("-6.53")],
            }
        ),
        data_quality=pl.DataFrame({"check": ["conservation"], "found": ["=1+1"], "count": [0]}),
        spend=spend_by_day(spend, currency="USD", window_text="2026-10"),
        notes=("GPU-seconds by residency",),
    )
