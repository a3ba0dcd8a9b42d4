"""Lanes: what shares the memory of one engine, and the calls on them as arrays, stretch by stretch.

Owns which calls share a lane: those of a replica. On a day of UTC on which some call of a pool
names none, all that begin are on one lane, spread evenly over the replicas. Refuses to sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.errors import NoDataError
from analysis.extent import bounded, extent_of, no_calls
from analysis.selection import Filters, read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.charging.estimates import stored_paces, time_calls
from ingest.charging.pieces import DAY_NS
from ingest.ledger import Connection

LANE_FILTERS = ("pool", "replica", "origin")
"""What an answer about lanes may be filtered by."""

DAYS = 1_000_000
"""More than the days since 1970: what the number of a pool is multiplied by in the key of a day."""

STRETCH_CALLS = 1_000_000
"""About so many calls are in memory at once."""

NO_POOL = (
    "no call here is served by a pool: only where GPUs are known can it be said what they have "
    "room for; configure [[pools]], see docs/configuration.md"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A replica of a pool; where `replica` is None all of them, on days that do not tell them."""

    pool: str
    replica: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The lanes of an answer; `cohorts` has the selected cohorts, `window` both bounds.

    `silent` has the days since 1970 on which some call of a pool names no replica. `call_count` is
    of all calls of the origin, in the window or not.
    """

    lanes: tuple[Lane, ...]
    silent: Mapping[str, Sequence[int]]
    cohorts: pl.DataFrame
    window: Window
    since: int
    until: int
    call_count: int

    def values(self) -> dict[str, Any]:
        """What a question binds to find the calls on these lanes, but for the stretch."""
        pools = list(dict.fromkeys(lane.pool for lane in self.lanes))
        numbers = {pool: number for number, pool in enumerate(pools)}
        cohorts = self.cohorts.filter(pl.col("pool").is_in(pools))
        return {
            "cohort_ids": cohorts["cohort_id"].to_list(),
            "pool_numbers": [numbers[pool] for pool in cohorts["pool"].to_list()],
            "silent_days": [
                numbers[pool] * DAYS + day for pool in pools for day in self.silent.get(pool, ())
            ],
            "lane_keys": [f"{numbers[lane.pool]}/{lane.replica or ''}" for lane in self.lanes],
            "lane_numbers": list(range(len(self.lanes))),
        }

    def silent_days(self, pool: str) -> int:
        """Days in the window on which some call of `pool` names no replica."""
        first, last = self.since // DAY_NS, (self.until - 1) // DAY_NS
        return sum(first <= day <= last for day in self.silent.get(pool, ()))

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The window cut so that each part has about `STRETCH_CALLS` calls, if they are even."""
        count = -(-max(self.call_count, 1) // STRETCH_CALLS)
        edges = np.linspace(self.since, self.until, count + 1).astype(np.int64).tolist()
        edges[0], edges[-1] = self.since, self.until
        yield from pairwise(edges)


def lanes_of(connection: Connection, *, window: Window, where: Filters | None) -> Lanes:
    """The lanes that `where` selects, in the order of pool and replica.

    Raises `NoDataError` where no call is in the window, or none of them is served by a pool.
    """
    asked = dict(where or {})
    any_replica = "replica" not in asked
    replica = asked.pop("replica", None)
    filters = selected(asked)
    resolved = bounded(connection, window, filters)
    if resolved.since is None or resolved.until is None:
        raise no_calls(connection, window, filters)
    cohorts = read_cohorts(connection, filters).filter(pl.col("pool").is_not_null())
    if cohorts.is_empty():
        raise NoDataError(NO_POOL)
    replicas = run_question(connection, question_named("engine_replicas"))
    lanes = [
        lane
        for lane in _lanes(replicas, frozenset(cohorts["pool"].to_list()))
        if any_replica or lane.replica == replica
    ]
    days = run_question(connection, question_named("lane_days"))
    silent = dict(days.group_by("pool").agg("day").iter_rows())
    time_calls(connection, stored_paces(connection))
    return Lanes(
        lanes=tuple(lanes),
        silent=silent,
        cohorts=cohorts,
        window=resolved,
        since=resolved.since,
        until=resolved.until,
        call_count=extent_of(connection, filters).call_count,
    )


def _lanes(replicas: pl.DataFrame, pools: frozenset[str]) -> Iterator[Lane]:
    found: dict[str, list[str | None]] = {}
    for pool, replica in replicas.iter_rows():
        if pool in pools:
            found.setdefault(pool, []).append(replica)
    for pool, names in sorted(found.items()):
        for name in sorted(names, key=lambda name: (name is None, name or "")):
            yield Lane(pool=pool, replica=name)


def by_lane(rows: pl.DataFrame) -> Iterator[tuple[int, Mapping[str, npt.NDArray[Any]]]]:
    """The columns of `rows`, which are in the order of `lane_number`, of one lane after another."""
    numbers = rows["lane_number"].to_numpy()
    edges = np.flatnonzero(np.diff(numbers)) + 1
    columns = {name: rows[name].to_numpy() for name in rows.columns if name != "lane_number"}
    for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(numbers)], strict=True):
        if end > begin:
            yield int(numbers[begin]), {name: found[begin:end] for name, found in columns.items()}
