"""What a token of each model cost in this ledger: of input and of output, as measured.

Owns the two prices. On own GPUs they are what prefill and decode cost for each token, under the
load that there was; else what was paid. Refuses a price of a model that the ledger has no call of.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from analysis.bill import parts_of_costs
from analysis.law import law_lines
from analysis.lines import rounded_costs
from analysis.money import share_of
from analysis.selection import read_cohorts
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.worth import BILLIONTH
from ingest.config import Configuration
from ingest.ledger import Ledger

TOLD_COSTS = "told_costs"
LEAST_CALLS = 20
"""A price of fewer calls is an accident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Money for one token of input and one of output; `basis` is gpu or token."""

    model: str
    basis: str
    currency: str
    input_price: Decimal
    output_price: Decimal

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """What so many tokens cost."""
        return self.input_price * input_tokens + self.output_price * output_tokens


def model_prices(
    ledger: Ledger, configuration: Configuration, window: Window, origin: str
) -> list[ModelPrice]:
    """The prices of the models that at least `LEAST_CALLS` calls of `window` have, and of both
    kinds of tokens, in order of model, basis and currency."""
    found = [
        *_on_gpus(ledger, configuration, window, origin),
        *_by_token(ledger, configuration, window, origin),
    ]
    return sorted(found, key=lambda price: (price.model, price.basis, price.currency))


def _on_gpus(
    ledger: Ledger, configuration: Configuration, window: Window, origin: str
) -> Iterator[ModelPrice]:
    where = {"origin": origin}
    found = law_lines(ledger, configuration, by=("model",), window=window, where=where)
    for line, cost in zip(found.lines, rounded_costs(found.lines), strict=True):
        sums, model = line.sums, line.values.get("model")
        if line.basis != "gpu" or not (sums and model and cost and line.currency and line.gpu_ps):
            continue
        if not (sums.input_tokens and sums.output_tokens) or sums.call_count < LEAST_CALLS:
            continue
        prefill = share_of(cost, sums.prefill_gpu_ps, line.gpu_ps)
        yield ModelPrice(
            model=model,
            basis="gpu",
            currency=line.currency,
            input_price=prefill / sums.input_tokens,
            output_price=(cost - prefill) / sums.output_tokens,
        )


def _by_token(
    ledger: Ledger, configuration: Configuration, window: Window, origin: str
) -> Iterator[ModelPrice]:
    connection = ledger.connection
    cohorts = read_cohorts(connection, {"origin": origin})
    costs = parts_of_costs(connection, configuration, cohorts["cohort_id"].to_list())
    connection.register(TOLD_COSTS, costs.filter(pl.col("output_billionths").is_not_null()))
    try:
        priced = question_named("priced_tokens")
        rows = run_question(connection, priced, since=window.since, until=window.until)
    finally:
        connection.unregister(TOLD_COSTS)
    by_model = (
        rows.join(cohorts.select("cohort_id", "model"), on="cohort_id", how="inner")
        .drop_nulls("model")
        .group_by("model", "currency")
        .agg(pl.exclude("cohort_id").sum())
    )
    for row in by_model.iter_rows(named=True):
        if row["call_count"] >= LEAST_CALLS and row["input_tokens"] and row["output_tokens"]:
            yield ModelPrice(
                model=row["model"],
                basis="token",
                currency=row["currency"],
                input_price=row["input_billionths"] * BILLIONTH / row["input_tokens"],
                output_price=row["output_billionths"] * BILLIONTH / row["output_tokens"],
            )
