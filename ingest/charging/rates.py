"""What a pool is made of and costs, over time: rates, each constant over a half-open stretch.

Owns how configured pools become rates, and over which stretches two sets of rates charge
differently. Refuses to guess a size: before its first entry a pool has the GPUs of that entry but
no known replicas and no price, and a pool that only telemetry names has one GPU a replica.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from ingest.charging.schedule import ScheduleWindow, parse_window
from ingest.config import Configuration, Pool, effective_from_ns

BEGINNING = 0
"""The first instant of the first rate of each pool; no call is older (`ingest.calls.timing`)."""
ALWAYS = "always"

RateKey = tuple[str, int]
"""Pool and first instant: what keeps the number of a rate when anything else of it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One pool over one stretch of time with constant size and price: a row of `pools`."""

    rate_id: int
    pool: str
    effective_from: int
    effective_to: int | None
    gpu: str | None
    gpus_per_replica: float
    replicas: int | None
    price_per_gpu_hour: Decimal | None
    currency: str | None
    schedule: str
    is_configured: bool

    @property
    def key(self) -> RateKey:
        """What identifies this rate from one configuration to the next."""
        return self.pool, self.effective_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of one pool's time; `to` is None where it has no end."""

    pool: str
    since: int
    to: int | None


def configured_rates(
    configuration: Configuration,
    implicit_pools: Iterable[str],
    known_ids: Mapping[RateKey, int],
) -> list[Rate]:
    """The rates of all pools, by pool and time; each keeps its number in `known_ids`."""
    unnumbered = [
        rate
        for name in sorted({pool.name for pool in configuration.pools})
        for rate in _pool_rates(name, configuration)
    ]
    unnumbered += [_implicit_rate(name) for name in sorted(set(implicit_pools))]
    fresh = itertools.count(max(known_ids.values(), default=0) + 1)
    return [
        replace(rate, rate_id=known_ids[rate.key] if rate.key in known_ids else next(fresh))
        for rate in unnumbered
    ]


def _pool_rates(name: str, configuration: Configuration) -> Iterator[Rate]:
    entries = sorted(
        (pool for pool in configuration.pools if pool.name == name),
        key=effective_from_ns,
    )
    if effective_from_ns(entries[0]) > BEGINNING:
        yield replace(
            _configured_rate(entries[0], effective_from_ns(entries[0]), configuration.currency),
            effective_from=BEGINNING,
            replicas=None,
            price_per_gpu_hour=None,
            currency=None,
            schedule=ALWAYS,
            is_configured=False,
        )
    for entry, following in itertools.pairwise([*entries, None]):
        if entry is not None:
            to = None if following is None else effective_from_ns(following)
            yield _configured_rate(entry, to, configuration.currency)


def _configured_rate(entry: Pool, to: int | None, currency: str) -> Rate:
    is_priced = entry.price_per_gpu_hour is not None
    schedule = ALWAYS
    if entry.schedule != ALWAYS:
        schedule = msgspec.json.encode(entry.schedule).decode()
        schedule_windows(schedule)
    return Rate(
        rate_id=0,
        pool=entry.name,
        effective_from=effective_from_ns(entry),
        effective_to=to,
        gpu=entry.gpu,
        gpus_per_replica=entry.gpus_per_replica,
        replicas=entry.replicas,
        price_per_gpu_hour=entry.price_per_gpu_hour,
        currency=currency if is_priced else None,
        schedule=schedule,
        is_configured=True,
    )


def schedule_windows(schedule: str) -> list[ScheduleWindow]:
    """The windows that the column `schedule` of a rate lists.

    Raises `ConfigurationError` where one is not understood.
    """
    return [parse_window(text) for text in msgspec.json.decode(schedule, type=list[str])]


def _implicit_rate(name: str) -> Rate:
    return Rate(
        rate_id=0,
        pool=name,
        effective_from=BEGINNING,
        effective_to=None,
        gpu=None,
        gpus_per_replica=1,
        replicas=None,
        price_per_gpu_hour=None,
        currency=None,
        schedule=ALWAYS,
        is_configured=False,
    )


def charged_differently(before: Sequence[Rate], after: Sequence[Rate]) -> list[Stretch]:
    """The stretches over which GPU-seconds, or the rate they belong to, are not the same.

    A price, a currency, a schedule or a GPU's name changes money or idle time, and no charge.
    """
    stretches = []
    for pool in sorted({rate.pool for rate in (*before, *after)}):
        old, new = _of_pool(before, pool), _of_pool(after, pool)
        cuts = sorted({rate.effective_from for rate in (*old, *new)})
        for since, to in itertools.pairwise([*cuts, None]):
            if since is not None and _charging_at(old, since) != _charging_at(new, since):
                stretches.append(Stretch(pool=pool, since=since, to=to))
    return stretches


def _of_pool(rates: Sequence[Rate], pool: str) -> list[Rate]:
    return [rate for rate in rates if rate.pool == pool]


def _charging_at(rates: Sequence[Rate], at: int) -> tuple[int, float, int | None] | None:
    for rate in rates:
        if rate.effective_from <= at and (rate.effective_to is None or at < rate.effective_to):
            return rate.rate_id, rate.gpus_per_replica, rate.replicas
    return None
