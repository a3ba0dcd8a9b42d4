"""What calls on own GPUs would cost by the token: the same tokens at the prices of their model.

Owns which offer is the cheapest and which the dearest for the tokens of a group. Refuses a model
that nobody sells, and a call that does not tell its tokens: they are counted beside.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.money import total
from analysis.window import QUARTER_NS
from ingest.charging.exchange import exchange_rows
from ingest.charging.price_windows import PriceWindow, UnitPrices
from ingest.charging.token_prices import offers_of
from ingest.config import Configuration

PER_TOKEN = Decimal("0.000001")
BUCKETS = (
    "uncached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "visible_output_tokens",
    "reasoning_tokens",
)
NO_END = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What `call_count` calls of a group cost by the token, and at whose prices."""

    cost: Decimal
    currency: str
    call_count: int
    sellers: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Listed:
    """Calls of one group, and the bills of those that have a list price at the cheapest and the
    dearest offer for each model, by currency."""

    call_count: int = 0
    cheapest: dict[str, Bill] = field(default_factory=dict)
    dearest: dict[str, Bill] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The prices of an offer in [since, until), in quarter-hours; `rate` converts them."""

    since: int
    until: int
    prices: UnitPrices
    rate: Decimal


Offers = Mapping[tuple[str, str], list[Segment]]
"""Who offers and the currency of the bill, to the prices over time."""


def listed_calls(
    sums: pl.DataFrame, cohorts: pl.DataFrame, column: str, configuration: Configuration
) -> dict[str | None, Listed]:
    """What the calls of `cohorts` would cost by the token, by the value of `column`.

    `sums` are those of the question `token_sums`; each model is priced for itself.
    """
    called = pl.coalesce("model", "model_requested")
    named = cohorts.select("cohort_id", pl.col(column).alias("value"), called=called)
    usage = (
        sums.join(named, on="cohort_id", how="inner")
        .group_by("value", "called", "quarter")
        .agg(pl.col("counted_count", "uncounted_count", *BUCKETS).sum())
    )
    found: dict[str | None, Listed] = {}
    for (model,), of_model in usage.partition_by("called", as_dict=True).items():
        offers = {} if model is None else _offers(str(model), configuration)
        for (value,), own in of_model.partition_by("value", as_dict=True).items():
            _add(found.setdefault(value, Listed()), own, offers)
    return found


def _add(listed: Listed, usage: pl.DataFrame, offers: Offers) -> None:
    """Adds the calls of one model in one group: all that tell their tokens are listed, or none."""
    counted = int(usage["counted_count"].sum())
    listed.call_count += counted + int(usage["uncounted_count"].sum())
    bills: dict[str, list[tuple[Decimal, str]]] = {}
    for (seller, currency), segments in offers.items():
        cost = _bill(usage, segments, counted)
        if cost is not None:
            bills.setdefault(currency, []).append((cost, seller))
    for currency, own in bills.items() if counted else ():
        _keep(listed.cheapest, currency, min(own), counted)
        _keep(listed.dearest, currency, max(own), counted)


def _keep(kept: dict[str, Bill], currency: str, bill: tuple[Decimal, str], call_count: int) -> None:
    before = kept.get(currency, Bill(cost=Decimal(0), currency=currency, call_count=0, sellers=()))
    cost, seller = bill
    kept[currency] = Bill(
        cost=total([before.cost, cost]),
        currency=currency,
        call_count=before.call_count + call_count,
        sellers=tuple(sorted({*before.sellers, seller})),
    )


def _bill(usage: pl.DataFrame, segments: list[Segment], counted: int) -> Decimal | None:
    """What `usage` costs at the prices of `segments`; None where they are not of all its calls."""
    priced = 0
    cost = Decimal(0)
    for segment in segments:
        own = usage.filter(pl.col("quarter") >= segment.since, pl.col("quarter") < segment.until)
        priced += int(own["counted_count"].sum())
        for bucket, price in _by_bucket(segment.prices).items():
            tokens = int(own[bucket].sum())
            cost = total([cost, tokens * price * PER_TOKEN * segment.rate])
        requests = segment.prices.per_request or Decimal(0)
        cost = total([cost, int(own["counted_count"].sum()) * requests * segment.rate])
    return cost if priced == counted else None


def _by_bucket(prices: UnitPrices) -> dict[str, Decimal]:
    """Money per million tokens of each bucket; one without a price of its own has another's."""
    read, write = prices.input_per_mtok or Decimal(0), prices.output_per_mtok or Decimal(0)
    return {
        "uncached_input_tokens": read,
        "cache_read_tokens": _or(prices.cache_read_per_mtok, read),
        "cache_write_tokens": _or(prices.cache_write_per_mtok, read),
        "visible_output_tokens": write,
        "reasoning_tokens": _or(prices.reasoning_per_mtok, write),
    }


def _or(price: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if price is None else price


def _offers(model: str, configuration: Configuration) -> dict[tuple[str, str], list[Segment]]:
    rates = exchange_rows(configuration)
    found: dict[tuple[str, str], list[Segment]] = {}
    for seller, windows in offers_of(
        model, configuration.token_prices, configuration.currency
    ).items():
        for window in windows:
            own = [rate for rate in rates if rate["source"] == window.currency]
            currency = configuration.currency if own else window.currency
            found.setdefault((seller, currency), []).extend(_segments(window, own))
    return found


def _segments(window: PriceWindow, rates: list[dict[str, Any]]) -> Iterator[Segment]:
    """The prices of `window` as long as each of `rates` holds; without any, as they are."""
    for rate in rates or [{"since": 0, "until": None, "rate": Decimal(1)}]:
        since = max(window.since, rate["since"]) // QUARTER_NS
        until = min(_quarter(window.until), _quarter(rate["until"]))
        if since < until:
            yield Segment(since=since, until=until, prices=window.prices, rate=rate["rate"])


def _quarter(at: int | None) -> int:
    return NO_END if at is None else at // QUARTER_NS
