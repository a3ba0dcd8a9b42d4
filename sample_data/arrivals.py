"""When somebody asks: bursts of people inside the hours in which an endpoint is open.

Owns random streams by name, and arrivals by hour and weekday. Refuses to know what is asked.
"""

import math
from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

from sample_data import company
from sample_data.company import SECOND_NS
from sample_data.provisioning import Windows, days, local_ns, open_windows
from sample_data.shapes import SHAPES

FIRST_DAY = date(2026, 9, 1)
LAST_DAY = date(2026, 10, 31)
LAST_ARRIVAL_BEFORE_CLOSE_S = 480


def stream(name: str) -> Random:
    """A random stream of its own, so that one endpoint's draws do not move another's."""
    return Random(f"{company.SEED}/{name}")


def length(random: Random, median: float, sigma: float, most: int) -> int:
    """A log-normal number of tokens around `median`, at least 8."""
    return max(8, min(most, round(median * math.exp(random.gauss(0.0, sigma)))))


def bursts(random: Random, route: str, windows: Windows) -> Iterator[int]:
    """Arrival instants in `windows`: bursts of people, each a few seconds after the other."""
    shape = SHAPES["bursts"][route]
    for day in days(FIRST_DAY, LAST_DAY):
        per_day = shape["per_day"]
        if isinstance(per_day, dict):
            per_day = per_day[f"{day:%Y-%m}"]
        opened = open_windows(windows, day)
        if not opened:
            continue
        weight = SHAPES["weekday_weight"][day.weekday()]
        for _ in range(round(per_day * weight * random.uniform(0.8, 1.2))):
            yield from _burst(random, shape, _instant(random, day, opened), opened)


def _burst(
    random: Random, shape: dict[str, Any], began: int, opened: list[tuple[int, int]]
) -> Iterator[int]:
    instant = began
    for _ in range(1 + round(random.expovariate(1.0 / (shape["mean_visits"] - 1)))):
        if any(opens <= instant < closes - _margin(closes - opens) for opens, closes in opened):
            yield instant
        instant += round(random.expovariate(1.0 / shape["mean_gap_s"]) * 1e6) * 1_000


def _margin(width: int) -> int:
    return LAST_ARRIVAL_BEFORE_CLOSE_S * SECOND_NS if width < 20 * 3_600 * SECOND_NS else 0


def _instant(random: Random, day: date, opened: list[tuple[int, int]]) -> int:
    """A random instant of `day` inside `opened`, by the weights of its hours."""
    quarters = [quarter / 4 for quarter in range(96)]
    inside = [
        hour
        for hour in quarters
        if any(opens <= local_ns(day, hour) < closes for opens, closes in opened)
    ]
    weights = [SHAPES["hour_weight"][int(hour)] for hour in inside]
    hour = random.choices(inside, weights)[0]
    return local_ns(day, hour) + round(random.random() * 900 * 1e6) * 1_000
