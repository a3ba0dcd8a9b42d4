"""A frame on stdout: the same cells in each format, and a table that fits the terminal."""

import csv
import io
import json
from decimal import Decimal

import polars as pl
import pytest

from gpuledger.output import cell_text, column_bands, write_frame

FRAME = pl.DataFrame(
    {
        "endpoint": ["/chat", None],
        "N": [12_345, None],
        "Td_s": [0.0123456789, float("nan")],
        "cost": pl.Series([Decimal("1234.5678"), Decimal("0.004")], dtype=pl.Decimal(18, 6)),
    }
)


def test_json_carries_every_digit_and_null_for_what_is_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_frame(FRAME, "json")
    assert json.loads(capsys.readouterr().out, parse_float=Decimal) == [
        {
            "endpoint": "/chat",
            "N": 12345,
            "Td_s": Decimal("0.0123456789"),
            "cost": Decimal("1234.567800"),
        },
        {"endpoint": None, "N": None, "Td_s": None, "cost": Decimal("0.004000")},
    ]


def test_csv_has_the_same_cells_and_leaves_the_unknown_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_frame(FRAME, "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["endpoint", "N", "Td_s", "cost"]
    assert rows[1] == ["/chat", "12345", "0.0123456789", "1234.567800"]
    assert rows[2][:2] == ["", ""]


def test_csv_writes_a_zero_amount_without_an_exponent(capsys: pytest.CaptureFixture[str]) -> None:
    zero = pl.Series([Decimal(0)], dtype=pl.Decimal(38, 9))
    write_frame(pl.DataFrame({"cost": zero}), "csv")
    assert capsys.readouterr().out == "cost\n0.000000000\n"


def test_a_table_rounds_and_shows_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    write_frame(FRAME, "table", "law")
    out = capsys.readouterr().out
    assert "12,345" in out
    assert "0.0123457" in out
    assert "1,234.57" in out
    assert "0.00" in out
    assert "–" in out


def test_a_column_of_small_amounts_shows_millionths() -> None:
    assert cell_text(Decimal("0.0075")) == "0.007500"
    assert cell_text(Decimal("7.5")) == "7.50"


def test_large_numbers_are_never_written_with_an_exponent() -> None:
    assert cell_text(2_291_690.4) == "2,291,690"


def test_a_narrow_terminal_gets_bands_that_each_begin_with_the_labels() -> None:
    widths = {"endpoint": 8, "N": 6, "Td_s": 12, "cost": 8}
    assert column_bands(FRAME, widths, 100) == [["endpoint", "N", "Td_s", "cost"]]
    assert column_bands(FRAME, widths, 30) == [
        ["endpoint", "N"],
        ["endpoint", "Td_s"],
        ["endpoint", "cost"],
    ]


def test_a_column_wider_than_the_terminal_still_has_its_band() -> None:
    assert column_bands(FRAME, {"endpoint": 8, "N": 90, "Td_s": 5, "cost": 5}, 40) == [
        ["endpoint", "N"],
        ["endpoint", "Td_s", "cost"],
    ]


def test_the_cents_of_a_bill_add_up_to_its_rounded_sum(capsys: pytest.CaptureFixture[str]) -> None:
    thirds = pl.Series("cost", [Decimal("1.3349")] * 3, dtype=pl.Decimal(18, 4))
    write_frame(pl.DataFrame([thirds]), "table")
    assert capsys.readouterr().out.split() == ["cost", "─" * 6, "1.34", "1.33", "1.33"]


def test_a_price_is_rounded_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    prices = pl.Series("price", [Decimal("1.3349")] * 3, dtype=pl.Decimal(18, 4))
    write_frame(pl.DataFrame([prices]), "table")
    assert capsys.readouterr().out.split()[2:] == ["1.33", "1.33", "1.33"]


def test_a_name_cannot_write_on_the_terminal() -> None:
    assert cell_text("x\x1b[31mRED\n") == "x\\x1b[31mRED\\n"
    assert cell_text("日本 /chat") == "日本 /chat"


def test_labels_leave_half_of_a_band_to_the_figures() -> None:
    widths = {"endpoint": 30, "N": 6, "Td_s": 12, "cost": 8}
    assert column_bands(FRAME, widths, 50) == [["endpoint", "N"], ["Td_s", "cost"]]


def test_equal_amounts_have_equal_texts_beside_the_cost_with_idle_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three costs of 1.004 add up to 3.01: one of them alone would be shown as 1.01."""
    cost = pl.Series([Decimal("1.004")] * 3, dtype=pl.Decimal(18, 6))
    all_cost = pl.Series([Decimal("1.004"), Decimal("1.004"), Decimal(9)], dtype=pl.Decimal(18, 6))
    write_frame(pl.DataFrame({"cost": cost, "cost_with_idle": all_cost}), "table")
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "1.0" in line]
    assert rows == [["1.00", "1.00"], ["1.00", "1.00"], ["1.00", "9.00"]]
