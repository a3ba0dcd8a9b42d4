"""Money from exact sums: the product first, one rounding last, and rounded lines that add up.

Owns the quantum of an answer. Refuses floats: seconds arrive as whole picoseconds.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

QUANTUM = Decimal("1e-9")
"""The smallest amount in an answer; a token cost in the ledger has as many places."""

PRICE_QUANTUM = Decimal("1e-18")
"""The smallest part of a price per GPU-hour in an answer."""

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


def total_of(amounts: Sequence[Decimal | None]) -> Decimal | None:
    """The sum of the known amounts, to 60 digits; None where none is known."""
    known = [amount for amount in amounts if amount is not None]
    return total(known) if known else None


def rounded(amount: Decimal, quantum: Decimal = QUANTUM) -> Decimal:
    """`amount` to the quantum, half to even."""
    return _unsigned_zero(amount.quantize(quantum, context=_EXACT))


def rounded_to_total(
    amounts: Sequence[Decimal], wanted: Decimal, quantum: Decimal = QUANTUM
) -> list[Decimal]:
    """`amounts` to the quantum, so that they add up to `wanted` (largest remainder).

    `wanted` is a multiple of the quantum. Every amount is rounded down; the quanta still missing
    go to the largest remainders, the earlier of two equal ones first, so give amounts in an order
    of their content. Where `wanted` is the rounded sum, an amount of whole quanta stays as it is.
    Any other `wanted` leaves 0 at 0, and takes from none that would become negative, if it can.
    """
    if not amounts:
        return []
    floors = [amount.quantize(quantum, ROUND_FLOOR, _EXACT) for amount in amounts]
    missing = int(_EXACT.divide(_EXACT.subtract(wanted, total(floors)), quantum))
    places = _places_to_change(amounts, floors, is_more=missing >= 0)
    by_remainder = sorted(places, key=lambda place: (floors[place] - amounts[place], place))
    each, rest = divmod(missing, len(places))
    extra = dict.fromkeys(places, each) | dict.fromkeys(by_remainder[:rest], each + 1)
    return [
        _unsigned_zero(floor + quantum * extra.get(place, 0)) for place, floor in enumerate(floors)
    ]


def _places_to_change(
    amounts: Sequence[Decimal], floors: Sequence[Decimal], *, is_more: bool
) -> list[int]:
    """The amounts that may get a quantum, or lose one; all of them where none may."""
    if is_more:
        found = [place for place, amount in enumerate(amounts) if amount]
    else:
        found = [place for place, floor in enumerate(floors) if floor > 0]
    return found or list(range(len(amounts)))


def money_places(amounts: Sequence[Decimal]) -> int:
    """Decimals with which `amounts` are read: cents where one is 1 or more, else millionths."""
    return 2 if any(abs(amount) >= 1 for amount in amounts) else 6


def money_text(amount: Decimal, currency: str) -> str:
    """`amount` to cents where it is 1 or more, else to millionths, with its currency."""
    places = money_places([amount])
    return f"{rounded(amount, Decimal(1).scaleb(-places)):,f} {currency}".rstrip()


def share_of(amount: Decimal, part: int, whole: int) -> Decimal:
    """`amount` times `part` over `whole`, to 60 digits."""
    return _EXACT.divide(_EXACT.multiply(amount, Decimal(part)), Decimal(whole))


def _unsigned_zero(amount: Decimal) -> Decimal:
    return amount if amount else abs(amount)


def price_of(cost: Decimal, gpu_picoseconds: int) -> Decimal | None:
    """Money per GPU-hour at which so many GPU-picoseconds cost `cost`; None for none of them.

    It is the mean of the prices that were mixed, with as many digits as the law needs to hold to
    a millionth of a millionth.
    """
    if gpu_picoseconds == 0:
        return None
    hours = _EXACT.divide(Decimal(gpu_picoseconds), PICOSECONDS_PER_HOUR)
    return rounded(_EXACT.divide(cost, hours), PRICE_QUANTUM)
