"""The totals below a table of the law equal what is shown above them, in each currency."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from gpuledger.output import write_frame
from gpuledger.totals import with_totals

SCHEMA: dict[str, Any] = {
    "line": pl.String,
    "endpoint": pl.String,
    "N": pl.Int64,
    "B": pl.Float64,
    "gpu_seconds": pl.Float64,
    "prefill_gpu_seconds": pl.Float64,
    "decode_gpu_seconds": pl.Float64,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "share_ratio": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
}


def line(cost: str | None, currency: str | None = "USD", **cells: Any) -> dict[str, Any]:
    return {
        "line": "calls",
        "N": 2,
        "cost": None if cost is None else Decimal(cost),
        "currency": currency,
    } | cells


def totals_of(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    frame = with_totals(pl.DataFrame(lines, schema=SCHEMA))
    return frame.filter(pl.col("line") == "total").to_dicts()


def test_each_total_is_the_sum_of_its_shown_lines_where_cents_do_not_add_up() -> None:
    thirds = [line("1.333333333"), line("1.333333333"), line("1.333333333", endpoint="/c")]
    euros = [line("0.005", "EUR"), line("0.005", "EUR"), line("0.006", "EUR")]
    frame = with_totals(pl.DataFrame([*thirds, *euros], schema=SCHEMA))
    shown = frame.select("line", "currency", "cost").rows()
    assert shown == [
        ("calls", "USD", Decimal("1.34")),
        ("calls", "USD", Decimal("1.33")),
        ("calls", "USD", Decimal("1.33")),
        ("calls", "EUR", Decimal("0.01")),
        ("calls", "EUR", Decimal("0.00")),
        ("calls", "EUR", Decimal("0.01")),
        ("total", None, None),
        ("total", "USD", Decimal("4.00")),
        ("total", "EUR", Decimal("0.02")),
    ]


def test_calls_and_seconds_of_all_lines_stand_in_the_one_total_of_one_currency() -> None:
    [total] = totals_of(
        line("2", gpu_seconds=1.5, input_tokens=10, B=3.0),
        line(None, None, N=5, gpu_seconds=0.5),
    )
    assert (total["N"], total["gpu_seconds"], total["input_tokens"]) == (7, 2.0, 10)
    assert (total["B"], total["output_tokens"], total["share_ratio"]) == (None, None, 1.0)
    assert (total["cost"], total["currency"]) == (Decimal(2), "USD")


def test_calls_and_seconds_of_two_currencies_are_of_none_of_them() -> None:
    everything, dollars, euros = totals_of(
        line("2", gpu_seconds=1.5, input_tokens=10),
        line("1", "EUR", input_tokens=7),
        line(None, None, N=5, gpu_seconds=0.5),
    )
    counts = ("N", "gpu_seconds", "input_tokens")
    assert [everything[name] for name in counts] == [9, 2.0, 17]
    assert (everything["cost"], everything["currency"], everything["share_ratio"]) == (None,) * 3
    assert [[row[name] for name in counts] for row in (dollars, euros)] == [[None] * 3] * 2
    assert (dollars["cost"], euros["cost"]) == (Decimal(2), Decimal(1))


def test_amounts_have_the_decimals_of_their_currency() -> None:
    [total] = totals_of(line("1234.5", "JPY"), line("0.6", "JPY"))
    assert total["cost"] == Decimal(1235)


def test_thousandths_are_shown_of_a_currency_that_has_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [line("1.2344", "KWD"), line("0.6004", "KWD")]
    write_frame(with_totals(pl.DataFrame(lines, schema=SCHEMA)).select("line", "cost"), "table")
    cells = [row.split() for row in capsys.readouterr().out.splitlines() if "." in row]
    assert cells == [["calls", "1.235"], ["calls", "0.600"], ["total", "1.835"]]


def test_lines_without_a_price_have_a_total_without_money() -> None:
    [total] = totals_of(line(None, None), line(None, None, N=3))
    assert (total["N"], total["cost"], total["currency"]) == (5, None, None)


def test_the_printed_table_shows_the_rounded_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line("1.333333333"), line("1.333333333"), line("0.005", "EUR")]
    write_frame(with_totals(pl.DataFrame(lines, schema=SCHEMA)).select("line", "cost"), "table")
    cells = [row.split() for row in capsys.readouterr().out.splitlines() if "." in row]
    assert cells == [
        ["calls", "1.34"],
        ["calls", "1.33"],
        ["calls", "0.00"],
        ["total", "2.67"],
        ["total", "0.00"],
    ]


def test_amounts_below_one_keep_their_millionths() -> None:
    frame = with_totals(pl.DataFrame([line("0.0000004"), line("0.0000007")], schema=SCHEMA))
    assert frame["cost"].to_list() == [0, Decimal("0.000001"), Decimal("0.000001")]
