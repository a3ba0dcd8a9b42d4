"""The bill that claims are held against: the calls of a window, and what each was charged.

Owns its reading. Refuses calls that did not begin service in the window, whatever they cost there.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from analysis.savings import Amounts, Bill, Flags, Whole
from analysis.selection import Filters, caller_values, read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.charging.pools import rates_in
from ingest.charging.token_prices import PRICE_WINDOWS, register_price_windows
from ingest.config import Configuration
from ingest.ledger import Connection

NO_PARTS = pl.DataFrame(
    schema=dict.fromkeys(("call_no", "input_billionths", "output_billionths"), pl.Int64)
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
    return bill_of(
        served["call_no"].to_numpy(),
        run_question(connection, question_named("charged_pieces"), cohort_ids=cohort_ids),
        parts_of_costs(connection, configuration, cohort_ids),
        priced_rates=rates,
    )


def parts_of_costs(
    connection: Connection, configuration: Configuration | None, cohort_ids: Sequence[int]
) -> pl.DataFrame:
    """What each call priced by the token costs, with what its input and its output do.

    The two are null where they are not told apart, and without a `configuration`.
    """
    costs = run_question(connection, question_named("token_costs"), cohort_ids=cohort_ids)
    parts = NO_PARTS
    if configuration is not None and not costs.is_empty():
        parts = _parts_of_calls(connection, configuration, cohort_ids)
    return costs.join(parts, on="call_no", how="left")


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
    with_price = charged.filter(pl.col("rate_id").is_in(priced_rates))
    for frame, known in (
        (with_price, is_priced),
        (with_price, is_split),
        (priced, is_priced),
        (priced.filter(pl.col("input_billionths").is_not_null()), is_split),
    ):
        known[frame["call_no"].to_numpy()] = True
    return Bill(
        is_served=is_served,
        is_priced=is_priced,
        is_split=is_split,
        charged=_amounts(
            charged,
            "rate_id",
            {
                "prefill": charged["prefill_ps"].to_numpy(),
                "decode": charged["decode_ps"].to_numpy(),
            },
        ),
        priced=_amounts(priced, "currency", _parts_of_costs(priced)),
    )


def _amounts(frame: pl.DataFrame, column: str, parts: Mapping[str, Whole]) -> Amounts:
    """The rows of `frame`, labelled by their cohort and `column`."""
    labels = frame.select("cohort_id", column).unique(maintain_order=True).with_row_index("key")
    keyed = frame.select("cohort_id", column).join(
        labels, on=["cohort_id", column], how="left", maintain_order="left"
    )
    return Amounts(
        call_nos=frame["call_no"].to_numpy(),
        keys=keyed["key"].cast(pl.Int32).to_numpy(),
        labels=labels.select("cohort_id", column).rows(),
        parts=parts,
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
