"""The lines of `ask law`: sums become letters, money and a name for each line.

Owns the columns of the answer, the rounding that makes its lines add up, and their order. Refuses
to add amounts of different currencies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.calendar import in_order
from analysis.columns import TIME_COLUMNS
from analysis.group_sums import GroupKey
from analysis.letters import PICOSECONDS_PER_S, Sums, letters_of
from analysis.money import price_of, rounded, rounded_to_total, total

MONEY = pl.Decimal(38, 9)
PRICE = pl.Decimal(38, 18)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSums:
    """Provisioned minus busy of one pool in one currency; negative where more was busy.

    `time` is the value of the time column grouped by, None where there is none. `excess_ps` is by
    how much busy exceeds provisioned, summed over the rates of the pool in which it does.
    `provisioned_cost` is of `provisioned_ps`, what there is of the pool, busy or not;
    `replayed_cost` of `replayed_ps`, what replays used of it.
    """

    pool: str
    time: Any
    currency: str | None
    gpu_ps: int
    excess_ps: int
    cost: Decimal | None
    provisioned_ps: int
    provisioned_cost: Decimal | None
    replayed_ps: int
    replayed_cost: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line before rounding; `cost` is exact, None where no price is known.

    `idle` is what an idle line is the difference of. `sums` are of its calls: idle time has none,
    and what replays used of a pool is on the bill of production, but no call of it.
    """

    line: str
    basis: str
    values: Mapping[str, Any]
    currency: str | None = None
    pool: str | None = None
    sums: Sums | None = None
    gpu_ps: int | None = None
    cost: Decimal | None = None
    idle: IdleSums | None = None


def group_lines(groups: Mapping[GroupKey, Sums], by: Sequence[str]) -> list[Line]:
    """A line for each paid group; `unattributed` where a column grouped by is not known."""
    return [
        Line(
            line="unattributed" if None in key.values else "calls",
            basis=key.basis,
            values=dict(zip(by, key.values, strict=True)),
            currency=key.currency,
            sums=sums,
            gpu_ps=sums.gpu_ps if key.basis == "gpu" else None,
            cost=sums.cost if key.is_priced else None,
        )
        for key, sums in groups.items()
        if key.basis != "unpriced"
    ]


def unpriced_lines(groups: Mapping[GroupKey, Sums], by: Sequence[str]) -> list[Line]:
    """One line, by time, of all calls that have neither GPU-seconds nor a price by the token."""
    by_time: dict[Any, Sums] = {}
    for key, sums in groups.items():
        if key.basis == "unpriced":
            time = _time_of(dict(zip(by, key.values, strict=True)))
            by_time[time] = by_time.get(time, Sums()).plus(sums)
    return [
        Line(line="unpriced", basis="unpriced", values=_only_time(by, time), sums=sums)
        for time, sums in by_time.items()
    ]


def idle_lines(idle: Iterable[IdleSums], by: Sequence[str]) -> list[Line]:
    """A line for each pool (and currency, and time) of what was provisioned and not busy.

    A time at which nothing of a pool was provisioned and nothing busy has none.
    """
    return [
        Line(
            line="idle",
            basis="gpu",
            values=_of_pool(by, item),
            currency=item.currency,
            pool=item.pool,
            gpu_ps=item.gpu_ps,
            cost=item.cost,
            idle=item,
        )
        for item in idle
        if item.time is None or item.provisioned_ps or item.gpu_ps
    ]


def replayed_lines(idle: Iterable[IdleSums], by: Sequence[str]) -> list[Line]:
    """A line `unattributed` for each pool (and currency, and time) of what replays used of it."""
    return [
        Line(
            line="unattributed",
            basis="gpu",
            values=_of_pool(by, item),
            currency=item.currency,
            pool=item.pool,
            gpu_ps=item.replayed_ps,
            cost=item.replayed_cost,
        )
        for item in idle
        if item.replayed_ps
    ]


def is_replayed(line: Line) -> bool:
    """Whether `line` is what replays used."""
    return line.line == "unattributed" and line.sums is None


def lines_frame(lines: Sequence[Line], by: Sequence[str]) -> pl.DataFrame:
    """The rows of the lines, by descending cost (time first)."""
    frame = pl.DataFrame(line_rows(lines, by), schema=_schema(by))
    times = [column for column in by if column in TIME_COLUMNS]
    ties = [column for column in ("line", *by, "basis", "pool", "currency") if column not in times]
    order = list(dict.fromkeys([*times, "cost", "gpu_seconds", "N", *ties]))
    return frame.sort(
        in_order(order),
        descending=[c in {"cost", "gpu_seconds", "N"} for c in order],
        nulls_last=True,
    )


