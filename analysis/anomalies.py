"""Days on which a group cost more or less than such days of it do, and the letter that moved.

Owns the baseline: the median of the same weekday, and the spread about it. Refuses a verdict on a
day that is not whole, or that has too few days before it.

A day is compared with the days of the four weeks before it that are like it: the same weekday,
else working days with working days and weekends with weekends. Its score is its distance from
their median in median absolute deviations, scaled to standard deviations of a normal distribution;
beyond 3.5 it is an anomaly (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993). Few
days can be alike by chance, so a deviation is taken to be at least 5 % of the median, and what
chance arrivals of so many calls vary by. Days next to each
other that differ in one direction are one anomaly. The letter is the one that adds most to the
difference from the median day, by the decomposition of `explain`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from statistics import median, median_low
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import pieces_of
from analysis.columns import COHORT_COLUMNS, checked_groups
from analysis.errors import NoDataError, WrongQuestionError
from analysis.explain import priced_rows
from analysis.facts import Facts
from analysis.law import law_lines
from analysis.lines import MONEY
from analysis.money import rounded, total
from analysis.moves import EFFECTS, Row, effects_of
from analysis.selection import Filters
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

FACTS = Facts(
    name="anomalies",
    question="Which days cost more or less than days like them, and which letter moved?",
    grain="a group and a stretch of unusual days",
    unit="money over the day_count unusual days; score in standard deviations",
    params="one column that is shared by many calls; a window of whole days; a filter",
    nulls="letter_effect is null where the group is new that day, or absent",
    identity="difference = cost - expected_cost; cost is that of law by day on the unusual days",
)

BASELINE_DAYS = 28
LEAST_ALIKE = (("weekday", 4), ("working", 4))
"""Ways in which days are alike, the closest first, and how many of them make a baseline."""
SCORE = 3.5
MAD_TO_SIGMA = 1.4826
LEAST_SPREAD = 0.05
"""Of the median: a group that costs the same every day is allowed that much for chance."""
LEAST_SHARE = Decimal("0.01")
"""Of a median day's bill: what differs by less is nobody's concern."""
WHOLE_DAY_NS = 23 * 3_600_000_000_000
"""The shortest day of a calendar, that on which clocks go forward."""
MOST_GAP = timedelta(days=3)
"""Anomalies of one direction that are no further apart are one: a weekend may lie between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange:
    """A day of one group that differs from its like, and the median day of those."""

    day: date
    cost: Decimal
    expected: Decimal
    score: float
    like_day: date


def anomalies(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
) -> Answer:
    """Unusual days of each group of the column `by`, those that cost most beyond usual first.

    `cost` and `expected_cost` are sums over the `day_count` unusual days from `day` to `last_day`;
    `letter` adds most to their difference, `letter_effect` so much. An empty answer is an answer.
    Raises `WrongQuestionError` for more than one column or one that is not shared by many calls,
    `NoDataError` where no day can be judged.
    """
    columns = checked_groups(by)
    if len(columns) != 1 or columns[0] not in COHORT_COLUMNS:
        raise WrongQuestionError(
            f"anomalies are found by one of {', '.join(COHORT_COLUMNS)}; their days are implied"
        )
    found = law_lines(ledger, configuration, by=("day", *columns), window=window, where=where)
    days = [
        day for day, begin, end in pieces_of(found.window, "day") if end - begin >= WHOLE_DAY_NS
    ]
    keys = list(dict.fromkeys([*columns, "pool", "basis", "currency"]))
    groups = _by_group(priced_rows(found, ["line", "day", *keys]), len(keys))
    rows: list[dict[str, Any]] = []
    judged_count = 0
    least = _least_differences(groups, days)
    for values, by_day in groups.items():
        judged = list(_judged(by_day, days))
        judged_count += len(judged)
        strange = [one for one in judged if _is_strange(one, least[values[-1]])]
        shared = dict(zip(keys, values, strict=True))
        rows += [shared | _told(run, by_day) for run in _runs(strange)]
    if not judged_count:
        raise NoDataError(
            f"no day has enough days like it before it: {len(days)} whole days here, and a day "
            "needs four of the same weekday, or four working or weekend days as it is one"
        )
    return Answer(frame=_frame(rows, keys), notes=_notes(found.window), window=found.window)


def _by_group(
    rows: Mapping[tuple[Any, ...], Row], key_count: int
) -> dict[tuple[Any, ...], dict[date, Row]]:
    """The lines of calls, by their group and then by day."""
    groups: dict[tuple[Any, ...], dict[date, Row]] = {}
    for (_line, day, *values), row in rows.items():
        if row.get("N"):
            groups.setdefault(tuple(values[-key_count:]), {})[day] = row
    return groups


