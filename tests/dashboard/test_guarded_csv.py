"""A table that is downloaded is whole, and no text of it is computed by a spreadsheet."""

import csv
from decimal import Decimal
from io import StringIO

import polars as pl
import pytest

from dashboard.guarded_csv import guarded_csv


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_a_text_that_would_be_computed_gets_an_apostrophe(name: str) -> None:
    rows = list(csv.reader(StringIO(guarded_csv(pl.DataFrame({"label": [name]})), newline="")))
    assert rows == [["label"], [f"'{name}"]]


@pytest.mark.parametrize(
    "name", ["/chat", "a,b", 'say "x"', "two\nlines", "x\r=1", "\u202ex", "🚀", "/x" * 9999]
)
def test_any_other_text_is_written_as_it_is(name: str) -> None:
    rows = list(csv.reader(StringIO(guarded_csv(pl.DataFrame({"label": [name]})), newline="")))
    assert rows == [["label"], [name]]


def test_numbers_keep_their_sign_and_places_and_unknown_is_empty() -> None:
    frame = pl.DataFrame({"cost": [Decimal("-0.000001230"), None], "n": [-1, None]})
    assert guarded_csv(frame) == "cost,n\n-0.000001230,-1\n,\n"
