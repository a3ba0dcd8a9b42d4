"""A figure is a pure function of a frame: what it shows, in which order, under which title."""

from datetime import date
from decimal import Decimal

import polars as pl
import pytest

from dashboard.charts import spend_figure
from dashboard.palette import GREY
from dashboard.series import OTHERS, spend_by_day

DAY_1, DAY_2 = date(2026, 10, 1), date(2026, 10, 2)


def daily(*rows: tuple[date, str, str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": [row[0] for row in rows],
            "label": [row[1] for row in rows],
            "cost": [None if row[2] is None else Decimal(row[2]) for row in rows],
            "currency": [None if row[2] is None else "USD" for row in rows],
        }
    )


def test_the_largest_line_is_at_the_bottom_and_idle_on_top() -> None:
    spend = spend_by_day(
        daily((DAY_1, "idle", "9"), (DAY_1, "/small", "1"), (DAY_2, "/large", "2")),
        currency="USD",
        window_text="2026-10",
    )
    figure = spend_figure(spend, "endpoint")
    assert [bar.name for bar in figure.data] == ["/large", "/small", "idle"]
    assert list(figure.data[0].x) == [DAY_1, DAY_2]
    assert list(figure.data[0].y) == [0.0, 2.0]
    assert figure.data[2].marker.color == GREY


def test_the_title_names_quantity_unit_and_window() -> None:
    spend = spend_by_day(daily((DAY_1, "/a", "1")), currency="USD", window_text="2026-10 (UTC)")
    figure = spend_figure(spend, "team")
    assert figure.layout.title.text == "Cost by day and team, USD"
    assert figure.layout.title.subtitle.text == "2026-10 (UTC)"


def test_money_of_another_currency_is_in_no_bar() -> None:
    spend = spend_by_day(daily((DAY_1, "/a", "1")), currency="JPY", window_text="2026-10 (UTC)")
    assert spend.labels == ()


def test_lines_beyond_the_kept_ones_are_summed_and_no_money_is_lost() -> None:
    rows = [(DAY_1, f"/{index:02}", str(100 - index)) for index in range(20)]
    spend = spend_by_day(daily(*rows), currency="USD", window_text="2026-10")
    assert spend.labels == (*[f"/{index:02}" for index in range(7)], OTHERS)
    assert spend.frame["cost"].sum() == sum(range(81, 101))


def test_a_name_with_tags_is_shown_as_it_is_written() -> None:
    name = '<a href="x">&'
    spend = spend_by_day(daily((DAY_1, name, "1")), currency="USD", window_text="2026-10")
    assert spend_figure(spend, "endpoint").data[0].name == '&lt;a href="x"&gt;&amp;'


@pytest.mark.parametrize("cost", [None, "0"])
def test_a_line_without_money_has_no_bar_of_its_own_height(cost: str | None) -> None:
    rows = daily((DAY_1, "/a", "1"), (DAY_1, "unpriced", cost))
    figure = spend_figure(spend_by_day(rows, currency="USD", window_text="2026-10"), "endpoint")
    assert sum(sum(bar.y) for bar in figure.data) == 1.0