def line_rows(lines: Sequence[Line], by: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each of `lines`, in their order: money rounded so that it adds up to the bill.

    A row lacks the letters and phases that its line has not.
    """
    costs = rounded_costs(lines)
    bills: dict[str | None, list[Decimal]] = {}
    for line, cost in zip(lines, costs, strict=True):
        if cost is not None:
            bills.setdefault(line.currency, []).append(cost)
    totals = {currency: total(amounts) for currency, amounts in bills.items()}
    return [
        _row(line, cost, totals.get(line.currency), "pool" in by)
        for line, cost in zip(lines, costs, strict=True)
    ]


def rounded_costs(lines: Sequence[Line]) -> list[Decimal | None]:
    """The cost of each line to the quantum, so that those of a currency add up to its rounded bill.

    All lines share in the rounding, idle time and tokens too: each is its exact cost rounded down
    or up, and a cost of whole quanta, such as that of a single call by the token, or 0, stays.
    """
    result: list[Decimal | None] = [None] * len(lines)
    for currency in {line.currency for line in lines}:
        exact = {
            place: line.cost
            for place, line in sorted(enumerate(lines), key=lambda item: _content(item[1]))
            if line.currency == currency and line.cost is not None
        }
        costs = list(exact.values())
        amounts = rounded_to_total(costs, rounded(total(costs)))
        for place, amount in zip(exact, amounts, strict=True):
            result[place] = amount
    return result


def _content(line: Line) -> tuple[Any, ...]:
    """What tells a line from the others of an answer: an order that no delivery changes."""
    values = tuple((value is None, str(value)) for value in line.values.values())
    return (line.line, line.basis, values, line.pool or "", line.sums is None, line.cost is None)


def _time_of(values: Mapping[str, Any]) -> Any:
    return next((values[column] for column in TIME_COLUMNS if column in values), None)


def _only_time(by: Sequence[str], time: Any) -> dict[str, Any]:
    return {column: time if column in TIME_COLUMNS else None for column in by}


def _of_pool(by: Sequence[str], item: IdleSums) -> dict[str, Any]:
    return _only_time(by, item.time) | ({"pool": item.pool} if "pool" in by else {})


def _row(
    line: Line, cost: Decimal | None, bill: Decimal | None, is_by_pool: bool
) -> dict[str, Any]:
    return {
        "line": line.line,
        **line.values,
        **({} if is_by_pool else {"pool": line.pool}),
        "basis": line.basis,
        **_letters(line),
        "price_per_gpu_hour": _price(line),
        "gpu_seconds": _seconds(line.gpu_ps),
        **_phases(line),
        "cost": cost,
        "currency": line.currency,
        "share_ratio": float(cost / bill) if cost is not None and bill else None,
        **_listed(line),
    }


def _letters(line: Line) -> dict[str, Any]:
    if line.sums is None:
        return {}
    letters = letters_of(line.sums)
    counts = {
        "N": letters.call_count,
        "L_tokens": letters.output_tokens,
        "input_tokens": line.sums.input_tokens,
        "output_tokens": line.sums.output_tokens,
    }
    if line.basis != "gpu":
        return counts
    return counts | {
        "Tp_s": letters.prefill_s,
        "Td_s": letters.decode_s_per_token,
        "B": letters.batch,
    }


def _phases(line: Line) -> dict[str, Any]:
    if line.sums is None or line.basis != "gpu":
        return {}
    sums = line.sums
    return {
        "prefill_gpu_seconds": _seconds(sums.prefill_gpu_ps),
        "decode_gpu_seconds": _seconds(sums.decode_gpu_ps),
        "estimated_ratio": sums.estimated_gpu_ps / sums.gpu_ps if sums.gpu_ps else None,
    }


def _listed(line: Line) -> dict[str, Decimal]:
    """What calls would cost by the token: those that a plan pays, else what caches avoided."""
    if line.sums is None or line.sums.listed_cost is None:
        return {}
    column = "list_cost" if line.basis == "plan" else "avoided_cost"
    return {column: rounded(line.sums.listed_cost)}


def _price(line: Line) -> Decimal | None:
    if line.cost is None or line.gpu_ps is None:
        return None
    return price_of(line.cost, line.gpu_ps)


def _seconds(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / PICOSECONDS_PER_S


def _schema(by: Sequence[str]) -> dict[str, Any]:
    groups = {column: pl.Date if column == "day" else pl.String for column in by}
    return {
        "line": pl.String,
        **groups,
        "pool": pl.String,
        "basis": pl.String,
        "N": pl.Int64,
        "Tp_s": pl.Float64,
        "L_tokens": pl.Float64,
        "Td_s": pl.Float64,
        "B": pl.Float64,
        "price_per_gpu_hour": PRICE,
        "gpu_seconds": pl.Float64,
        "prefill_gpu_seconds": pl.Float64,
        "decode_gpu_seconds": pl.Float64,
        "cost": MONEY,
        "currency": pl.String,
        "share_ratio": pl.Float64,
        "list_cost": MONEY,
        "avoided_cost": MONEY,
        "estimated_ratio": pl.Float64,
        "input_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
