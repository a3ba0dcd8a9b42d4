"""Idle time in two periods: what its change is made of.

Owns the three causes of it: price, provisioned GPU-seconds, busy GPU-seconds. Idle money is the
difference of two products, price x provisioned - price x busy, each with the mean price of its
own; each product is split as `analysis.decomposition` splits it. Refuses letters: no call is idle.
"""

from dataclasses import dataclass
from decimal import Decimal

from analysis.decomposition import product_effects
from analysis.letters import PICOSECONDS_PER_S, price_per_s
from analysis.lines import IdleSums
from analysis.money import rounded_to_total

IDLE_EFFECTS = ("idle_price", "idle_provisioned", "idle_busy")
NO_IDLE_EFFECTS: dict[str, Decimal | None] = dict.fromkeys(IDLE_EFFECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Money as GPU-seconds times a price; `price_per_s` is None of no GPU-second."""

    gpu_s: float
    price_per_s: float | None


def idle_effects(
    before: IdleSums | None, after: IdleSums | None, change: Decimal
) -> dict[str, Decimal | None]:
    """Money by cause that adds up to `change`; a pool that is in one period alone has its price.

    More provisioned adds, more busy takes away, and a price acts on what is left.
    """
    provisioned = _effects(_provisioned(before), _provisioned(after))
    busy = _effects(_busy(before), _busy(after))
    split = (provisioned["price"] - busy["price"], provisioned["gpu_s"], -busy["gpu_s"])
    amounts = rounded_to_total([Decimal(effect) for effect in split], change)
    return dict(zip(IDLE_EFFECTS, amounts, strict=True))


def _effects(old: Product, new: Product) -> dict[str, float]:
    prices = [price for price in (old.price_per_s, new.price_per_s) if price is not None]
    if not prices:
        return {"price": 0.0, "gpu_s": 0.0}
    return product_effects(
        {"price": prices[0], "gpu_s": old.gpu_s}, {"price": prices[-1], "gpu_s": new.gpu_s}
    )


def _provisioned(idle: IdleSums | None) -> Product:
    if idle is None or idle.provisioned_cost is None:
        return Product(gpu_s=0.0, price_per_s=None)
    return _product(idle.provisioned_ps, idle.provisioned_cost)


def _busy(idle: IdleSums | None) -> Product:
    if idle is None or idle.provisioned_cost is None or idle.cost is None:
        return Product(gpu_s=0.0, price_per_s=None)
    return _product(idle.provisioned_ps - idle.gpu_ps, idle.provisioned_cost - idle.cost)


def _product(gpu_ps: int, cost: Decimal) -> Product:
    return Product(gpu_s=gpu_ps / PICOSECONDS_PER_S, price_per_s=price_per_s(cost, gpu_ps))
