"""The law's sums per group of calls: one scan of calls and charges, labelled by small tables.

Owns which call belongs to which group, and on which basis it is paid: `gpu`, `token`, `plan`,
or not at all (`unpriced`). Refuses to decide what a line is called, and rounds nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.columns import CALLER_COLUMNS, TIME_COLUMNS
from analysis.letters import Sums
from analysis.money import gpu_cost
from analysis.scan import Scan, scanned
from analysis.selection import PRODUCTION, Filters, read_cohorts
from analysis.window import Window
from ingest.charging.pools import rates_in
from ingest.charging.rates import Rate
from ingest.ledger import Connection

ESTIMATED_SOURCES = ("span", "tokens")
"""Timing sources whose phases are estimated, not observed."""

RATE_SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "rate_id": pl.Int32,
    "pool": pl.String,
    "price_per_gpu_hour": pl.Decimal(18, 9),
    "currency": pl.String,
}

TOKEN_BASES = ("token", "plan")
"""How calls are paid that are not charged by GPU-seconds: each has a cost of its own."""

_SUM_COLUMNS = (
    "call_count",
    "input_tokens",
    "output_tokens",
    "known_output_count",
    "prefill_ps",
    "decode_ps",
    "prefill_gpu_ps",
    "decode_gpu_ps",
    "estimated_gpu_ps",
    "token_cost",
    "listed_cost",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """`values` of the columns grouped by, in their order; what is not known is None."""

    values: tuple[Any, ...]
    basis: str
    currency: str | None
    is_priced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyKey:
    """One rate, within one value of the time column that is grouped by (None: all time)."""

    rate_id: int
    time: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSums:
    """Sums by group, and the busy GPU-picoseconds of each rate over the selected calls.

    `replayed` are those that replays kept the same pools busy with beside production.
    """

    groups: Mapping[GroupKey, Sums]
    busy: Mapping[BusyKey, int]
    replayed: Mapping[BusyKey, int]


def group_sums(
    connection: Connection,
    times: pl.DataFrame,
    *,
    by: Sequence[str],
    window: Window,
    filters: Filters,
    scan: Scan = scanned,
) -> GroupSums:
    """The sums of the calls that `filters` select in `window`, by the columns `by`.

    `times` are those of `times_of`, in which the column of time of `by` is found.
    """
    rows = scan(connection, times, by=by, window=window, filters=filters)
    labelled = _labelled(rows, read_cohorts(connection, filters), times, by)
    priced = _with_rate(labelled, rates_in(connection))
    beside = _labelled(rows, _cohorts_beside(connection, filters), times, by)
    return GroupSums(groups=_groups(priced, by), busy=_busy(priced, by), replayed=_busy(beside, by))


def _cohorts_beside(connection: Connection, filters: Filters) -> pl.DataFrame:
    """The cohorts of replays where `filters` are of production; else none."""
    others = {column: value for column, value in filters.items() if column != "origin"}
    cohorts = read_cohorts(connection, others)
    is_beside = (pl.col("origin") != PRODUCTION) & (filters["origin"] == PRODUCTION)
    return cohorts.filter(is_beside)


def _labelled(
    rows: pl.DataFrame, cohorts: pl.DataFrame, times: pl.DataFrame, by: Sequence[str]
) -> pl.DataFrame:
    """`rows` of `cohorts`, with a column for each of `by`."""
    named = cohorts.with_columns(cohort_pool=pl.col("pool"))
    labelled = rows.join(named, on="cohort_id", how="inner")
    for column in by:
        if column in CALLER_COLUMNS:
            labelled = labelled.rename({"caller": column})
        elif column in TIME_COLUMNS:
            names = times.select("time_number", column).unique("time_number")
            number = pl.col("time_number").cast(pl.Int32)
            labelled = labelled.with_columns(number).join(names, on="time_number", how="left")
    estimated = pl.col("timing_source").is_in(ESTIMATED_SOURCES)
    gpu_ps = pl.col("prefill_gpu_ps") + pl.col("decode_gpu_ps")
    return labelled.with_columns(estimated_gpu_ps=pl.when(estimated).then(gpu_ps))


def _with_rate(rows: pl.DataFrame, all_rates: Sequence[Rate]) -> pl.DataFrame:
    """`rows` with price and currency; a count without a rate has those that its pool always has."""
    columns = list(RATE_SCHEMA)
    rates = pl.DataFrame(
        [[getattr(rate, column) for column in columns] for rate in all_rates],
        schema=RATE_SCHEMA,
        orient="row",
    )
    of_pool = rates.unique("pool", keep="first", maintain_order=True).select(
        cohort_pool="pool", pool_rate_id="rate_id"
    )
    priced = rates.select("rate_id", "price_per_gpu_hour", rate_currency="currency")
    on_gpu = pl.col("basis") == "gpu"
    return (
        rows.join(of_pool, on="cohort_pool", how="left")
        .with_columns(pl.when(on_gpu).then(pl.coalesce("rate_id", "pool_rate_id")).alias("rate_id"))
        .join(priced, on="rate_id", how="left")
        .with_columns(
            currency=pl.when(on_gpu).then("rate_currency").otherwise("currency"),
            is_priced=pl.col("price_per_gpu_hour").is_not_null()
            | pl.col("basis").is_in(TOKEN_BASES),
        )
    )


def _groups(rows: pl.DataFrame, by: Sequence[str]) -> dict[GroupKey, Sums]:
    keys = [*by, "basis", "currency", "is_priced", "price_per_gpu_hour"]
    summed = rows.group_by(keys, maintain_order=True).agg(
        pl.when(pl.col(column).count() > 0).then(pl.col(column).sum()) for column in _SUM_COLUMNS
    )
    groups: dict[GroupKey, Sums] = {}
    in_order = summed.sort("price_per_gpu_hour", nulls_last=True, maintain_order=True)
    for row in in_order.iter_rows(named=True):
        key = GroupKey(
            values=tuple(row[column] for column in by),
            basis=row["basis"],
            currency=row["currency"],
            is_priced=row["is_priced"],
        )
        groups[key] = groups.get(key, Sums()).plus(_sums(row))
    return groups


def _sums(row: Mapping[str, Any]) -> Sums:
    gpu_ps = _whole(row["prefill_gpu_ps"]) + _whole(row["decode_gpu_ps"])
    price: Decimal | None = row["price_per_gpu_hour"]
    cost = row["token_cost"] if price is None else gpu_cost(gpu_ps, price)
    return Sums(
        call_count=row["call_count"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        known_output_count=row["known_output_count"],
        prefill_ps=_whole(row["prefill_ps"]),
        decode_ps=_whole(row["decode_ps"]),
        prefill_gpu_ps=_whole(row["prefill_gpu_ps"]),
        decode_gpu_ps=_whole(row["decode_gpu_ps"]),
        estimated_gpu_ps=_whole(row["estimated_gpu_ps"]),
        cost=cost,
        listed_cost=row["listed_cost"],
    )


def _whole(value: Decimal | None) -> int:
    """Seconds that no charge tells are none: a count and its charges are rows of their own."""
    return 0 if value is None else int(value)


def _busy(rows: pl.DataFrame, by: Sequence[str]) -> dict[BusyKey, int]:
    times = [column for column in by if column in TIME_COLUMNS]
    charged = rows.filter(pl.col("prefill_gpu_ps").is_not_null())
    summed = charged.group_by(["rate_id", *times], maintain_order=True).agg(
        gpu_ps=(pl.col("prefill_gpu_ps") + pl.col("decode_gpu_ps")).sum()
    )
    return {
        BusyKey(rate_id=row["rate_id"], time=row[times[0]] if times else None): int(row["gpu_ps"])
        for row in summed.iter_rows(named=True)
    }