def _least_differences(
    groups: Mapping[tuple[Any, ...], Mapping[date, Row]], days: Sequence[date]
) -> dict[str, Decimal]:
    """By currency, the difference that matters: a share of the median day's bill of calls."""
    bills: dict[str, dict[date, Decimal]] = {}
    for (*_, currency), by_day in groups.items():
        bill = bills.setdefault(currency, dict.fromkeys(days, Decimal(0)))
        for day, row in by_day.items():
            if day in bill:
                bill[day] += row["cost"]
    return {
        currency: LEAST_SHARE * median(bill.values()) if bill else Decimal(0)
        for currency, bill in bills.items()
    }


def _judged(by_day: Mapping[date, Row], days: Sequence[date]) -> Iterator[Strange]:
    """Every day that has enough days like it before it, with its score, usual or not."""
    costs = {day: by_day[day]["cost"] if day in by_day else Decimal(0) for day in days}
    for place, day in enumerate(days):
        alike = _alike(day, days[:place])
        if not alike:
            continue
        usual = [costs[other] for other in alike]
        like_cost = median_low(usual)
        like_day = max(other for other in alike if costs[other] == like_cost)
        middle = median(usual)
        away = float(costs[day] - middle)
        call_count = by_day[like_day]["N"] if like_day in by_day else 0
        spread = _spread(usual, middle, call_count)
        yield Strange(
            day=day,
            cost=costs[day],
            expected=middle,
            score=away / spread if spread else math.copysign(math.inf, away) if away else 0.0,
            like_day=like_day,
        )


def _spread(usual: Sequence[Decimal], middle: Decimal, call_count: int) -> float:
    """One standard deviation of `usual`, robustly, and no less than chance makes it."""
    deviation = MAD_TO_SIGMA * float(median(abs(one - middle) for one in usual))
    by_arrivals = 1 / math.sqrt(call_count) if call_count else 0.0
    return max(deviation, LEAST_SPREAD * float(middle), by_arrivals * float(middle))


def _alike(day: date, before: Sequence[date]) -> list[date]:
    """The days of `before` to compare `day` with; none where there are too few."""
    recent = [other for other in before if (day - other).days <= BASELINE_DAYS]
    alike = {
        "weekday": [other for other in recent if other.weekday() == day.weekday()],
        "working": [other for other in recent if (other.weekday() < 5) == (day.weekday() < 5)],
    }
    return next((alike[how] for how, least in LEAST_ALIKE if len(alike[how]) >= least), [])


def _is_strange(one: Strange, least_difference: Decimal) -> bool:
    return abs(one.score) > SCORE and abs(one.cost - one.expected) >= least_difference


def _runs(strange: Sequence[Strange]) -> Iterator[list[Strange]]:
    """`strange` in runs of one direction with short gaps."""
    run: list[Strange] = []
    for one in strange:
        goes_on = run and (one.score > 0) == (run[-1].score > 0)
        if run and not (goes_on and one.day - run[-1].day <= MOST_GAP):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _told(run: Sequence[Strange], by_day: Mapping[date, Row]) -> dict[str, Any]:
    cost, expected = total([one.cost for one in run]), total([one.expected for one in run])
    letter, effect = _letter(run, by_day, is_more=cost > expected)
    return {
        "day": run[0].day,
        "last_day": run[-1].day,
        "day_count": len(run),
        "cost": cost,
        "expected_cost": rounded(expected),
        "difference": cost - rounded(expected),
        "score": max((one.score for one in run), key=abs),
        "letter": letter,
        "letter_effect": effect,
    }


def _letter(
    run: Sequence[Strange], by_day: Mapping[date, Row], *, is_more: bool
) -> tuple[str, Decimal | None]:
    """The letter that adds most in the direction of the difference, over all days of the run."""
    effects = dict.fromkeys(EFFECTS, Decimal(0))
    for one in run:
        before, after = by_day.get(one.like_day), by_day.get(one.day)
        if before is None or after is None:
            return ("new" if before is None else "absent"), None
        for letter, effect in effects_of(before, after).items():
            effects[letter] += effect or 0
    letter = (max if is_more else min)(effects, key=lambda name: effects[name])
    return letter, effects[letter]


def _frame(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> pl.DataFrame:
    schema: dict[str, Any] = {"day": pl.Date, "last_day": pl.Date, "day_count": pl.Int64}
    schema |= dict.fromkeys(keys, pl.String)
    schema |= dict.fromkeys(("cost", "expected_cost", "difference"), MONEY)
    schema |= {"score": pl.Float64, "letter": pl.String, "letter_effect": MONEY}
    frame = pl.DataFrame(list(rows), schema=schema)
    ties = ["day", *keys]
    return frame.sort(pl.col("difference").abs(), *ties, descending=[True, *(False for _ in ties)])


def _notes(window: Window) -> tuple[str, ...]:
    beyond = (
        f"beyond {SCORE} deviations from the median of the days like them in the "
        f"{BASELINE_DAYS} days before, and by 1 % of a day's bill at least"
    )
    return (
        f"window: {window.text()}; days that are not whole are neither judged nor compared with",
        f"unusual are days {beyond}",
    )
