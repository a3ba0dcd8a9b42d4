"""The levers in the order of the plan, with what each saves alone and given those above it.

Owns that order: those that apply by tier, the dearest of a tier first, then those of which it is
not known, then the others. Refuses to detect, and to print.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from analysis.detections.detected import Applies, Detected, joined
from analysis.detections.known import Lever
from analysis.savings import Bill, Saving
from analysis.union import Union
from analysis.worth import Pricing, Worth

FLOORED = frozenset(range(22, 28))
"""Levers that take tokens out of answers and prompts: they find a few in any traffic, and"""
LEAST_RATIO = Decimal("0.0001")
"""apply where that is such a share of the GPU-seconds, or of the money of some currency."""

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
    bill: Bill, detections: Iterable[tuple[Lever, Detected]], pricing: Pricing, whole: Worth
) -> list[Planned]:
    """All levers in the order of the plan; `whole` is what the bill is worth.

    Claims of one lever at a time are in memory: the others wait in files.
    """
    with TemporaryDirectory(prefix="gpuledger-") as folder:
        detected, alone = [], {}
        for lever, found in detections:
            told = found
            if found.claims is not None and found.applies == "yes":
                claims = bill.served(found.claims)
                worth = pricing.worth(bill.saving(bill.claim(claims)))
                if lever.number in FLOORED and _is_little(worth, whole):
                    told = _too_little(found)
                else:
                    claims.write_ipc(_file(folder, lever))
                    alone[lever.number] = worth
            detected.append((lever, replace(told, claims=None)))
        by_money = len({currency for one in alone.values() for currency in one.by_currency}) == 1
        detected.sort(
            key=lambda pair: _order(pair[0], pair[1], alone.get(pair[0].number), by_money=by_money)
        )
        union = Union(bill)
        attributed = {
            lever.number: pricing.worth(_added(union, bill, _file(folder, lever), lever))
            for lever, _ in detected
            if lever.number in alone
        }
    return [
        Planned(
            lever=lever,
            detected=found,
            alone=alone.get(lever.number),
            attributed=attributed.get(lever.number),
        )
        for lever, found in detected
    ]


def _is_little(worth: Worth, whole: Worth) -> bool:
    """Whether all that is known of a saving is less than `LEAST_RATIO` of the bill."""
    if worth.unpriced_call_count:
        return False
    gpu_ps = LEAST_RATIO * whole.gpu_ps
    if worth.gpu_ps and worth.gpu_ps >= gpu_ps:
        return False
    return not any(
        amount.cost and bill.cost and amount.cost >= LEAST_RATIO * bill.cost
        for currency, amount in worth.by_currency.items()
        if (bill := whole.by_currency.get(currency)) is not None
    )


def _too_little(found: Detected) -> Detected:
    """`found` without its claims: it applies by what else was seen, or not at all."""
    little = f"that saves less than {LEAST_RATIO:.2%} of the bill"
    return replace(
        found,
        applies="yes" if found.is_seen else "no",
        evidence=joined(found.evidence, little),
    )


def _file(folder: str, lever: Lever) -> Path:
    return Path(folder) / f"{lever.number}.arrow"


def _added(union: Union, bill: Bill, path: Path, lever: Lever) -> Saving:
    claims = pl.read_ipc(path)
    return union.add(bill.claim(claims), partition=lever.partition)


def _order(
    lever: Lever, found: Detected, alone: Worth | None, *, by_money: bool
) -> tuple[int, int, bool, Decimal, int]:
    """The place of a lever; within a tier those without an attributed saving come last."""
    worth = Decimal(0)
    if alone is not None:
        worth = (alone.only_cost if by_money else None) or Decimal(alone.gpu_ps)
    return RANKS[found.applies], lever.tier, alone is None, -worth, lever.number
