"""Simple work on dear models, and what it would cost on the cheapest other model of the ledger.

Owns what simple is, and the columns of `ask routing`. Refuses to say that another model would do:
that is for a replay with the quality gate to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.answers_measured import shapes_of, unmeasured_notes
from analysis.claims import CLAIM_SCHEMA
from analysis.columns import checked_groups
from analysis.groups import Groups, groups_of
from analysis.lines import MONEY
from analysis.model_prices import ModelPrice, model_prices
from analysis.money import rounded
from analysis.repetition import spent_text
from analysis.selection import Filters, caller_values, of_all_callers, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.config import Configuration
from ingest.counting.measures import MOST_LABEL_TOKENS
from ingest.ledger import Connection, Ledger

MOST_INPUT_TOKENS = 2_000
MOST_OUTPUT_TOKENS = 64
LEAST_RATIO = 0.5
"""An endpoint gives a model simple work where so many of the calls are simple,"""
LEAST_CALLS = 20
"""of which there are so many at least: a router has to know the work by its endpoint."""

SIMPLE_WORK = "simple_work"

RULE_NOTE = (
    f"simple: a label or JSON of at most {MOST_OUTPUT_TOKENS} tokens after at most "
    f"{MOST_INPUT_TOKENS:,}, without tools and reasoning, where half of the endpoint's calls to "
    "the model are so"
)
BOUND_NOTE = (
    "saved_cost is an upper bound: the same tokens at what the other model cost in this ledger; "
    "whether its answers are as good, and what a router costs, is for a replay with the gate to "
    "say (tier 3)"
)
NO_OTHER = (
    "no other model of the ledger has a lower price for some of this work: serve or replay a part "
    "of the calls on a smaller one"
)


def routing(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint", "model"),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Simple calls by the columns `by` and by model, those that save most first.

    Columns: docs/metrics/routing.md. Raises `NoDataError` where no call is in the window, or no
    answer of it was measured.
    """
    columns = tuple(by) if "model" in by else checked_groups((*by, "model"))
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=columns, window=window, where=where)
    found = _routable(connection, groups.asked, groups.filters)
    frame = _rows(connection, groups, found.select("call_no"))
    origin = groups.filters["origin"] or "production"
    prices = model_prices(ledger, configuration, groups.asked, origin)
    told = [_beside(row, prices) for row in frame.iter_rows(named=True)]
    schema: dict[str, Any] = {"other_model": pl.String, "other_cost": MONEY, "saved_cost": MONEY}
    frame = pl.concat([frame, pl.DataFrame(told, schema=schema)], how="horizontal").sort(
        "saved_cost", "simple_gpu_seconds", "call_count", descending=True, nulls_last=True
    )
    return Answer(frame=frame, notes=tuple(_notes(groups.window, frame)), window=groups.window)


def routing_claims(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window,
    where: Filters | None = None,
) -> pl.DataFrame:
    """The share of each simple call that the cheapest other model would not have cost.

    An upper bound in money: GPU-seconds stand for what they cost here.
    """
    filters = selected(where)
    found = _routable(ledger.connection, window, filters)
    prices = model_prices(ledger, configuration, window, filters["origin"] or "production")
    shares = [
        (model, *_saved_shares(model, prices)) for model in found["model"].unique().drop_nulls()
    ]
    schema = {"model": pl.String, "prefill_ratio": pl.Float64, "decode_ratio": pl.Float64}
    ratios = pl.DataFrame(shares, schema=schema, orient="row")
    claims = found.join(ratios, on="model", how="inner").select(*CLAIM_SCHEMA)
    is_something = (pl.col("prefill_ratio") > 0) | (pl.col("decode_ratio") > 0)
    return claims.cast(CLAIM_SCHEMA).filter(is_something).sort("call_no")


def _routable(connection: Connection, window: Window, filters: Filters) -> pl.DataFrame:
    """The simple calls of endpoints that give a model mostly such: `call_no` and `model`."""
    shapes = shapes_of(connection, window, of_all_callers(filters))
    simple = run_question(
        connection,
        question_named("simple_calls"),
        cohort_ids=shapes["cohort_id"].to_list(),
        since=window.since,
        until=window.until,
        most_input_tokens=MOST_INPUT_TOKENS,
        most_output_tokens=MOST_OUTPUT_TOKENS,
        most_label_tokens=MOST_LABEL_TOKENS,
        **caller_values(filters),
    )
    counts = simple.group_by("cohort_id").agg(simple_count=pl.len())
    work = ("endpoint", "model")
    share = pl.col("simple_count").sum() / pl.col("call_count").sum()
    judged = shapes.join(counts, on="cohort_id", how="left").filter(
        (share >= LEAST_RATIO).over(work),
        (pl.col("simple_count").sum() >= LEAST_CALLS).over(work),
    )
    asked = simple.filter("is_asked").select("call_no", "cohort_id")
    return asked.join(judged.select("cohort_id", "model"), on="cohort_id", how="inner")


def _rows(connection: Connection, groups: Groups, simple: pl.DataFrame) -> pl.DataFrame:
    connection.register(SIMPLE_WORK, simple)
    try:
        return groups.rows_of(connection, "routing")
    finally:
        connection.unregister(SIMPLE_WORK)


def _beside(row: Mapping[str, Any], prices: Sequence[ModelPrice]) -> dict[str, Any]:
    """The cheapest other model for the simple calls of `row`, where it is cheaper."""
    nothing = {"other_model": None, "other_cost": None, "saved_cost": None}
    cost: Decimal | None = row["simple_cost"]
    if cost is None or not row["simple_count"]:
        return nothing
    tokens = (row["simple_input_tokens"], row["simple_output_tokens"])
    offers = [
        (price.cost(*tokens), price.model)
        for price in prices
        if price.model != row["model"] and price.currency == row["currency"]
    ]
    other_cost, model = min(offers, default=(cost, ""))
    if other_cost >= cost:
        return nothing
    return {
        "other_model": model,
        "other_cost": rounded(other_cost),
        "saved_cost": rounded(cost) - rounded(other_cost),
    }


def _saved_shares(model: str, prices: Sequence[ModelPrice]) -> tuple[float, float]:
    """Of the prices of `model` the shares that the other, cheapest for both, does not have."""
    own = [price for price in prices if price.model == model]
    others = [
        (other.input_price / mine.input_price, other.output_price / mine.output_price)
        for mine in own
        for other in prices
        if other.model != model
        and other.currency == mine.currency
        and mine.input_price
        and mine.output_price
    ]
    prefill, decode = min(others, key=sum, default=(Decimal(1), Decimal(1)))
    return float(max(1 - prefill, Decimal(0))), float(max(1 - decode, Decimal(0)))


def _notes(window: Window, frame: pl.DataFrame) -> Iterator[str]:
    yield f"window: {window.text()}"
    yield RULE_NOTE
    if int(frame["simple_count"].sum()):
        yield f"simple work: {spent_text(frame, 'simple_gpu_seconds', 'simple_cost')}"
        yield BOUND_NOTE
    if frame.filter(pl.col("simple_count") > 0)["other_model"].is_null().any():
        yield NO_OTHER
    yield from unmeasured_notes(int(frame["call_count"].sum()), int(frame["measured_count"].sum()))
