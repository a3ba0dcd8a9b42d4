"""Flat plans over time: what each costs in each stretch of a month, and whose calls it pays.

Owns the cut of a plan's price at months of the configured time zone, and which cohorts a plan
covers. Refuses to spread: that is done in SQL, where the calls are.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ingest.charging.exchange import exchange_rows
from ingest.charging.kernel import NS_PER_S
from ingest.charging.statements import statement
from ingest.config import Configuration, instant_ns
from ingest.config_plans import Plan
from ingest.ledger import Connection

AMOUNT_STEP = Decimal("1e-9")
STRETCH_COLUMNS: dict[str, pa.DataType] = {
    "entry_no": pa.int32(),
    "plan": pa.string(),
    "month": pa.string(),
    "since": pa.int64(),
    "until": pa.int64(),
    "amount": pa.decimal128(18, 9),
    "currency": pa.string(),
}
COVER_COLUMNS: dict[str, pa.DataType] = {"entry_no": pa.int32(), "cohort_id": pa.int32()}

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStretch:
    """A plan from `since` until `until` (nanoseconds), which lie in one `month` (YYYY-MM).

    `amount` is the part of the monthly price that falls into it; `entry_no` the place of the entry
    in the configuration.
    """

    entry_no: int
    plan: str
    month: str
    since: int
    until: int
    amount: Decimal
    currency: str


def plan_stretches(configuration: Configuration, since: int, until: int) -> list[PlanStretch]:
    """What every plan costs in each month that [since, until) touches, one stretch an entry.

    Of a month that an entry holds in part it costs that part of the month's seconds. The amounts of
    a month at one price add up to the price.
    """
    if not configuration.plans:
        return []
    exchange = exchange_rows(configuration)
    months = list(_months(since, until, ZoneInfo(configuration.timezone)))
    return [
        _converted(_stretch(number, entry, month, overlap, configuration.currency), exchange)
        for number, entry, begin, end in _in_force(configuration.plans)
        for month in months
        for overlap in [(max(begin, month[1]), month[2] if end is None else min(end, month[2]))]
        if overlap[0] < overlap[1]
    ]


def covered_cohorts(connection: Connection, plans: Sequence[Plan]) -> list[dict[str, int]]:
    """Pairs of `entry_no` and `cohort_id`: which cohorts of `rented_cohorts` each entry covers."""
    if not plans:
        return []
    cohorts = connection.sql(statement("plan_cohorts")).to_arrow_table().to_pylist()
    return [
        {"entry_no": number, "cohort_id": cohort["cohort_id"]}
        for number, plan in enumerate(plans)
        for cohort in cohorts
        if _covers(plan, cohort)
    ]


def _covers(plan: Plan, cohort: dict[str, Any]) -> bool:
    is_model = plan.models is None or not {cohort["model"], cohort["model_requested"]}.isdisjoint(
        plan.models
    )
    return is_model and all(cohort[column] == value for column, value in plan.scope.items())


def _in_force(plans: Sequence[Plan]) -> Iterator[tuple[int, Plan, int, int | None]]:
    """Each entry with its number and the half-open time in which it holds."""
    for name in dict.fromkeys(plan.name for plan in plans):
        own = [
            (max(instant_ns(plan.effective_from) or 0, 0), number, plan)
            for number, plan in enumerate(plans)
            if plan.name == name
        ]
        dated = sorted(own, key=lambda entry: entry[0])
        for (begin, number, plan), following in itertools.zip_longest(dated, dated[1:]):
            ends = [instant_ns(plan.effective_until), following[0] if following else None]
            known = [end for end in ends if end is not None]
            yield number, plan, begin, min(known, default=None)


def _months(since: int, until: int, zone: ZoneInfo) -> Iterator[tuple[str, int, int]]:
    """The months of `zone` that [since, until) touches, each with its first instant and its end."""
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=since // NS_PER_S)).astimezone(
        zone
    )
    first = date(local.year, local.month, 1)
    while (begin := _midnight(first, zone)) < until:
        following = (first + timedelta(days=32)).replace(day=1)
        yield f"{first:%Y-%m}", begin, _midnight(following, zone)
        first = following


def _midnight(day: date, zone: ZoneInfo) -> int:
    return instant_ns(datetime(day.year, day.month, day.day, tzinfo=zone)) or 0


def _stretch(
    number: int, plan: Plan, month: tuple[str, int, int], overlap: tuple[int, int], currency: str
) -> PlanStretch:
    name, begin, end = month

    def passed(at: int) -> Decimal:
        """What of the month's price falls before `at`."""
        product = _EXACT.multiply(plan.price_per_month, Decimal(at - begin))
        return _EXACT.divide(product, Decimal(end - begin)).quantize(AMOUNT_STEP, context=_EXACT)

    return PlanStretch(
        entry_no=number,
        plan=plan.name,
        month=name,
        since=overlap[0],
        until=overlap[1],
        amount=passed(overlap[1]) - passed(overlap[0]),
        currency=plan.currency or currency,
    )


def _converted(stretch: PlanStretch, exchange: Sequence[dict[str, Any]]) -> PlanStretch:
    """`stretch` in the configured currency at the rate in force at its first instant, if any."""
    for row in exchange:
        is_dated = row["since"] <= stretch.since and (
            row["until"] is None or stretch.since < row["until"]
        )
        if row["source"] == stretch.currency and is_dated:
            amount = _EXACT.multiply(stretch.amount, row["rate"])
            converted = amount.quantize(AMOUNT_STEP, context=_EXACT)
            return replace(stretch, amount=converted, currency=row["target"])
    return stretch
