"""What the rest of a month is expected to cost, line by line, with draws of what it may cost.

Owns what is known of the time to come: the GPUs that are provisioned, their prices, and plans. Of a
pool of known size, busy and idle add up to what is provisioned, in every draw. Refuses replays, and
a group that has had no call for two weeks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.calendar import pieces_of
from analysis.daily_usage import DailyUsage, UsageKey
from analysis.idle_sums import provisioned_ps
from analysis.letters import PICOSECONDS_PER_S
from analysis.money import gpu_cost
from analysis.resampling import (
    DRAW_COUNT,
    Alike,
    Amounts,
    alike_of,
    drawn,
    expected,
    levelled,
    tempered,
    uniform_draws,
)
from analysis.window import Window, parse_instant, zone_named
from ingest.charging.provisioned import provisioned
from ingest.charging.rates import Rate

ENDED_DAYS = 14
"""A group without a call for so many days is taken to be over."""
NEW_AFTER_DAYS = 7
"""A group that comes so many days after the first of them is not looked for in those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestKey:
    """What tells a line of the forecast from the others."""

    line: str
    values: tuple[Any, ...]
    pool: str | None
    basis: str
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Money expected until the month ends, and one amount for each possible future."""

    expected: float
    draws: Amounts

    def plus(self, other: "Rest") -> "Rest":
        """Both together."""
        return Rest(expected=self.expected + other.expected, draws=self.draws + other.draws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The days until the month ends; the first may be what is left of the day that runs."""

    days: tuple[date, ...]
    bounds: tuple[tuple[int, int], ...]
    is_running: bool
    alike: Alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one pool offers on each day ahead: GPU-seconds, and money for one of them.

    `gpu_s` is None where its replicas are not known, `price_per_s` where it has no price.
    """

    gpu_s: Amounts | None
    price_per_s: Amounts | None
    currency: str | None

    @property
    def cost(self) -> float | None:
        """Money for all of it."""
        if self.gpu_s is None or self.price_per_s is None:
            return None
        return float((self.gpu_s * self.price_per_s).sum())


def days_ahead(window: Window, known: Sequence[date]) -> Ahead | None:
    """The days of `window`, from now to the end of the month; None where `known` are too few."""
    pieces = pieces_of(window, "day")
    days = tuple(day for day, _, _ in pieces)
    alike = alike_of(days, known)
    if alike is None or window.since is None:
        return None
    midnight = parse_instant(days[0].isoformat(), zone_named(window.timezone)) if days else 0
    return Ahead(
        days=days,
        bounds=tuple((since, until) for _, since, until in pieces),
        is_running=bool(days) and window.since > midnight,
        alike=alike,
    )


def offers_ahead(rates: Sequence[Rate], ahead: Ahead, schedule_zone: str) -> dict[str, Offer]:
    """What each pool offers on the days ahead, by its name; of rates that end before, nothing."""
    offers = {}
    for pool in sorted({rate.pool for rate in rates}):
        own = [rate for rate in rates if rate.pool == pool]
        days = [_offered(own, bounds, schedule_zone) for bounds in ahead.bounds]
        sizes, prices = [size for size, _, _ in days], [price for _, price, _ in days]
        offers[pool] = Offer(
            gpu_s=None if None in sizes else np.array(sizes, dtype=np.float64),
            price_per_s=None if None in prices else np.array(prices, dtype=np.float64),
            currency=next((currency for _, _, currency in days), None),
        )
    return offers


def rest_of_month(
    usage: DailyUsage,
    ahead: Ahead,
    offers: Mapping[str, Offer],
    *,
    by: Sequence[str],
    has_idle: bool,
) -> dict[RestKey, Rest]:
    """Expected money of each line until the month ends; idle is what of `offers` nobody uses.

    Where not `has_idle`, `usage` is of a part of the calls, and idle time is nobody's. Without
    `offers` of a pool its calls are not forecast: nothing is known of its price.
    """
    uniform = uniform_draws(len(ahead.days))
    busy: dict[str, list[tuple[RestKey, Use]]] = {}
    found: dict[RestKey, Rest] = {}
    for key in usage.whole:
        offer = offers.get(key.pool or "")
        price = offer.price_per_s if offer is not None and key.basis == "gpu" else None
        currency = offer.currency if offer is not None and key.basis == "gpu" else key.currency
        if currency is None or (key.basis == "gpu" and price is None):
            continue
        use = _use(usage, key, ahead, uniform, np.ones(len(ahead.days)) if price is None else price)
        line = "unattributed" if None in key.values else "calls"
        of_line = RestKey(
            line=line, values=key.values, pool=None, basis=key.basis, currency=currency
        )
        if key.basis == "gpu":
            busy.setdefault(key.pool or "", []).append((of_line, use))
        else:
            _add(found, of_line, use.cost)
    for pool, offer in offers.items():
        idle_key = _idle_key(pool, offer, by) if has_idle else None
        _share(found, busy.get(pool, []), offer, idle_key)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a group is expected to use until the month ends: an amount, and money for it."""

    amount: Rest
    cost: Rest

    def scaled(self, ratio: float, ratios: Amounts) -> "Use":
        """So much of it: `ratio` of what is expected, `ratios` of each draw."""
        return Use(
            amount=Rest(expected=self.amount.expected * ratio, draws=self.amount.draws * ratios),
            cost=Rest(expected=self.cost.expected * ratio, draws=self.cost.draws * ratios),
        )


