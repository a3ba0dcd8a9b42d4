"""How the time of a pool is cut for an answer, and how large its engines are in each piece.

Owns the way from a configuration and from engines' own words to a size. What an engine says of
itself goes before what the configuration says. Refuses to guess a size: it is not known then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.calendar import pieces_of
from analysis.capacity.lanes import Lane, Lanes
from analysis.capacity.sizes import Size, told_sizes
from analysis.columns import TIME_COLUMNS
from ingest.charging.pools import rates_by_pool
from ingest.charging.rates import Rate
from ingest.config import Configuration, Pool, effective_from_ns
from ingest.ledger import Connection

Instants = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """The pieces of one pool's time between `cuts`, one fewer than those.

    `times` is the value of the time column of each piece. `replicas` is at least 1.
    `kv_cache_tokens` are of one replica by the configuration, NaN where it does not say; `told` is
    what engines say, by replica, None for any.
    """

    cuts: Instants
    times: Sequence[Any]
    replicas: npt.NDArray[np.int64]
    kv_cache_tokens: Floats
    told: Mapping[str | None, Size]

    def inside(self, since: int, until: int) -> tuple[Instants, int]:
        """The cuts from `since` to `until`, both included, and the piece in which `since` lies."""
        between = self.cuts[(self.cuts > since) & (self.cuts < until)]
        first = int(np.searchsorted(self.cuts, since, side="right")) - 1
        return np.concatenate(([since], between, [until])), min(first, len(self.replicas) - 1)

    def room_of(self, lane: Lane) -> Floats:
        """KV tokens that a replica of `lane` has room for, by piece; NaN where not known."""
        told = self.told_of(lane).kv_cache_tokens
        return self.kv_cache_tokens if told is None else np.full(len(self.replicas), float(told))

    def told_of(self, lane: Lane) -> Size:
        """What the engine of `lane` says of its size, else the least that one of its pool says."""
        return self.told.get(lane.replica) or self.told.get(None) or Size()


def pieces_of_pools(
    connection: Connection, configuration: Configuration, lanes: Lanes, by: Sequence[str]
) -> dict[str, Pieces]:
    """The pieces of each pool of `lanes`, by the time column of `by`."""
    column = next((column for column in by if column in TIME_COLUMNS), None)
    times = [(None, lanes.since, lanes.until)]
    if column is not None:
        times = pieces_of(lanes.window, column)
    rates = rates_by_pool(connection)
    told = told_sizes(connection)
    pools = dict.fromkeys(lane.pool for lane in lanes.lanes)
    return {
        pool: _pieces(times, rates.get(pool, []), _entries(configuration, pool), told.get(pool, {}))
        for pool in pools
    }


def _entries(configuration: Configuration, pool: str) -> list[Pool]:
    return sorted((one for one in configuration.pools if one.name == pool), key=effective_from_ns)


def _pieces(
    times: Sequence[tuple[Any, int, int]],
    rates: Sequence[Rate],
    entries: Sequence[Pool],
    told: Mapping[str | None, Size],
) -> Pieces:
    since, until = times[0][1], times[-1][2]
    changes = {rate.effective_from for rate in rates} | {effective_from_ns(one) for one in entries}
    inner = {at for at in changes if since < at < until} | {begin for _, begin, _ in times}
    cuts = sorted(inner | {since, until})
    starts = cuts[:-1]
    in_force = [_at(entries, at) for at in starts]
    place = np.searchsorted([begin for _, begin, _ in times], starts, side="right") - 1
    return Pieces(
        cuts=np.array(cuts, dtype=np.int64),
        times=[times[number][0] for number in place],
        replicas=np.array([_replicas(rates, at) for at in starts], dtype=np.int64),
        kv_cache_tokens=_numbers([one.kv_cache_tokens if one else None for one in in_force]),
        told=told,
    )


def _at(entries: Sequence[Pool], at: int) -> Pool | None:
    """The entry in force at `at`; before the first, the first: an engine's size is no price."""
    began = [entry for entry in entries if effective_from_ns(entry) <= at]
    return began[-1] if began else next(iter(entries), None)


def _replicas(rates: Sequence[Rate], at: int) -> int:
    """As charging takes them: at least one, one where not known."""
    found = [rate.replicas for rate in rates if rate.effective_from <= at]
    return max(found[-1] or 1, 1) if found else 1


def _numbers(values: Sequence[int | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
