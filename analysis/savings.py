"""What claims on calls come to, in the GPU-seconds and the money that these were charged.

Owns what a claim is worth, in whole picoseconds and billionths of money. Refuses to estimate: a
claim on a part of a call whose price does not tell that part is counted as unpriced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.selection import Filters, caller_values, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.charging.pools import rates_in
from ingest.charging.token_prices import PRICE_WINDOWS, register_price_windows
from ingest.config import Configuration
from ingest.ledger import Connection

Whole = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

NO_CLAIM = -1
SUM = pl.Decimal(38, 0)
NO_PARTS = pl.DataFrame(
    schema=dict.fromkeys(("call_no", "input_billionths", "output_billionths"), pl.Int64)
)

Label = tuple[int, int | str]
"""A cohort, and a rate or a currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What calls were charged, in whole GPU-picoseconds or billionths of money: a row a piece.

    `labels` are a cohort, and the rate or the currency. `parts` are by phase: what the uncached
    input cost (`prefill`), what the output cost (`decode`), and of money the `rest`, which only
    the whole call saves.
    """

    call_nos: Whole
    labels: pl.DataFrame
    parts: Mapping[str, Whole]

    def sums(self, rows: Whole | slice, amounts: Mapping[str, Whole]) -> Mapping[Label, int]:
        """`amounts` of `rows`, all phases together, by label."""
        labels = self.labels[rows] if isinstance(rows, slice) else self.labels[pl.Series(rows)]
        columns = labels.columns
        summed = (
            labels.with_columns(amount=pl.Series(_added(amounts), dtype=pl.Int64))
            .group_by(columns)
            .agg(pl.col("amount").cast(SUM).sum())
        )
        return {(row[0], row[1]): int(row[2]) for row in summed.iter_rows() if row[2]}


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
class Part:
    """Claims on the rows of some amounts, by phase."""

    rows: Whole
    parts: Mapping[str, Whole]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Claims as they apply to a bill."""

    charged: Part
    priced: Part
    call_count: int
    unpriced_call_count: int


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

    def claimed(self, claims: pl.DataFrame) -> Claimed:
        """`claims` on the calls of this bill; others, and those of nothing, are left out."""
        last = self.is_served.size
        inside = claims.filter(
            pl.col("call_no").is_between(0, last - 1),
            (pl.col("prefill_ratio") > 0) | (pl.col("decode_ratio") > 0),
        )
        is_here = pl.Series(self.is_served[inside["call_no"].to_numpy()], dtype=pl.Boolean)
        found = inside.filter(is_here)
        call_nos = found["call_no"].to_numpy()
        ratios = {name: found[f"{name}_ratio"].to_numpy() for name in ("prefill", "decode")}
        is_whole = (ratios["prefill"] >= 1) & (ratios["decode"] >= 1)
        ratios["rest"] = is_whole.astype(np.float64)
        is_known = np.where(is_whole, self.is_priced[call_nos], self.is_split[call_nos])
        places = np.full(last, NO_CLAIM, dtype=np.int32)
        places[call_nos] = np.arange(call_nos.size, dtype=np.int32)
        return Claimed(
            charged=_part(self.charged, places, ratios),
            priced=_part(self.priced, places, ratios),
            call_count=call_nos.size,
            unpriced_call_count=int((~is_known).sum()),
        )

    def saving(self, claimed: Claimed) -> Saving:
        """What the claims come to alone."""
        return Saving(
            call_count=claimed.call_count,
            unpriced_call_count=claimed.unpriced_call_count,
            gpu_ps=self.charged.sums(claimed.charged.rows, claimed.charged.parts),
            billionths=self.priced.sums(claimed.priced.rows, claimed.priced.parts),
        )

    def total(self) -> Saving:
        """All of the bill."""
        call_count = int(self.is_served.sum())
        return Saving(
            call_count=call_count,
            unpriced_call_count=call_count - int((self.is_served & self.is_priced).sum()),
            gpu_ps=self.charged.sums(slice(None), self.charged.parts),
            billionths=self.priced.sums(slice(None), self.priced.parts),
        )


