"""The levers in the order of the plan, with what each saves alone and given those above it.

Owns that order: those that apply by tier, the dearest of a tier first, then those of which it is
not known, then the others. Refuses to detect, and to print.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from analysis.detections.detected import Applies, Detected
from analysis.detections.known import Lever
from analysis.savings import Bill
from analysis.union import Union
from analysis.worth import Pricing, Worth

RANKS: Mapping[Applies, int] = {"yes": 0, "unknown": 1, "no": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A lever with what was detected, what it saves alone, and what given those above it.

    Savings are None where the ledger attributes none.
    """

    lever: Lever
    detected: Detected
    alone: Worth | None
    attributed: Worth | None


def planned(
    bill: Bill, detected: Sequence[tuple[Lever, Detected]], pricing: Pricing
) -> list[Planned]:
    """All levers in the order of the plan."""
    claimed = {
        lever.number: bill.claimed(found.claims)
        for lever, found in detected
        if found.claims is not None and found.applies == "yes"
    }
    alone = {number: pricing.worth(bill.saving(one)) for number, one in claimed.items()}
    by_money = len({currency for one in alone.values() for currency in one.by_currency}) == 1
    union = Union(bill)
    plan = []
    for lever, found in sorted(
        detected, key=lambda pair: _order(*pair, alone.get(pair[0].number), by_money=by_money)
    ):
        claim = claimed.pop(lever.number, None)
        saving = None if claim is None else union.add(claim, is_section=bool(lever.section))
        plan.append(
            Planned(
                lever=lever,
                detected=found,
                alone=alone.get(lever.number),
                attributed=None if saving is None else pricing.worth(saving),
            )
        )
    return plan


def _order(
    lever: Lever, found: Detected, alone: Worth | None, *, by_money: bool
) -> tuple[int, int, bool, Decimal, int]:
    """The place of a lever; within a tier those without an attributed saving come last."""
    worth = Decimal(0)
    if alone is not None:
        worth = (alone.only_cost if by_money else None) or Decimal(alone.gpu_ps)
    return RANKS[found.applies], lever.tier, alone is None, -worth, lever.number
