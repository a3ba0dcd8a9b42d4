"""Money from exact sums: the product first, one rounding last, and rounded lines that add up.

Owns the quantum of an answer. Refuses floats: seconds arrive as whole picoseconds.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

QUANTUM = Decimal("1e-9")
"""The smallest amount in an answer; a token cost in the ledger has as many places."""

PICOSECONDS_PER_HOUR = Decimal(3_600_000_000_000_000)

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def gpu_cost(gpu_picoseconds: int | Decimal, price_per_gpu_hour: Decimal) -> Decimal:
    """The price of so many GPU-picoseconds, to 60 digits."""
    product = _EXACT.multiply(Decimal(gpu_picoseconds), price_per_gpu_hour)
    return _EXACT.divide(product, PICOSECONDS_PER_HOUR)


def total(amounts: Sequence[Decimal]) -> Decimal:
    """The sum of `amounts`, to 60 digits."""
    result = Decimal(0)
    for amount in amounts:
        result = _EXACT.add(result, amount)
    return result


def rounded(amount: Decimal, quantum: Decimal = QUANTUM) -> Decimal:
    """`amount` to the quantum, half to even."""
    return amount.quantize(quantum, context=_EXACT)


def rounded_to_total(
    amounts: Sequence[Decimal], wanted: Decimal, quantum: Decimal = QUANTUM
) -> list[Decimal]:
    """`amounts` to the quantum, so that they add up to `wanted` (largest remainder).

    `wanted` is a multiple of the quantum. Every amount is rounded down; the quanta still missing
    go to the largest remainders, the earlier of two equal ones first.
    """
    if not amounts:
        return []
    floors = [amount.quantize(quantum, ROUND_FLOOR, _EXACT) for amount in amounts]
    missing = int(_EXACT.divide(_EXACT.subtract(wanted, total(floors)), quantum))
    by_remainder = sorted(
        range(len(amounts)), key=lambda index: (floors[index] - amounts[index], index)
    )
    each, rest = divmod(missing, len(amounts))
    extra = dict.fromkeys(by_remainder[:rest], 1)
    return [floor + quantum * (each + extra.get(index, 0)) for index, floor in enumerate(floors)]


def price_of(cost: Decimal, gpu_picoseconds: int) -> Decimal | None:
    """Money per GPU-hour at which so many GPU-picoseconds cost `cost`; None for none of them."""
    if gpu_picoseconds == 0:
        return None
    hours = _EXACT.divide(Decimal(gpu_picoseconds), PICOSECONDS_PER_HOUR)
    return rounded(_EXACT.divide(cost, hours))