def read_bill(
    connection: Connection,
    window: Window,
    filters: Filters,
    configuration: Configuration | None = None,
) -> Bill:
    """The calls that `filters` select and that began service in `window`, with their charges.

    With a `configuration` what tokens cost is told apart by phase, at its prices; without, a call
    that is priced by the token can be claimed only whole.
    """
    cohort_ids = read_cohorts(connection, filters)["cohort_id"].to_list()
    served = run_question(
        connection,
        question_named("served_calls"),
        cohort_ids=cohort_ids,
        since=window.since,
        until=window.until,
        **caller_values(filters),
    )
    rates = {rate.rate_id for rate in rates_in(connection) if rate.price_per_gpu_hour is not None}
    costs = run_question(connection, question_named("token_costs"), cohort_ids=cohort_ids)
    parts = NO_PARTS
    if configuration is not None and not costs.is_empty():
        parts = _parts_of_calls(connection, configuration, cohort_ids)
    return bill_of(
        served["call_no"].to_numpy(),
        run_question(connection, question_named("charged_pieces"), cohort_ids=cohort_ids),
        costs.join(parts, on="call_no", how="left"),
        priced_rates=rates,
    )


def _parts_of_calls(
    connection: Connection, configuration: Configuration, cohort_ids: Sequence[int]
) -> pl.DataFrame:
    register_price_windows(connection, configuration)
    try:
        return run_question(connection, question_named("token_parts"), cohort_ids=cohort_ids)
    finally:
        connection.unregister(PRICE_WINDOWS)


def bill_of(
    call_nos: Whole, pieces: pl.DataFrame, costs: pl.DataFrame, *, priced_rates: set[int]
) -> Bill:
    """The bill of these calls from rows as those of `charged_pieces` and `token_costs`."""
    is_served = np.zeros(int(call_nos.max(initial=-1)) + 1, dtype=np.bool_)
    is_served[call_nos] = True
    charged = _served(pieces, is_served)
    priced = _served(costs, is_served)
    is_priced, is_split = np.zeros_like(is_served), np.zeros_like(is_served)
    for frame, known in (
        (charged.filter(pl.col("rate_id").is_in(priced_rates)), is_priced),
        (charged.filter(pl.col("rate_id").is_in(priced_rates)), is_split),
        (priced, is_priced),
        (priced.filter(pl.col("input_billionths").is_not_null()), is_split),
    ):
        known[frame["call_no"].to_numpy()] = True
    return Bill(
        is_served=is_served,
        is_priced=is_priced,
        is_split=is_split,
        charged=Amounts(
            call_nos=charged["call_no"].to_numpy(),
            labels=charged.select("cohort_id", "rate_id"),
            parts={
                "prefill": charged["prefill_ps"].to_numpy(),
                "decode": charged["decode_ps"].to_numpy(),
            },
        ),
        priced=Amounts(
            call_nos=priced["call_no"].to_numpy(),
            labels=priced.select("cohort_id", "currency"),
            parts=_parts_of_costs(priced),
        ),
    )


def _served(frame: pl.DataFrame, is_served: Flags) -> pl.DataFrame:
    """The rows of calls that are served."""
    call_nos = frame["call_no"].to_numpy()
    is_here = (call_nos >= 0) & (call_nos < is_served.size)
    is_here[is_here] = is_served[call_nos[is_here]]
    return frame if is_here.all() else frame.filter(pl.Series(is_here, dtype=pl.Boolean))


def _parts_of_costs(costs: pl.DataFrame) -> dict[str, Whole]:
    """What the tokens of each call cost by phase; a cost that is not told apart is all `rest`."""
    known = pl.col("input_billionths", "output_billionths").fill_null(0)
    parts = costs.with_columns(known)
    prefill, decode = parts["input_billionths"].to_numpy(), parts["output_billionths"].to_numpy()
    rest: Whole = costs["cost_billionths"].to_numpy() - prefill - decode
    return {"prefill": prefill, "decode": decode, "rest": rest}


def _added(parts: Mapping[str, Whole]) -> Whole:
    """All phases of each row together."""
    first, *others = parts.values()
    added: Whole = sum(others, start=first)
    return added


def _part(amounts: Amounts, places: Places, ratios: Mapping[str, npt.NDArray[np.float64]]) -> Part:
    """The rows of `amounts` that are claimed, with how much of each by phase, rounded down."""
    at = places[amounts.call_nos]
    rows = np.flatnonzero(at != NO_CLAIM)
    of_claims = at[rows]
    return Part(
        rows=rows,
        parts={
            name: _portion(part[rows], ratios[name][of_claims])
            for name, part in amounts.parts.items()
        },
    )


def _portion(amounts: Whole, ratios: npt.NDArray[np.float64]) -> Whole:
    """`ratios` of `amounts`, never more than all of them; all of them is exact."""
    found: Whole = np.where(
        ratios >= 1,
        amounts,
        np.minimum(np.floor(amounts * np.maximum(ratios, 0.0)).astype(np.int64), amounts),
    )
    return found
