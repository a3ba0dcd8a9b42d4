"""Unit costs: what a call, 1,000 tokens, a conversation and a resolved workflow cost.

Owns the division of the law's lines by what they paid for. Refuses to divide by calls that have no
price, and to spread idle time: `ask idle --policy` does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.columns import TIME_COLUMNS
from analysis.errors import NoDataError
from analysis.groups import groups_of
from analysis.law import law_lines
from analysis.letters import PICOSECONDS_PER_S, Sums
from analysis.lines import MONEY, PRICE, rounded_costs
from analysis.money import PRICE_QUANTUM, rounded, total_of
from analysis.scan import Scan, scanned
from analysis.selection import Filters
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

COUNTS = (
    "call_count",
    "unpriced_count",
    "input_tokens",
    "output_tokens",
    "unknown_output_count",
    "conversation_count",
    "no_conversation_count",
    "workflow_count",
    "resolved_count",
)
UNITS: Mapping[str, tuple[str, int]] = {
    "call": ("call_count", 1),
    "1k_input_tokens": ("input_tokens", 1000),
    "1k_output_tokens": ("output_tokens", 1000),
    "conversation": ("conversation_count", 1),
    "resolved_workflow": ("resolved_count", 1),
}
"""Unit to the column that counts it, and how many of those make one."""

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """Calls of one group that are paid in one currency; `cost` is None where nobody knows it.

    `gpu_ps` is None where none of them ran on GPUs of a pool.
    """

    cost: Decimal | None
    gpu_ps: int | None
    sums: Sums


NOTHING = Paid(cost=None, gpu_ps=None, sums=Sums())
PaidBy = Mapping[Values, Mapping[str | None, Paid]]
"""Values of the columns grouped by, to currency, to what was paid."""


def unit_costs(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
    scan: Scan = scanned,
) -> Answer:
    """What each unit costs by the columns `by`, those groups first that cost most.

    Columns and units: docs/metrics/unit_costs.md. Raises `NoDataError` where no call is in the
    window.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    counts = groups.rows_of(ledger.connection, "unit_costs")

    def paid(filters: Filters | None) -> PaidBy:
        return _paid(ledger, configuration, by=by, window=window, where=filters, scan=scan)

    everything = paid(where)
    is_all_talk = not counts["no_conversation_count"].sum()
    is_asked = "conversation_id" in (where or {})
    silent = {} if is_all_talk else everything if is_asked else paid(_silent(where))
    rows = [
        row
        for count in counts.to_dicts()
        for row in _rows(count, tuple(count[column] for column in by), everything, silent)
    ]
    frame = _frame(rows, {column: counts.schema[column] for column in by})
    notes = (f"window: {groups.window.text()}", *_notes(counts, frame))
    return Answer(frame=frame, notes=notes, window=groups.window)


def _silent(where: Filters | None) -> Filters:
    """The calls of `where` of which no conversation is known."""
    return {**(where or {}), "conversation_id": None}


def _paid(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str],
    window: Window | None,
    where: Filters | None,
    scan: Scan,
) -> PaidBy:
    """What the lines of calls of law cost, by group; those on pools without a price too."""
    try:
        found = law_lines(ledger, configuration, by=by, window=window, where=where, scan=scan)
    except NoDataError:
        return {}
    paid: dict[Values, dict[str | None, Paid]] = {}
    for line, cost in zip(found.lines, rounded_costs(found.lines), strict=True):
        if line.sums is not None and line.basis != "unpriced":
            own = paid.setdefault(tuple(line.values[column] for column in by), {})
            before = own.get(line.currency, NOTHING)
            own[line.currency] = Paid(
                cost=total_of([before.cost, cost]),
                gpu_ps=before.gpu_ps if line.gpu_ps is None else (before.gpu_ps or 0) + line.gpu_ps,
                sums=before.sums.plus(line.sums),
            )
    return paid


