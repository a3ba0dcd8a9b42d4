"""Which of identical requests an answer was there for, under a rule that says how long it is.

Owns the walk through each group: the first request that was answered is computed, those that find
its answer are not, and the next that finds none is computed again. Refuses to know what a request
is: it is given groups and instants.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]

FEW_GROUPS = 64
"""So many groups are walked one by one; more of them a step of each at a time."""
NO_SOURCE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Requests sorted by group, then by `begun_at`.

    The answer of request i can be found from `opens_at[i]` up to but without `closes_at[i]`, in
    the unit of `begun_at`; where it was not answered these do not matter.
    """

    groups: Whole
    begun_at: Whole
    opens_at: Whole
    closes_at: Whole
    is_answered: npt.NDArray[np.bool_]


def sources(requests: Requests) -> Whole:
    """For each request the place of the one whose answer it finds, `NO_SOURCE` for none."""
    count = requests.groups.size
    opened = np.full(count, NO_SOURCE, dtype=np.int64)
    closed = np.zeros(count + 1, dtype=bool)
    following = _next_answered(requests.is_answered)
    ends = _ends(requests.groups)
    at = np.concatenate(([0], ends[:-1])) if count else ends
    while at.size > FEW_GROUPS:
        first = following[at]
        is_there = first < ends
        first, ends = first[is_there], ends[is_there]
        low = _lower_bounds(requests.begun_at, requests.opens_at[first], first + 1, ends)
        high = _lower_bounds(requests.begun_at, requests.closes_at[first], low, ends)
        is_found = low < high
        opened[low[is_found]] = first[is_found]
        closed[high[is_found]] = True
        is_open = high < ends
        at, ends = high[is_open], ends[is_open]
    for begin, end in zip(at.tolist(), ends.tolist(), strict=True):
        for low_at, high_at, source in _ranges(requests, following, begin, end):
            opened[low_at] = source
            closed[high_at] = True
    return _filled(opened, closed[:count])


def _ranges(
    requests: Requests, following: Whole, begin: int, end: int
) -> Iterator[tuple[int, int, int]]:
    """The ranges of one group from `begin` on that find an answer, each with its source."""
    instants = requests.begun_at[begin:end].tolist()
    first = int(following[begin])
    while first < end:
        opens_at, closes_at = int(requests.opens_at[first]), int(requests.closes_at[first])
        low = bisect_left(instants, opens_at, first + 1 - begin) + begin
        high = bisect_left(instants, closes_at, low - begin) + begin
        if low < high:
            yield low, high, first
        if high >= end:
            return
        first = int(following[high])


def _ends(groups: Whole) -> Whole:
    """The place behind the last request of each group."""
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    return np.concatenate((changes, [groups.size])) if groups.size else np.zeros(0, np.int64)


def _next_answered(is_answered: npt.NDArray[np.bool_]) -> Whole:
    """For each place the first one from there on that was answered, the count where none is."""
    places = np.where(is_answered, np.arange(is_answered.size), is_answered.size)
    following: Whole = np.minimum.accumulate(places[::-1])[::-1]
    return following


def _lower_bounds(values: Whole, wanted: Whole, low: Whole, high: Whole) -> Whole:
    """The first places from `low` on, before `high`, whose value is not below that `wanted`."""
    low, high = low.copy(), high.copy()
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_below = is_open & (values[np.minimum(middle, values.size - 1)] < wanted)
        low = np.where(is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    return low


def _filled(opened: Whole, closed: npt.NDArray[np.bool_]) -> Whole:
    """The source of every place, of ranges that begin in `opened` and end before `closed`."""
    marks = np.where(opened != NO_SOURCE, opened, np.where(closed, -2, NO_SOURCE))
    places = np.where(marks != NO_SOURCE, np.arange(marks.size), 0)
    latest = marks[np.maximum.accumulate(places)] if marks.size else marks
    found: Whole = np.where(latest < 0, NO_SOURCE, latest)
    return found
