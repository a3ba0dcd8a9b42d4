"""Every month of every zone: calls and idle time add up to what was provisioned, to the cent."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest

from analysis.law import law
from analysis.window import Window
from ingest.charging import charge
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import Connection, Ledger, open_for_writing
from ingest.schema import migrations

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata")
MONTHS = ("2026-03", "2026-10", "2026-11")
PRICE, RAISED = Decimal("2.99"), Decimal("3.17")
RAISED_FROM = datetime(2026, 10, 15, 12, 0, tzinfo=ZoneInfo("UTC"))
CONFIGURATION = Configuration(
    pools=(
        Pool(name="a", gpus_per_replica=2, replicas=3, price_per_gpu_hour=PRICE),
        Pool(
            name="a",
            gpus_per_replica=2,
            replicas=3,
            price_per_gpu_hour=RAISED,
            effective_from=RAISED_FROM,
        ),
    )
)
GPUS = 6

SUMS_OF_CHARGES = """
select
    partition_id,
    cohort_id,
    rate_id,
    quarter,
    sum(cast(prefill_s * 1e12 as bigint)) as prefill_ps,
    sum(cast(decode_s * 1e12 as bigint)) as decode_ps,
    sum(cast(prefill_gpu_seconds * 1e12 as bigint)) as prefill_gpu_ps,
    sum(cast(decode_gpu_seconds * 1e12 as bigint)) as decode_gpu_ps
from charges
group by all
order by all
"""
STORED_SUMS = "select * from charge_sums order by all"


def traffic() -> list[dict[str, Any]]:
    """Calls around every month's edges, long ones across them among others."""
    dice = random.Random(7)  # noqa: S311 - traffic, not secrets
    found = []
    for month in MONTHS:
        edge = datetime.fromisoformat(f"{month}-01T00:00:00+00:00")
        for day in (0, 3, 14, 30):
            for _ in range(25):
                at = edge + timedelta(days=day, seconds=dice.uniform(-50_000, 50_000))
                start = int(at.timestamp() * 1000) * 1_000_000
                first = start + dice.randrange(0, 2_000) * 1_000_000
                found.append(
                    {
                        "call_id": str(len(found)),
                        "endpoint": dice.choice(["/chat", "/rag", "/sum"]),
                        "pool": "a",
                        "replica": f"r{dice.randrange(3)}",
                        "timing_source": "engine",
                        "started_at": start,
                        "first_token_at": first,
                        "ended_at": first + dice.randrange(0, 4_000_000) * 1_000_000,
                        "visible_output_tokens": dice.randrange(1, 900),
                    }
                )
    return found


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    return ledger_of(traffic(), CONFIGURATION)


def provisioned_cost(month: str, zone: str) -> Decimal:
    """Six GPUs at the price of each hour, from the calendar alone."""
    begin = datetime.fromisoformat(f"{month}-01").replace(tzinfo=ZoneInfo(zone))
    following = (begin.replace(day=1) + timedelta(days=32)).replace(day=1)
    edges = [edge.astimezone(ZoneInfo("UTC")) for edge in (begin, following)]
    raised = min(max(RAISED_FROM, edges[0]), edges[1])
    return GPUS * (hours(edges[0], raised) * PRICE + hours(raised, edges[1]) * RAISED)