def _use(usage: DailyUsage, key: UsageKey, ahead: Ahead, uniform: Amounts, prices: Amounts) -> Use:
    level = levelled(usage.whole[key], usage.days)
    factor = level * tempered(usage.whole[key] * level, usage.days)
    whole, later = usage.whole[key] * factor, usage.later[key] * factor
    nothing = Rest(expected=0.0, draws=np.zeros(uniform.shape[0]))
    if not ahead.days or not whole[-ENDED_DAYS:].any():
        return Use(amount=nothing, cost=nothing)
    first = _first_day(whole)
    alike = alike_of(ahead.days, usage.days[first:]) if first else ahead.alike
    if alike is None:
        first, alike = 0, ahead.alike
    means = expected(whole[first:], ahead.days, alike)
    draws = drawn(whole[first:], ahead.days, alike, uniform)
    if ahead.is_running:
        today, own = ahead.days[:1], {ahead.days[0]: alike[ahead.days[0]]}
        means[:1] = expected(later[first:], today, own)
        draws[:, :1] = drawn(later[first:], today, own, uniform)
    is_some = draws.sum(axis=1) > 0
    return Use(
        amount=Rest(expected=float(means.sum()), draws=np.where(is_some, draws.sum(axis=1), 0.0)),
        cost=Rest(
            expected=float((means * prices).sum()),
            draws=np.where(is_some, (draws * prices).sum(axis=1), 0.0),
        ),
    )


def _first_day(whole: Amounts) -> int:
    """The place from which on a group counts: its first day, where it is new by a week or more."""
    first = int(np.argmax(whole > 0))
    return first if first >= NEW_AFTER_DAYS else 0


def _share(
    found: dict[RestKey, Rest],
    busy: Sequence[tuple[RestKey, Use]],
    offer: Offer,
    idle_key: RestKey | None,
) -> None:
    """Adds the lines of a pool to `found`: no more busy than is offered, the rest of it idle."""
    cost = offer.cost
    if offer.gpu_s is None or cost is None:
        for key, use in busy:
            _add(found, key, use.cost)
        return
    offered = float(offer.gpu_s.sum())
    mean = sum(use.amount.expected for _, use in busy)
    draws = sum((use.amount.draws for _, use in busy), start=np.zeros(DRAW_COUNT))
    ratio = min(1.0, offered / mean) if mean > 0 else 1.0
    ratios = np.minimum(1.0, np.divide(offered, draws, out=np.ones_like(draws), where=draws > 0))
    left = Rest(expected=cost, draws=np.full(DRAW_COUNT, cost))
    for key, use in busy:
        within = use.scaled(ratio, ratios).cost
        _add(found, key, within)
        left = Rest(expected=left.expected - within.expected, draws=left.draws - within.draws)
    if idle_key is not None and cost:
        _add(found, idle_key, left)


def _idle_key(pool: str, offer: Offer, by: Sequence[str]) -> RestKey | None:
    if offer.currency is None:
        return None
    values = tuple(pool if column == "pool" else None for column in by)
    return RestKey(line="idle", values=values, pool=pool, basis="gpu", currency=offer.currency)


def _add(found: dict[RestKey, Rest], key: RestKey, rest: Rest) -> None:
    found[key] = found[key].plus(rest) if key in found else rest


def _offered(
    rates: Sequence[Rate], bounds: tuple[int, int], schedule_zone: str
) -> tuple[float | None, float | None, str | None]:
    """GPU-seconds of one pool in `bounds`, the mean price of one of them, and its currency.

    Where nothing is provisioned the price is that of the rate in force at the beginning.
    """
    offers = provisioned(rates, bounds, schedule_zone)
    sizes = [provisioned_ps(offer) for offer in offers]
    last = offers[-1].rate if offers else None
    if last is None or last.price_per_gpu_hour is None:
        return None, None, None
    known = [size for size in sizes if size is not None]
    gpu_ps = sum(known) if len(known) == len(sizes) else None
    priced = [
        (gpu_cost(size, offer.rate.price_per_gpu_hour), size)
        for offer, size in zip(offers, sizes, strict=True)
        if size and offer.rate.price_per_gpu_hour is not None
    ]
    cost = float(sum((amount for amount, _ in priced), start=Decimal(0)))
    seconds = sum(size for _, size in priced) / PICOSECONDS_PER_S
    price = cost / seconds if seconds else float(last.price_per_gpu_hour) / 3600
    return None if gpu_ps is None else gpu_ps / PICOSECONDS_PER_S, price, last.currency
