"""The lines of `gpuledger levers`, and what is said beside them.

Owns their columns, their rounding and their sentences. Refuses to add amounts of different
currencies.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.detections.detected import joined
from analysis.letters import PICOSECONDS_PER_S
from analysis.lever_plan import Planned
from analysis.lines import MONEY
from analysis.money import money_text, rounded, rounded_to_total, total
from analysis.wording import counted
from analysis.worth import Amount, Worth

ATTRIBUTED = (
    "attributed is what was charged to calls and tokens that would not happen, given the levers "
    "above; the bill falls by less or by more, when the same traffic needs fewer GPU-hours, for B "
    "is what the work itself makes it: marginal and capacity figures need a replay or the model"
)
HOW_ELSE = {
    "replay": "a replay",
    "model": "the calibrated model of the engine",
    "endpoint": "an endpoint to compare with",
}
"""What tells the effect of a lever, where the ledger does not."""

SCHEMA: Mapping[str, Any] = {
    "lever": pl.String,
    "number": pl.Int64,
    "letter": pl.String,
    "tier": pl.Int64,
    "applies": pl.String,
    "attributed_gpu_seconds": pl.Float64,
    "alone_gpu_seconds": pl.Float64,
    "busy_ratio": pl.Float64,
    "attributed_cost": MONEY,
    "alone_cost": MONEY,
    "currency": pl.String,
    "bill_ratio": pl.Float64,
    "unpriced_call_count": pl.Int64,
    "evidence": pl.String,
    "missing": pl.String,
    "evaluate": pl.String,
    "risk": pl.String,
}


def lines_of(plan: Sequence[Planned], whole: Worth) -> pl.DataFrame:
    """A row for each lever and each currency that it saves; `whole` is the bill.

    Costs are rounded so that those attributed add up in each currency; where that rounds one up,
    what it saves alone is rounded up as well, so that it has never more than alone.
    """
    rows = [row for one in plan for row in _rows(one, whole)]
    for row, cost in zip(rows, _adding_up(rows), strict=True):
        row["attributed_cost"] = cost
        if cost is not None and row["alone_cost"] is not None:
            row["alone_cost"] = max(row["alone_cost"], cost)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def notes_of(plan: Sequence[Planned], whole: Worth) -> Iterator[str]:
    """How many levers apply, what all of them save together, and what that figure is."""
    counts = Counter(one.detected.applies for one in plan)
    yield (
        f"{counts['yes']} of {len(plan)} levers apply, {counts['no']} do not; of "
        f"{counts['unknown']} it is not known: `missing` says what they need"
    )
    union = [one.attributed for one in plan if one.attributed is not None]
    if union:
        yield _together(_sum(union), whole)
        unpriced = max(one.unpriced_call_count for one in union)
        if unpriced:
            yield f"in no cost: {counted(unpriced, 'call')} of a lever without a price of that part"
    yield ATTRIBUTED


def _together(saved: Worth, whole: Worth) -> str:
    """What all of them save; that nothing of it is known, where no call of theirs has a price."""
    if not any(amount.gpu_ps or amount.cost for amount in saved.by_currency.values()):
        return "what they save together is not known: their calls tell neither GPU time nor a price"
    return (
        f"together {_text(saved, whole)}; each GPU-second is counted once, at the first lever that "
        "saves it"
    )


def _rows(one: Planned, whole: Worth) -> list[dict[str, Any]]:
    """The lines of one lever, the currency of most GPU-seconds first."""
    lever = one.lever
    common = {
        "lever": lever.name,
        "number": lever.number,
        "letter": lever.letter or None,
        "tier": lever.tier,
        "applies": one.detected.applies,
        "evidence": _evidence(one, whole),
        "missing": _missing(one),
        "evaluate": ", ".join(lever.evaluate),
        "risk": lever.risk,
    }
    nothing = dict.fromkeys(SCHEMA.keys() - common.keys())
    if one.alone is None or one.attributed is None:
        return [nothing | common]
    if not one.alone.by_currency:
        unpriced = {"unpriced_call_count": one.alone.unpriced_call_count}
        return [nothing | common | unpriced]
    in_order = sorted(
        one.alone.by_currency.items(), key=lambda item: (-item[1].gpu_ps, item[0] or "")
    )
    return [
        common
        | _figures(amount, one.attributed.by_currency.get(currency), currency, whole)
        | {"unpriced_call_count": one.alone.unpriced_call_count}
        for currency, amount in in_order
    ]


def _figures(
    alone: Amount, attributed: Amount | None, currency: str | None, whole: Worth
) -> dict[str, Any]:
    saved = attributed or Amount(cost=None if alone.cost is None else Decimal(0))
    bill = whole.by_currency.get(currency, Amount()).cost
    return {
        "attributed_gpu_seconds": saved.gpu_ps / PICOSECONDS_PER_S,
        "alone_gpu_seconds": alone.gpu_ps / PICOSECONDS_PER_S,
        "busy_ratio": _ratio(saved.gpu_ps, whole.gpu_ps),
        "attributed_cost": saved.cost,
        "alone_cost": None if alone.cost is None else rounded(alone.cost),
        "currency": currency,
        "bill_ratio": None if saved.cost is None or not bill else float(saved.cost / bill),
    }


def _adding_up(rows: Sequence[Mapping[str, Any]]) -> list[Decimal | None]:
    """The attributed costs of `rows`, rounded so that they add up in each currency."""
    found: list[Decimal | None] = [None] * len(rows)
    known = [place for place, row in enumerate(rows) if row["attributed_cost"] is not None]
    for currency in dict.fromkeys(rows[place]["currency"] for place in known):
        places = [place for place in known if rows[place]["currency"] == currency]
        amounts = [rows[place]["attributed_cost"] for place in places]
        costs = rounded_to_total(amounts, rounded(total(amounts)))
        for place, cost in zip(places, costs, strict=True):
            found[place] = cost
    return found


def _evidence(one: Planned, whole: Worth) -> str | None:
    """What was detected, and of a saving how much that is and where most of it is."""
    found, alone = one.detected, one.alone
    if found.evidence is None or alone is None or not alone.by_currency:
        return joined(found.evidence, found.beside)
    shares = [(_share(amount, alone), endpoint) for endpoint, amount in alone.by_endpoint.items()]
    share, endpoint = max(shares, key=lambda pair: (pair[0] or 0, pair[1] or ""))
    part = None if share is None else "all" if share == 1 else f"{math.floor(share * 100)}%"
    place = f", {part} of it at {endpoint or 'no known endpoint'}" if part else ""
    return joined(f"{found.evidence}: {_text(alone, whole)}{place}", found.beside)


def _share(amount: Amount, alone: Worth) -> float | None:
    """The share of `amount` in what is saved: of the money where all is one, else of the time."""
    if alone.only_cost:
        return float((amount.cost or Decimal(0)) / alone.only_cost)
    return _ratio(amount.gpu_ps, alone.gpu_ps)


def _missing(one: Planned) -> str | None:
    """What is needed to say more: to detect, or else to evaluate."""
    found, lever = one.detected, one.lever
    if found.missing is not None or found.applies != "yes" or one.alone is not None:
        return found.missing
    if "ledger" in lever.evaluate:
        return None
    return f"needs {_either([HOW_ELSE[name] for name in lever.evaluate])} to say what it saves"


def _either(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _text(worth: Worth, whole: Worth) -> str:
    """A saving in words: GPU-seconds with their share of those charged, money by currency."""
    share = _ratio(worth.gpu_ps, whole.gpu_ps)
    parts = []
    if worth.gpu_ps and share is not None:
        parts.append(f"{worth.gpu_ps / PICOSECONDS_PER_S:,.0f} GPU-seconds ({share:.1%})")
    parts += [
        money_text(amount.cost, currency)
        for currency, amount in sorted(worth.by_currency.items(), key=lambda item: item[0] or "")
        if amount.cost is not None and currency is not None
    ]
    return ", ".join(parts) or "no GPU time and no price is known"


def _sum(parts: Sequence[Worth]) -> Worth:
    by_currency: dict[str | None, Amount] = {}
    for part in parts:
        for currency, amount in part.by_currency.items():
            by_currency[currency] = by_currency.get(currency, Amount()).plus(amount)
    return Worth(call_count=0, unpriced_call_count=0, by_currency=by_currency, by_endpoint={})


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
