"""Prices by the token over time: a list of windows that do not overlap.

Owns the shape of a price and how one list gives way to another. Refuses to multiply: that is done
in SQL, where the tokens are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ingest.charging.pieces import DAY_NS

DAY_END = DAY_NS
"""The end of a UTC day, in nanoseconds since its midnight."""
NO_TOKENS = -1
"""Every call has more input tokens than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrices:
    """Money per million tokens of each exclusive bucket, and per request; None: it has no price.

    What of the input was read from or written to a cache and has no price of its own costs what
    other input costs; reasoning costs what other output costs.
    """

    input_per_mtok: Decimal | None
    output_per_mtok: Decimal | None
    cache_read_per_mtok: Decimal | None = None
    cache_write_per_mtok: Decimal | None = None
    reasoning_per_mtok: Decimal | None = None
    per_request: Decimal | None = None

    @property
    def is_known(self) -> bool:
        """Whether any token has a price."""
        return self.input_per_mtok is not None or self.output_per_mtok is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceWindow:
    """Prices for calls at [since, until), at [day_from, day_until) of the UTC day, with more than
    `tokens_over` and at most `tokens_upto` input tokens. Instants are nanoseconds."""

    since: int
    until: int | None
    day_from: int = 0
    day_until: int = DAY_END
    tokens_over: int = NO_TOKENS
    tokens_upto: int | None = None
    prices: UnitPrices
    currency: str
    source: str
    rule: str


def give_way(windows: Sequence[PriceWindow], winner: Sequence[PriceWindow]) -> list[PriceWindow]:
    """`winner`, and `windows` before it begins; once begun it has no gap."""
    if not winner:
        return list(windows)
    begin = min(window.since for window in winner)
    before = [
        replace(window, until=begin if window.until is None else min(window.until, begin))
        for window in windows
        if window.since < begin
    ]
    return [*before, *winner]
