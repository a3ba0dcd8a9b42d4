"""What a saving is worth: GPU-seconds and money by currency, and where most of it is.

Owns the step from rates to money, each piece at its own price. Refuses to add currencies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from analysis.money import gpu_cost, total_of
from analysis.savings import Saving
from ingest.charging.rates import Rate

BILLIONTH = Decimal("0.000000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Whole GPU-picoseconds and exact money; `cost` is None where there is no price."""

    gpu_ps: int = 0
    cost: Decimal | None = None

    def plus(self, other: "Amount") -> "Amount":
        """Both together; what has no price adds none."""
        return Amount(gpu_ps=self.gpu_ps + other.gpu_ps, cost=total_of([self.cost, other.cost]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """A saving by currency and by endpoint; currency None is of GPU-seconds without a price."""

    call_count: int
    unpriced_call_count: int
    by_currency: Mapping[str | None, Amount]
    by_endpoint: Mapping[str | None, Amount]

    @property
    def gpu_ps(self) -> int:
        """GPU-picoseconds in all currencies."""
        return sum(amount.gpu_ps for amount in self.by_currency.values())

    @property
    def only_cost(self) -> Decimal | None:
        """The money, where all of it is in one currency and every GPU-second has a price."""
        amounts = list(self.by_currency.values())
        return amounts[0].cost if len(amounts) == 1 else None


class Pricing:
    """What turns a saving into money: the price of each rate, and the endpoint of each cohort."""

    def __init__(self, rates: Iterable[Rate], cohorts: pl.DataFrame) -> None:
        self._rates = {rate.rate_id: rate for rate in rates}
        self._endpoints = dict(cohorts.select("cohort_id", "endpoint").iter_rows())

    def worth(self, saving: Saving) -> Worth:
        """What `saving` is worth, each piece at its own price."""
        parts = [
            *((cohort, *self._charged(int(rate), gpu_ps))
              for (cohort, rate), gpu_ps in saving.gpu_ps.items()),
            *((cohort, str(currency), Amount(cost=billionths * BILLIONTH))
              for (cohort, currency), billionths in saving.billionths.items()),
        ]  # fmt: skip
        by_currency: dict[str | None, Amount] = {}
        by_endpoint: dict[str | None, Amount] = {}
        for cohort, currency, amount in parts:
            by_currency[currency] = by_currency.get(currency, Amount()).plus(amount)
            endpoint = self._endpoints[cohort]
            by_endpoint[endpoint] = by_endpoint.get(endpoint, Amount()).plus(amount)
        return Worth(
            call_count=saving.call_count,
            unpriced_call_count=saving.unpriced_call_count,
            by_currency=by_currency,
            by_endpoint=by_endpoint,
        )

    def _charged(self, rate_id: int, gpu_ps: int) -> tuple[str | None, Amount]:
        rate = self._rates[rate_id]
        price = rate.price_per_gpu_hour
        if price is None:
            return None, Amount(gpu_ps=gpu_ps)
        return rate.currency, Amount(gpu_ps=gpu_ps, cost=gpu_cost(gpu_ps, price))
