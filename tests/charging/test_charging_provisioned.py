"""Provisioned GPU-seconds, by the clocks of a time zone."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.charging.pools import rates_in
from ingest.charging.provisioned import provisioned
from ingest.charging.rates import Rate
from ingest.charging.schedule import parse_window
from ingest.config import Configuration, Pool
from ingest.errors import ConfigurationError

HOUR = 3_600
S = 1_000_000_000

RATE = Rate(
    rate_id=1,
    pool="a",
    effective_from=0,
    effective_to=None,
    gpu="H100",
    gpus_per_replica=2,
    replicas=3,
    price_per_gpu_hour=Decimal("2.99"),
    currency="USD",
    schedule="always",
    is_configured=True,
)
OFFICE = replace(RATE, schedule='["mon-fri 08:00-20:00"]')
NIGHT = replace(RATE, schedule='["22:00-06:00"]')


def gpu_seconds(rate: Rate, since: int, until: int, timezone: str = "UTC") -> float | None:
    (found,) = provisioned([rate], (since, until), timezone)
    return found.gpu_seconds


def test_a_pool_that_is_always_up_offers_every_second(at: Callable[[str], int]) -> None:
    day = (at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00"))
    assert gpu_seconds(RATE, *day) == 3 * 2 * 24 * HOUR


def test_only_the_part_of_the_window_in_which_a_rate_is_in_force_counts(
    at: Callable[[str], int],
) -> None:
    change = at("2026-10-01T06:00:00")
    rates = [
        replace(RATE, effective_to=change),
        replace(RATE, rate_id=2, effective_from=change, replicas=1),
    ]
    window = (at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00"))
    found = [(row.rate.rate_id, row.gpu_seconds) for row in provisioned(rates, window, "UTC")]
    assert found == [(1, 6 * 6 * HOUR), (2, 2 * 18 * HOUR)]


def test_a_rate_that_is_not_in_force_is_not_listed(at: Callable[[str], int]) -> None:
    ended = replace(RATE, effective_to=at("2026-09-01T00:00:00"))
    window = (at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00"))
    assert provisioned([ended], window, "UTC") == []


def test_a_pool_of_unknown_size_offers_an_unknown_amount(at: Callable[[str], int]) -> None:
    unknown = replace(RATE, replicas=None)
    assert gpu_seconds(unknown, at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00")) is None


def test_office_hours_are_those_of_the_time_zone(at: Callable[[str], int]) -> None:
    # Monday 5 October 2026 in Tokyo begins on Sunday at 15:00 UTC.
    monday = (at("2026-10-04T15:00:00"), at("2026-10-05T15:00:00"))
    assert gpu_seconds(OFFICE, *monday, "Asia/Tokyo") == 6 * 12 * HOUR
    # By clocks of UTC the same instants hold Sunday evening, and Monday from 08:00 to 15:00.
    assert gpu_seconds(OFFICE, *monday, "UTC") == 6 * 7 * HOUR


def test_a_week_of_office_hours_has_sixty(at: Callable[[str], int]) -> None:
    week = (at("2026-10-05T00:00:00"), at("2026-10-12T00:00:00"))
    assert gpu_seconds(OFFICE, *week) == 6 * 60 * HOUR


def test_a_night_across_midnight_belongs_to_both_days(at: Callable[[str], int]) -> None:
    day = (at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00"))
    assert gpu_seconds(NIGHT, *day) == 6 * (6 + 2) * HOUR


@pytest.mark.parametrize(
    ("day", "hours"),
    [("2026-03-29", 7), ("2026-10-25", 9), ("2026-06-01", 8)],
    ids=["summer time begins", "summer time ends", "any other day"],
)
def test_a_night_is_as_long_as_the_clocks_make_it(
    at: Callable[[str], int], day: str, hours: int
) -> None:
    # Berlin's clocks go from 02:00 to 03:00 on 29 March and from 03:00 to 02:00 on 25 October.
    noon = at(f"{day}T12:00:00")
    assert gpu_seconds(NIGHT, noon - 24 * HOUR * S, noon, "Europe/Berlin") == 6 * hours * HOUR


@pytest.mark.parametrize(
    ("day", "window", "minutes"),
    [
        ("2026-03-08", "01:00-02:15", 60),
        ("2026-03-08", "02:15-02:45", 0),
        ("2026-03-08", "02:15-04:00", 60),
        ("2026-11-01", "01:30-03:00", 120),
        ("2026-11-01", "01:00-01:30", 60),
        ("2026-11-01", "00:30-01:30", 90),
        ("2026-11-01", "02:00-03:00", 60),
        ("2026-11-01", "00:00-24:00", 25 * 60),
    ],
)
def test_a_window_counts_while_the_clocks_show_a_time_in_it(
    at: Callable[[str], int], day: str, window: str, minutes: int
) -> None:
    # New York goes from 02:00 to 03:00 on 8 March and from 02:00 back to 01:00 on 1 November.
    rate = replace(RATE, schedule=f'["sun {window}"]')
    noon = at(f"{day}T12:00:00")
    around = (noon - 36 * HOUR * S, noon + 36 * HOUR * S)
    assert gpu_seconds(rate, *around, "America/New_York") == 6 * minutes * 60


def test_windows_that_overlap_count_once(at: Callable[[str], int]) -> None:
    twice = replace(RATE, schedule='["thu 08:00-12:00", "10:00-14:00"]')
    day = (at("2026-10-01T00:00:00"), at("2026-10-02T00:00:00"))
    assert gpu_seconds(twice, *day) == 6 * 6 * HOUR


@pytest.mark.parametrize("text", ["mon-fry 08:00-20:00", "daily", "08:00-25:00", "08:61-09:00"])
def test_a_schedule_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="schedule"):
        parse_window(text)


@given(
    st.lists(st.integers(0, 30 * 24 * 4), min_size=3, max_size=3).map(sorted),
    st.sampled_from([RATE, OFFICE, NIGHT]),
    st.sampled_from(["UTC", "Asia/Tokyo", "Europe/Berlin", "Asia/Kolkata"]),
)
@settings(deadline=None)
def test_splitting_a_window_adds_up(quarters: list[int], rate: Rate, timezone: str) -> None:
    origin = 1_791_000_000 * S  # October 2026, so that summer time ends in it
    since, middle, until = (origin + quarter * 900 * S for quarter in quarters)

    def total(begin: int, end: int) -> float:
        found = provisioned([rate], (begin, end), timezone)
        return sum(row.gpu_seconds or 0 for row in found)

    assert total(since, middle) + total(middle, until) == pytest.approx(total(since, until))


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 90), min_size=3, max_size=3).map(sorted),
            st.sampled_from(["r0", "r1", None, None]),
            st.sampled_from([None, 5]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(2, 4),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_more_is_busy_than_provisioned_whichever_replicas_are_known(
    new_ledger: Any, call: Any, drawn: list[tuple[list[int], str | None, int | None]], size: int
) -> None:
    noon = 1_791_028_800 * S  # 2026-10-03, a quarter begins
    calls = new_ledger()
    made = [
        call(
            call_id=str(number),
            replica=replica,
            n_choices=choices,
            started_at=noon + start * 100 * S,
            first_token_at=noon + first * 100 * S,
            ended_at=noon + end * 100 * S,
        )
        for number, ((start, first, end), replica, choices) in enumerate(drawn)
    ]
    calls.deliver(*made)
    calls.charge(Configuration(pools=(Pool(name="a", models=("m",), replicas=size),)))
    for quarter, busy in calls.rows(
        "select quarter, sum(prefill_gpu_seconds + decode_gpu_seconds) from charges group by all"
    ):
        window = (quarter * 900 * S, (quarter + 1) * 900 * S)
        [offer] = provisioned(rates_in(calls.connection), window, "UTC")
        assert busy <= offer.gpu_seconds + 1e-6
