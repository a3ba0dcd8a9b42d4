"""Which calls an engine's own metrics are to be held against.

Owns the way from the labels of a series to a pool and a replica. Refuses to guess: an engine of
which neither a pool nor a model is known has no calls held against it.

- The pool is what a label `pool` or the scrape says; else that of the calls that name the engine's
  instance, or its pod, as their replica; else the one in which the calls of its model are.
- Replicas are told apart where every call of the pool names one, and every engine of the pool is
  one of those. Else the engines of the pool are one unit.
- Where no pool is known, the calls are those of the model that are in no pool either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.engine_sources import Read, Row, engines_of, marks_of, read_of
from analysis.selection import PRODUCTION, read_cohorts
from analysis.sql import question_named, run_question
from ingest.ledger import Connection

MODEL_KEY = "\0model "
"""What begins the key of a model in no pool; no name of a pool does."""
_TOLD = ("model", "instance", "pool_reported")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One engine, with what is read of it."""

    engine: str
    model: str | None
    pool: str | None
    replica: str | None
    instance: str | None
    read: Read


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Engines whose metrics are held together against the same calls; `places` are their numbers.

    `pool_number` numbers the pools of `Units`, and the models of calls in no pool; None where the
    engine is of neither.
    """

    engine: str
    pool: str | None
    replica: str | None
    model: str | None
    places: tuple[int, ...]
    pool_number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """All places and units of a ledger; `cohort_pools` has the pool number of each cohort."""

    places: tuple[Place, ...]
    units: tuple[Unit, ...]
    cohort_pools: Mapping[int, int]
    by_replica: tuple[int, ...]

    def series_of(self, *metrics: str) -> dict[int, int]:
        """Series to the number of its place, of these metrics or of all."""
        return {
            series_id: number
            for number, place in enumerate(self.places)
            for metric, found in place.read.series.items()
            if not metrics or metric in metrics
            for series_id in found
        }

    def silent(self) -> dict[str, list[int]]:
        """The series of which a stretch is not read, and its bounds, as the questions name them."""
        found = [item for place in self.places for item in place.read.silent.items()]
        return {
            "silent_ids": [series_id for series_id, _ in found],
            "silent_since": [since for _, (since, _) in found],
            "silent_until": [until for _, (_, until) in found],
        }

    def units_of_places(self) -> dict[int, int]:
        """Number of a place to that of its unit."""
        return {place: n for n, unit in enumerate(self.units) for place in unit.places}

    def unit_keys(self) -> dict[str, int]:
        """What the questions call a unit, "pool/replica", to its number."""
        return {
            f"{unit.pool_number}/{unit.replica or ''}": number
            for number, unit in enumerate(self.units)
            if unit.pool_number is not None
        }


def read_units(connection: Connection) -> Units:
    """The engines of the ledger and the calls that are held against each."""
    series = run_question(connection, question_named("engine_series"))
    replicas = run_question(connection, question_named("engine_replicas"))
    cohorts = read_cohorts(connection, {"origin": PRODUCTION})
    pools = _Pools.of(cohorts.filter(pl.col("pool").is_not_null()), replicas)
    places = [_place(rows, pools) for rows in engines_of(series)]
    merged = {place.pool for place in places if place.replica is None}
    by_replica = pools.named - merged
    places = [
        place if place.pool in by_replica else replace(place, replica=None) for place in places
    ]
    grouped: dict[tuple[str | None, str | None], list[int]] = {}
    for number, place in enumerate(places):
        whose = (_pool_key(place.pool, place.model), place.replica or _alone(place))
        grouped.setdefault(whose, []).append(number)
    keys = {
        cohort_id: key
        for cohort_id, pool, model in cohorts.select("cohort_id", "pool", "model").iter_rows()
        if (key := _pool_key(pool, model)) is not None
    }
    numbers = {key: number for number, key in enumerate(sorted(set(keys.values())))}
    return Units(
        places=tuple(places),
        units=tuple(
            Unit(
                engine=", ".join(sorted({places[number].engine for number in members})),
                pool=places[members[0]].pool,
                replica=places[members[0]].replica,
                model=_one({places[number].model for number in members}),
                places=tuple(members),
                pool_number=None if key is None else numbers.get(key),
            )
            for (key, _), members in grouped.items()
        ),
        cohort_pools={cohort_id: numbers[key] for cohort_id, key in keys.items()},
        by_replica=tuple(numbers[pool] for pool in sorted(by_replica)),
    )


def _pool_key(pool: str | None, model: str | None) -> str | None:
    """What tells the calls of one pool, or of one model in no pool, from others."""
    if pool is not None:
        return pool
    return None if model is None else MODEL_KEY + model


def _alone(place: Place) -> str | None:
    """The instance of an engine of which nothing else is known, engine and all."""
    is_known = place.pool is not None or place.model is not None
    return None if is_known else f"{place.engine} {place.instance or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pools:
    """The pools of the calls: of a model, of a replica, and those whose calls all name theirs."""

    named: frozenset[str]
    of_model: Mapping[str, frozenset[str]]
    of_replica: Mapping[str, frozenset[str]]

    @staticmethod
    def of(cohorts: pl.DataFrame, replicas: pl.DataFrame) -> "_Pools":
        of_model: dict[str, set[str]] = {}
        for columns in (("model", "pool"), ("model_requested", "pool")):
            for model, pool in cohorts.select(columns).unique().iter_rows():
                if model is not None:
                    of_model.setdefault(model, set()).add(pool)
        of_replica: dict[str, set[str]] = {}
        silent: set[str] = set()
        for pool, replica in replicas.iter_rows():
            if replica is None:
                silent.add(pool)
            else:
                of_replica.setdefault(replica, set()).add(pool)
        known = frozenset(cohorts["pool"].to_list())
        return _Pools(
            named=known - silent,
            of_model={model: frozenset(pools) for model, pools in of_model.items()},
            of_replica={replica: frozenset(pools) for replica, pools in of_replica.items()},
        )


def _place(rows: Sequence[Row], pools: _Pools) -> Place:
    model, instance, reported = (_first(rows, name) for name in _TOLD)
    names = marks_of(rows)
    told = {name: pools.of_replica[name] for name in names if name in pools.of_replica}
    pool = (
        reported
        or _one({pool for found in told.values() for pool in found})
        or _one(pools.of_model.get(model or "", frozenset()))
    )
    own = {name for name, found in told.items() if pool in found}
    return Place(
        engine=str(rows[0]["engine"]),
        model=model,
        pool=pool,
        replica=_one(own),
        instance=instance,
        read=read_of(rows),
    )


def _first(rows: Sequence[Row], column: str) -> str | None:
    """The first value that is told."""
    return next((str(row[column]) for row in rows if row[column] is not None), None)


def _one(found: "frozenset[str] | set[str] | set[str | None]") -> str | None:
    """The only one of `found`; None where there is none or several."""
    return next(iter(found)) if len(found) == 1 else None
