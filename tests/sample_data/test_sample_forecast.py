"""The sample's October, forecast from its first half: the bill lies within the bounds."""

from decimal import Decimal

import polars as pl
import pytest

from analysis.forecast import forecast
from analysis.law import law
from analysis.window import Window
from ingest.config import load_configuration
from ingest.ledger import Ledger
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")


@pytest.mark.parametrize("day", ["2026-10-10", "2026-10-15T12:00", "2026-10-16", "2026-10-20"])
def test_the_bill_of_october_lies_within_the_bounds(sample_ledger: Ledger, day: str) -> None:
    configuration = load_configuration(sample_configuration_path())
    zone = configuration.timezone
    bill = law(sample_ledger, configuration, window=Window.month("2026-10", zone)).frame
    asked = Window.parse(None, day, zone)
    row = forecast(sample_ledger, configuration, window=asked).frame.filter(
        pl.col("line") == "total"
    )
    low, high, expected = row.select("low_cost", "high_cost", "forecast_cost").row(0)
    truth = sum(bill["cost"].drop_nulls(), start=Decimal(0))
    assert low <= truth <= high
    assert abs(expected - truth) < Decimal("0.01") * truth
