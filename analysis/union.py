"""The union of claims: what each saves that those before it did not. Nothing is saved twice.

Owns the rule, per piece of a call and phase. Claims on different sections of a prompt are on
different tokens and add up, as far as something is left. All others may be on the same tokens, so
that of two the larger counts: what is stated is a lower bound of what both save. The union is the
same whatever the order; what each adds to it is not.
"""

from collections.abc import Mapping

import numpy as np

from analysis.savings import Amounts, Bill, Claimed, Part, Saving, Whole


class Union:
    """What claims save of a bill that those added before them did not."""

    def __init__(self, bill: Bill) -> None:
        self._bill = bill
        self._charged = _Saved(bill.charged)
        self._priced = _Saved(bill.priced)

    def add(self, claimed: Claimed, *, is_section: bool = False) -> Saving:
        """What `claimed` saves beyond what is saved already.

        `is_section` says that it is on tokens of a section that no other claim on a section has.
        """
        charged = self._charged.gained(claimed.charged, is_section=is_section)
        priced = self._priced.gained(claimed.priced, is_section=is_section)
        return Saving(
            call_count=claimed.call_count,
            unpriced_call_count=claimed.unpriced_call_count,
            gpu_ps=self._bill.charged.sums(claimed.charged.rows, charged),
            billionths=self._bill.priced.sums(claimed.priced.rows, priced),
        )


class _Saved:
    """How much of each row of some amounts is saved, and how much of it claims on sections save."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._saved = {name: np.zeros_like(part) for name, part in amounts.parts.items()}
        self._in_sections: dict[str, Whole] = {}

    def gained(self, claim: Part, *, is_section: bool) -> Mapping[str, Whole]:
        found = {}
        for name, claimed in claim.parts.items():
            before = self._saved[name][claim.rows]
            after = np.maximum(
                before, self._section(name, claim.rows, claimed) if is_section else claimed
            )
            self._saved[name][claim.rows] = after
            found[name] = after - before
        return found

    def _section(self, name: str, rows: Whole, claimed: Whole) -> Whole:
        """What all claims on sections save of `rows`, with this one."""
        amounts = self._amounts.parts[name]
        summed = self._in_sections.setdefault(name, np.zeros_like(amounts))
        summed[rows] = np.minimum(summed[rows] + claimed, amounts[rows])
        found: Whole = summed[rows]
        return found
