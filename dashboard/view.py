"""The view that every page shows: period, zone, grouping and filters, kept in the address.

Owns the bar of widgets and what their values mean. Each widget is bound to a query parameter of
its own name, so that a view can be sent to somebody. Refuses to read a figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from zoneinfo import available_timezones

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.window import Window
from dashboard import answers
from dashboard.address import Choice, choose, choose_day
from dashboard.period import (
    ALL,
    DAYS,
    Period,
    choices,
    days_before,
    days_period,
    default_month,
    is_covered,
    month_before,
    month_days,
    month_period,
    months_between,
    whole_period,
)
from dashboard.source import Source

GROUPINGS = ("endpoint", "team", "model", "service", "pool", "feature", "tenant")
FILTERS = ("endpoint", "team", "model")
NO_FILTER = "any"
NO_TIMES = (
    "No call of the ledger tells its time: calls and tokens are counted over everything, and there "
    "are no months, no GPU-seconds and no cost. Bring in telemetry with a start and an end."
)
LINES_BY = Choice(key="by", label="Lines by", options=GROUPINGS, default=GROUPINGS[0], width_px=150)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is shown: a period, the column that makes the lines, filters.

    `previous` is the period before; None where there is none that the ledger covers.
    """

    period: Period
    previous: Period | None
    by: str
    currency: str
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def window(self) -> Window:
        """The window of the period."""
        return self.period.window

    @property
    def window_before(self) -> Window | None:
        """The window that the period is compared with."""
        return None if self.previous is None else self.previous.window

    @property
    def name_before(self) -> str | None:
        """What the period before is called."""
        return None if self.previous is None else self.previous.name


def view_bar(source: Source) -> View:
    """The bar at the top of every page, and the view that it stands for."""
    configuration = source.configuration()
    reach = answers.reach(source)
    months, default = _months(reach, configuration.timezone)
    told = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _period_choice(months, default, told)
        days = _days_choice(default, told) if chosen == DAYS else None
        by = choose(LINES_BY, told)
        zone = _zone_choice(configuration.timezone, told)
        where = _filters(source, told)
    period, previous = periods(chosen, days, zone)
    if reach is None:
        told.text(NO_TIMES)
    if previous is not None and (reach is None or not is_covered(previous.window, reach[0])):
        previous = None
    return View(
        period=period,
        previous=previous,
        by=by,
        currency=configuration.currency,
        where=where,
    )


def periods(chosen: str, days: tuple[date, date] | None, zone: str) -> tuple[Period, Period | None]:
    """The period that was chosen, and the one before it; everything has none before it.

    `days` are the first and the last of a range, which wins over a month.
    """
    if chosen == ALL:
        return whole_period(zone), None
    if days is not None:
        return days_period(*days, zone), days_period(*days_before(*days), zone)
    return month_period(chosen, zone), month_period(month_before(chosen), zone)


def _months(reach: tuple[int, int] | None, zone: str) -> tuple[list[str], str]:
    """The months of the ledger's calls and the period shown first."""
    if reach is None:
        return [], ALL
    months = months_between(*reach, zone)
    return months, default_month(months, reach[1], zone)


def _period_choice(months: Sequence[str], default: str, told: DeltaGenerator) -> str:
    period = Choice(
        key="period", label="Period", options=choices(months), default=default, width_px=150
    )
    return choose(period, told)


def _days_choice(default_month: str, told: DeltaGenerator) -> tuple[date, date]:
    first, last = month_days(default_month)
    return choose_day("From", "from", first, told), choose_day("To", "to", last, told)


def _zone_choice(configured: str, told: DeltaGenerator) -> str:
    others = sorted(available_timezones() - {configured, "UTC"})
    options = [*dict.fromkeys((configured, "UTC")), *others]
    zone = Choice(key="zone", label="Time zone", options=options, default=configured, width_px=200)
    return choose(zone, told)


def _filters(source: Source, told: DeltaGenerator) -> dict[str, str]:
    chosen = {}
    with st.popover("Filters", icon=":material/filter_list:"):
        for column in FILTERS:
            options = [NO_FILTER, *answers.names(source, column)]
            only = Choice(
                key=f"only_{column}", label=f"Only {column}", options=options, default=NO_FILTER
            )
            value = choose(only, told)
            if value != NO_FILTER:
                chosen[column] = value
    return chosen
