"""What claims on calls come to, in the GPU-seconds and the money that these were charged.

Owns what a claim is worth, in whole picoseconds and billionths of money. Refuses to estimate: a
claim on a part of a call whose price does not tell that part is counted as unpriced.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.claims import whole_calls

Whole = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Ratios = npt.NDArray[np.float64]
Gained = Callable[[str, Whole, Whole], Whole]
"""What of the amounts claimed of a phase, in these rows, counts."""

NO_CLAIM = -1
BLOCK_ROWS = 2**20
LIMBS, LIMB_BITS = 3, 21
LIMB_MASK = 2**LIMB_BITS - 1
"""Amounts are summed by digits of 21 bits: sums of a block are then exact in doubles."""

Label = tuple[int, int | str]
"""A cohort, and a rate or a currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What calls were charged, in whole GPU-picoseconds or billionths of money: a row a piece.

    `keys` are places in `labels`, which are a cohort and a rate, or a cohort and a currency.
    `parts` are by phase: what the uncached input cost (`prefill`), what the output cost
    (`decode`), and of money the `rest`, which only the whole call saves.
    """

    call_nos: Whole
    keys: Places
    labels: Sequence[Label]
    parts: Mapping[str, Whole]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Claims as they apply to a bill: `places` says by `call_no` where in `ratios` a call is."""

    places: Places
    ratios: Mapping[str, Ratios]
    call_count: int
    unpriced_call_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What claims come to: calls, GPU-picoseconds by cohort and rate, money by cohort and currency.

    Money is in billionths and of calls priced by the token. Of `unpriced_call_count` calls what
    the claim is worth is not known, or not told apart.
    """

    call_count: int
    unpriced_call_count: int
    gpu_ps: Mapping[Label, int]
    billionths: Mapping[Label, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The calls that are looked at, with what each was charged by GPU-seconds and by the token.

    The flags are by `call_no`: whether the call is one of them, whether what it cost is known, and
    whether what its input and its output cost is known apart.
    """

    is_served: Flags
    is_priced: Flags
    is_split: Flags
    charged: Amounts
    priced: Amounts

    def served(self, claims: pl.DataFrame) -> pl.DataFrame:
        """Those of `claims` that are on calls of this bill, and on something of them."""
        inside = claims.filter(
            pl.col("call_no").is_between(0, self.is_served.size - 1),
            (pl.col("prefill_ratio") > 0) | (pl.col("decode_ratio") > 0),
        )
        return inside.filter(
            pl.Series(self.is_served[inside["call_no"].to_numpy()], dtype=pl.Boolean)
        )

    def claim(self, claims: pl.DataFrame) -> Claim:
        """`claims` on the calls of this bill; the others are left out."""
        found = self.served(claims)
        call_nos = found["call_no"].to_numpy()
        prefill, decode = (found[f"{name}_ratio"].to_numpy() for name in ("prefill", "decode"))
        is_whole = (prefill >= 1) & (decode >= 1)
        is_known = np.where(is_whole, self.is_priced[call_nos], self.is_split[call_nos])
        places = np.full(self.is_served.size, NO_CLAIM, dtype=np.int32)
        places[call_nos] = np.arange(call_nos.size, dtype=np.int32)
        return Claim(
            places=places,
            ratios={"prefill": prefill, "decode": decode, "rest": is_whole.astype(np.float64)},
            call_count=call_nos.size,
            unpriced_call_count=int((~is_known).sum()),
        )

    def saving(self, claim: Claim) -> Saving:
        """What the claims come to alone."""
        return Saving(
            call_count=claim.call_count,
            unpriced_call_count=claim.unpriced_call_count,
            gpu_ps=summed(self.charged, claim),
            billionths=summed(self.priced, claim),
        )

    def total(self) -> Saving:
        """All of the bill."""
        return self.saving(self.claim(whole_calls(pl.Series(np.flatnonzero(self.is_served)))))


def as_claimed(_phase: str, _rows: Whole, claimed: Whole) -> Whole:
    """All that is claimed counts."""
    return claimed


def summed(amounts: Amounts, claim: Claim, gained: Gained = as_claimed) -> dict[Label, int]:
    """What `claim` comes to by label, each piece as `gained` has it; in blocks of rows."""
    limbs = np.zeros((LIMBS, len(amounts.labels)), dtype=np.int64)
    for first in range(0, amounts.call_nos.size, BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        places = claim.places[amounts.call_nos[block]]
        rows = np.flatnonzero(places != NO_CLAIM)
        if not rows.size:
            continue
        of_claims, keys = places[rows], amounts.keys[block][rows]
        for name, part in amounts.parts.items():
            claimed = portions(part[block][rows], claim.ratios[name][of_claims])
            saved = gained(name, rows + first, claimed)
            for limb in range(LIMBS):
                digits = (saved >> (LIMB_BITS * limb)) & LIMB_MASK
                limbs[limb] += np.bincount(keys, digits, len(amounts.labels)).astype(np.int64)
    totals = [sum(int(n) << (LIMB_BITS * limb) for limb, n in enumerate(c)) for c in limbs.T]
    return {label: total for label, total in zip(amounts.labels, totals, strict=True) if total}


def portions(amounts: Whole, ratios: Ratios) -> Whole:
    """`ratios` of `amounts`, rounded down; never more than all of them, and all of them exact."""
    rounded_down = np.floor(amounts * np.maximum(ratios, 0.0)).astype(np.int64)
    found: Whole = np.where(ratios >= 1, amounts, np.minimum(rounded_down, amounts))
    return found
