"""Costs of days to come, drawn from whole days that are like them.

Owns the statistics of a forecast (docs/forecast.md): which days are like a day, how far one unusual
day may count, and how wide the draws are. Refuses a trend: the days to come are taken to be like
the days drawn from, which are brought to the level of the last days where that has changed.

A day to come is like the days of its weekday, where there are three of them, else like the working
days or the weekends. It is expected to cost their mean, in which no day counts for more than its
median times the bound of `tempered`. Its draws are those days, one at random each, with their
distances from the mean widened by `sqrt((1 + m / n) * n / (n - 1))`, for m days to come that share
n days drawn from: a day varies about the mean, and the mean itself is only known from n days. So
the sum of m draws has the variance of a prediction, `m * s**2 * (1 + m / n)`, not of a sample. And
as that variance too is only known from few days, the distances are widened by the quotient of
Student's t and the normal quantile.
"""

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Amounts = npt.NDArray[np.float64]
"""Money or GPU-seconds."""

INTERVAL_RATIO = 0.9
"""The share of futures that an interval is to hold."""
Counts = npt.NDArray[np.int64]
DRAW_COUNT = 4_000
SEED = 20_261_101
LEAST_OF_WEEKDAY = 3
LEAST_OF_KIND = 2
LEAST_DAYS = 3
MAD_TO_SIGMA = 1.4826
MOST_DEVIATIONS = 3.5
"""Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993."""
LEAST_SPREAD = 0.05
SHRUNK = {2: 0.71, 3: 0.47, 4: 0.72, 5: 0.73, 6: 0.78, 7: 0.82}
"""What the robust deviation about the median of so few normal days is of the true one, by drawing
200,000 of them."""
MANY_SHRUNK = 0.83
CHANGED_DAYS = 3
"""So many last days in a row on one side of all usual days make a new level."""
USUAL_DEVIATIONS = 2.0

Alike = Mapping[date, tuple[int, ...]]
"""A day to come to the places, among the days known, of those that it is like."""


def uniform_draws(day_count: int, seed: int = SEED) -> Amounts:
    """Numbers from 0 to 1, a row for each draw and a column for each day to come."""
    return np.random.default_rng(seed).random((DRAW_COUNT, day_count))


def alike_of(coming: Sequence[date], known: Sequence[date]) -> Alike | None:
    """Which of `known` each day of `coming` is like; None where one has too few of them."""
    found: dict[date, tuple[int, ...]] = {}
    for day in coming:
        of_weekday = [at for at, one in enumerate(known) if one.weekday() == day.weekday()]
        of_kind = [at for at, one in enumerate(known) if _is_weekend(one) == _is_weekend(day)]
        if len(of_weekday) >= LEAST_OF_WEEKDAY:
            found[day] = tuple(of_weekday)
        elif len(of_kind) >= LEAST_OF_KIND:
            found[day] = tuple(of_kind)
        elif len(known) >= LEAST_DAYS:
            found[day] = tuple(range(len(known)))
        else:
            return None
    return found


def levelled(amounts: Amounts, days: Sequence[date]) -> Amounts:
    """By what each day is to be multiplied to have the level of the last days.

    The level has changed where at least the last three days that are like any before them are all
    above those by more than two robust deviations, or all below. The days before them are then
    multiplied by the median of what the last are of their like.
    """
    factor = np.ones_like(amounts)
    for first in range(len(days) // 2, len(days) - CHANGED_DAYS + 1):
        ratios, counts = _of_usual(amounts, days, first)
        last = ratios[first:][counts[first:] > 0]
        usual = USUAL_DEVIATIONS * _spread(ratios[:first], counts[:first])
        is_changed = (last > 1 + usual).all() or (last < 1 - usual).all()
        if len(last) >= CHANGED_DAYS and is_changed:
            factor[:first] = np.median(last)
            break
    return factor


def tempered(amounts: Amounts, days: Sequence[date]) -> Amounts:
    """By what each day is to be multiplied so that one unusual day cannot carry a forecast.

    A day above the median of its weekday by more than 3.5 robust deviations is brought down to
    that; the deviation is that of all days from the medians of their weekdays, as a ratio, and is
    taken to be at least 5 %. Days whose median is 0 stay.
    """
    ratios, counts = _of_usual(amounts, days, len(days))
    most = 1 + MOST_DEVIATIONS * _spread(ratios, counts)
    return np.where(ratios > most, most / np.maximum(ratios, most), 1.0)


def expected(amounts: Amounts, coming: Sequence[date], alike: Alike) -> Amounts:
    """The mean of the days that each day of `coming` is like."""
    return np.array([amounts[list(alike[day])].mean() for day in coming])


def drawn(amounts: Amounts, coming: Sequence[date], alike: Alike, uniform: Amounts) -> Amounts:
    """A column for each day of `coming`, a row for each of `uniform`; their sums are predictions.

    One row of `uniform` stands for one possible future: series that are drawn with the same rows
    have the same days drawn where they are alike to the same days.
    """
    shared = list(alike.values())
    unsure = _unsure(shared)
    columns = np.empty((uniform.shape[0], len(coming)))
    for place, day in enumerate(coming):
        places = np.array(alike[day])
        known = amounts[places]
        count = len(places)
        as_mean = (1 + shared.count(alike[day]) / count) * count / max(count - 1, 1)
        widened = unsure * np.sqrt(as_mean)
        picked = known[(uniform[:, place] * count).astype(np.int64)]
        columns[:, place] = known.mean() + widened * (picked - known.mean())
    return columns


def interval(sums: Amounts) -> tuple[float, float]:
    """The bounds between which `INTERVAL_RATIO` of `sums` lie, as many above as below."""
    low, high = np.quantile(sums, [(1 - INTERVAL_RATIO) / 2, (1 + INTERVAL_RATIO) / 2])
    return float(low), float(high)


def _unsure(shared: Sequence[tuple[int, ...]]) -> float:
    """By how much wider an interval is for a variance that is known from so many days only."""
    freedom = max(sum(len(places) - 1 for places in set(shared)), 1)
    upper = (1 + INTERVAL_RATIO) / 2
    return float(stdtrit(freedom, upper) / ndtri(upper))


def _of_usual(amounts: Amounts, days: Sequence[date], count: int) -> tuple[Amounts, Counts]:
    """Each day over the median of its weekday among the first `count` days, and how many those are.

    Where that median is 0 the ratio is 1 and the count 0.
    """
    weekdays = np.array([day.weekday() for day in days])
    ratios, counts = np.ones(len(days)), np.zeros(len(days), dtype=np.int64)
    for weekday in range(7):
        own = amounts[:count][weekdays[:count] == weekday]
        usual = float(np.median(own)) if own.size else 0.0
        if usual > 0:
            ratios[weekdays == weekday] = amounts[weekdays == weekday] / usual
            counts[weekdays == weekday] = own.size
    return ratios, counts


def _spread(ratios: Amounts, counts: Counts) -> float:
    """The robust deviation of `ratios` from 1, at least 5 %, as if the medians were sure."""
    shrunk = np.array([SHRUNK.get(int(count), MANY_SHRUNK) for count in counts])
    away = (np.abs(ratios - 1) / shrunk)[counts > 1]
    if not away.size:
        return LEAST_SPREAD
    return max(MAD_TO_SIGMA * float(np.median(away)), LEAST_SPREAD)


def _is_weekend(day: date) -> bool:
    return day.weekday() >= 5