def _rows(
    count: Mapping[str, Any], values: Values, everything: PaidBy, silent: PaidBy
) -> Iterator[dict[str, Any]]:
    """A row for each currency that the group is paid in, and one of its calls without a price."""
    own = dict(everything.get(values, {}))
    unpriced = own.pop(None, NOTHING)
    priced_count = sum(paid.sums.call_count for paid in own.values())
    shared = {**count, "unpriced_count": count["call_count"] - priced_count}
    for currency, paid in own.items():
        beside = silent.get(values, {}).get(currency, NOTHING)
        yield _row(shared, currency, paid, beside, paid.sums.call_count)
    if shared["unpriced_count"]:
        beside = silent.get(values, {}).get(None, NOTHING)
        yield _row(shared, None, unpriced, beside, shared["unpriced_count"])


def _row(
    count: Mapping[str, Any], currency: str | None, paid: Paid, beside: Paid, call_count: int
) -> dict[str, Any]:
    talk = None if paid.cost is None else paid.cost - (beside.cost or 0)
    row = {
        **count,
        "currency": currency,
        "call_count": call_count,
        "cost": paid.cost,
        "conversation_cost": talk,
        "gpu_seconds": _seconds(paid.gpu_ps),
        "conversation_gpu_seconds": _seconds(paid.gpu_ps, beside.gpu_ps or 0),
        "input_tokens": paid.sums.input_tokens,
        "output_tokens": paid.sums.output_tokens,
    }
    for unit, (column, size) in UNITS.items():
        whole = "conversation_" if unit == "conversation" else ""
        cost, seconds, number = row[f"{whole}cost"], row[f"{whole}gpu_seconds"], row[column]
        row[f"cost_per_{unit}"] = (
            rounded(cost * size / number, PRICE_QUANTUM) if number and cost is not None else None
        )
        row[f"gpu_seconds_per_{unit}"] = (
            seconds * size / number if number and seconds is not None else None
        )
    return row


def _seconds(gpu_ps: int | None, without_ps: int = 0) -> float | None:
    return None if gpu_ps is None else (gpu_ps - without_ps) / PICOSECONDS_PER_S


def _frame(rows: Sequence[Mapping[str, Any]], by: Mapping[str, Any]) -> pl.DataFrame:
    """The rows in the order of their time, the dearest first."""
    schema = {**by, "currency": pl.String, "cost": MONEY, "gpu_seconds": pl.Float64}
    for unit in UNITS:
        schema |= {f"cost_per_{unit}": PRICE, f"gpu_seconds_per_{unit}": pl.Float64}
    schema |= {"conversation_cost": MONEY, "conversation_gpu_seconds": pl.Float64}
    schema |= dict.fromkeys(COUNTS, pl.Int64)
    frame = pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)
    times = [column for column in by if column in TIME_COLUMNS]
    order = [*times, "cost", "gpu_seconds", "call_count", *(c for c in by if c not in times)]
    most = ("cost", "gpu_seconds", "call_count")
    return frame.sort(in_order(order), descending=[name in most for name in order], nulls_last=True)


def _notes(counts: pl.DataFrame, frame: pl.DataFrame) -> Iterator[str]:
    unpriced = int(frame.filter(pl.col("cost").is_null())["call_count"].sum())
    if unpriced:
        yield f"without a price, hence in no cost: {counted(unpriced, 'call')}"
    for column, said in UNKNOWN.items():
        if unknown := int(counts[column].sum()):
            yield said.format(counted(unknown, "call"))
    yield "idle time is in no unit; `ask idle --policy proportional` shares it"


UNKNOWN: Mapping[str, str] = {
    "unknown_output_count": "output not told, hence in no 1,000 tokens but in the cost: {}",
    "no_conversation_count": "of no known conversation, hence not in conversation_cost: {}",
}
"""Column that counts calls of which something is not known, and the sentence that says so."""
