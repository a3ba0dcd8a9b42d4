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
from dashboard.address import Choice, choose
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
    first_at, last_at = answers.reach(source)
    months = months_between(first_at, last_at, configuration.timezone)
    default = default_month(months, last_at, configuration.timezone)
    told = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _period_choice(months, default, told)
        days = _days_choice(chosen, default)
        by = choose(LINES_BY, told)
        zone = _zone_choice(configuration.timezone, told)
        where = _filters(source, told)
    period, previous = periods(chosen, days, zone)
    if previous is not None and not is_covered(previous.window, first_at):
        previous = None
    return View(
        period=period,
        previous=previous,
        by=by,
        currency=configuration.currency,
        where=where,
    )


def periods(chosen: str, days: tuple[date, date], zone: str) -> tuple[Period, Period | None]:
    """The period that was chosen, and the one before it; everything has none before it."""
    if chosen == ALL:
        return whole_period(zone), None
    if chosen == DAYS:
        return days_period(*days, zone), days_period(*days_before(*days), zone)
    return month_period(chosen, zone), month_period(month_before(chosen), zone)


def _period_choice(months: Sequence[str], default: str, told: DeltaGenerator) -> str:
    period = Choice(
        key="period", label="Period", options=choices(months), default=default, width_px=150
    )
    return choose(period, told)


def _days_choice(chosen: str, default_month: str) -> tuple[date, date]:
    first, last = month_days(default_month)
    if chosen != DAYS:
        return first, last
    since = st.date_input("From", first, key="from", bind="query-params", width=150)
    until = st.date_input("To", last, key="to", bind="query-params", width=150)
    return since, until


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
