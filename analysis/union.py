"""The union of claims: what each saves that those before it did not. Nothing is saved twice.

Owns the rule, per piece of a call and phase. Claims on different parts of one partition, such as
the sections of a prompt, are on different tokens and add up, as far as something is left. All
others may be on the same tokens, so that of two the larger counts: what is stated is a lower bound
of what both save. The union is the same whatever the order; what each adds to it is not.
"""

from functools import partial

import numpy as np

from analysis.savings import Amounts, Bill, Claim, Saving, Whole, summed


class Union:
    """What claims save of a bill that those added before them did not."""

    def __init__(self, bill: Bill) -> None:
        self._charged = _Saved(bill.charged)
        self._priced = _Saved(bill.priced)

    def add(self, claim: Claim, *, partition: str = "") -> Saving:
        """What `claim` saves beyond what is saved already.

        It is on tokens that no other claim of the same `partition` is on; "" is none.
        """
        return Saving(
            call_count=claim.call_count,
            unpriced_call_count=claim.unpriced_call_count,
            gpu_ps=self._charged.add(claim, partition),
            billionths=self._priced.add(claim, partition),
        )


class _Saved:
    """How much of each row of some amounts is saved, and how much by the claims of a partition."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._saved = {name: np.zeros_like(part) for name, part in amounts.parts.items()}
        self._in_partitions: dict[tuple[str, str], Whole] = {}

    def add(self, claim: Claim, partition: str) -> dict[tuple[int, int | str], int]:
        """What is gained, by label."""
        return summed(self._amounts, claim, partial(self._gained, partition))

    def _gained(self, partition: str, phase: str, rows: Whole, claimed: Whole) -> Whole:
        before = self._saved[phase][rows]
        whole = self._together(partition, phase, rows, claimed) if partition else claimed
        after = np.maximum(before, whole)
        self._saved[phase][rows] = after
        return after - before

    def _together(self, partition: str, phase: str, rows: Whole, claimed: Whole) -> Whole:
        """What all claims of the partition save of `rows`, with this one."""
        amounts = self._amounts.parts[phase]
        sums = self._in_partitions.setdefault((partition, phase), np.zeros_like(amounts))
        sums[rows] = np.minimum(sums[rows] + claimed, amounts[rows])
        found: Whole = sums[rows]
        return found