def hours(since: datetime, until: datetime) -> Decimal:
    return Decimal((until - since) // timedelta(seconds=1)) / 3600


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("month", MONTHS)
def test_lines_of_a_month_add_up_to_its_bill(ledger: Ledger, month: str, zone: str) -> None:
    frame = law(ledger, CONFIGURATION, window=Window.month(month, zone)).frame
    assert abs(frame["cost"].sum() - provisioned_cost(month, zone)) <= Decimal("1e-9")
    seconds = frame["gpu_seconds"].sum()
    window = Window.month(month, zone)
    assert window.since is not None
    assert window.until is not None
    assert seconds == pytest.approx(GPUS * (window.until - window.since) / S, rel=1e-12)


@pytest.mark.parametrize("zone", ZONES)
def test_days_of_a_month_add_up_to_the_month(ledger: Ledger, zone: str) -> None:
    window = Window.month("2026-11", zone)
    by_day = law(ledger, CONFIGURATION, by=("day",), window=window).frame
    month = law(ledger, CONFIGURATION, by=("month",), window=window).frame
    assert by_day["cost"].sum() == pytest.approx(month["cost"].sum(), abs=Decimal("1e-7"))
    assert by_day["day"].n_unique() == 30
    assert month["month"].unique().to_list() == ["2026-11"]


@pytest.mark.parametrize(
    ("day", "length"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-11-02", 24)]
)
def test_a_day_is_as_long_as_its_clocks_say(ledger: Ledger, day: str, length: int) -> None:
    month = Window.month(day[:7], "America/New_York")
    frame = law(ledger, CONFIGURATION, by=("day",), window=month).frame
    of_day = frame.filter(pl.col("day").cast(pl.String) == day)
    assert of_day["gpu_seconds"].sum() == pytest.approx(GPUS * length * 3600, rel=1e-12)


def test_the_hour_that_a_clock_shows_twice_is_two_hours(ledger: Ledger) -> None:
    window = Window.parse("2026-11-01", "2026-11-02", "America/New_York")
    frame = law(ledger, CONFIGURATION, by=("hour",), window=window).frame
    shown = frame["hour"].unique().sort().to_list()
    assert len(shown) == 25
    assert [hour for hour in shown if "T01" in hour] == [
        "2026-11-01T01:00-04:00",
        "2026-11-01T01:00-05:00",
    ]


def test_hours_of_a_zone_half_an_hour_off_begin_at_its_own_clock(ledger: Ledger) -> None:
    window = Window.parse("2026-10-01", "2026-10-02", "Asia/Kolkata")
    frame = law(ledger, CONFIGURATION, by=("hour",), window=window).frame
    per_hour = frame.group_by("hour").agg(pl.col("gpu_seconds").sum()).sort("hour")
    assert per_hour.height == 24
    assert per_hour["gpu_seconds"].to_list() == pytest.approx([GPUS * 3600] * 24)


def sums(connection: Connection, text: str) -> list[tuple[int, ...]]:
    """Partition, cohort, rate and quarter-hour with the picoseconds of each phase."""
    return [tuple(int(value) for value in row) for row in connection.execute(text).fetchall()]


def test_stored_sums_are_those_of_the_charges_as_calls_arrive(
    tmp_path: Path, ledger_of: LedgerOf
) -> None:
    calls = traffic()
    everything = tmp_path / "calls.jsonl"
    everything.write_text("".join(json.dumps(call) + "\n" for call in calls), "utf-8")
    ledger = ledger_of(calls[::2], CONFIGURATION)
    charge(ledger, CONFIGURATION)
    halved = sums(ledger.connection, STORED_SUMS)
    assert halved == sums(ledger.connection, SUMS_OF_CHARGES)
    deliver_paths(ledger, [str(everything)], CONFIGURATION, format_name="native")
    charge(ledger, CONFIGURATION)
    whole = sums(ledger.connection, STORED_SUMS)
    assert whole == sums(ledger.connection, SUMS_OF_CHARGES)
    assert len(whole) > len(halved) > 0


def test_a_ledger_of_before_has_the_sums_of_its_charges(tmp_path: Path, ledger: Ledger) -> None:
    path = tmp_path / "older.duckdb"
    with duckdb.connect(str(path)) as older:
        for migration in migrations()[:2]:
            older.execute(migration.sql)
        older.register("charged", ledger.connection.table("charges").to_arrow_table())
        older.execute("insert into charges by name select * from charged")
        older.execute("insert into ledger_facts values ('schema_version', '2')")
    with open_for_writing(path) as forward:
        assert sums(forward.connection, STORED_SUMS) == sums(ledger.connection, SUMS_OF_CHARGES)
