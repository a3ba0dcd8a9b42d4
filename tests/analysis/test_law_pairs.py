"""The law by any two columns: the lines of every pair add up to the bill, and to either's own."""

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
FIRST = datetime(2026, 11, 2, tzinfo=UTC)
BEGIN = int(FIRST.timestamp()) * S
WINDOW = Window(since=BEGIN, until=BEGIN + 2 * 86_400 * S)
COLUMNS = (
    "endpoint", "feature", "team", "tenant", "user_id", "model", "pool", "adapter", "day", "hour",
)  # fmt: skip
PAIRS = [pair for pair in itertools.combinations(COLUMNS, 2) if pair != ("day", "hour")]
TERMS = Configuration(
    pools=(
        Pool(name="a", models=("m1",), replicas=2, price_per_gpu_hour=Decimal("2.99")),
        Pool(
            name="a",
            replicas=3,
            price_per_gpu_hour=Decimal("3.17"),
            effective_from=FIRST.replace(hour=13, minute=7),
        ),
        Pool(name="b", models=("m2",), price_per_gpu_hour=Decimal("0.71")),
    ),
    token_prices=(
        TokenPrice(
            model="m3",
            input_per_mtok=Decimal("0.15"),
            output_per_mtok=Decimal("0.6"),
            currency="EUR",
        ),
    ),
)


def traffic() -> list[dict[str, Any]]:
    """Calls of every kind, each label drawn for itself and sometimes not known."""
    dice = np.random.default_rng(11)

    def one_of(*values: str | None) -> str | None:
        return values[int(dice.integers(len(values)))]

    return [
        {
            "call_id": str(number),
            "endpoint": one_of("/chat", "/rag", None),
            "feature": one_of("draft", "ask", None),
            "team": one_of("search", "ads", None),
            "tenant": one_of("t1", "t2", None),
            "user_id": one_of("u1", "u2", None),
            "model": (model := one_of("m1", "m1", "m2", "m3", "m4")),
            "adapter": one_of("l1", None),
            "replica": one_of("r0", "r1") if model in ("m1", "m2") else None,
            "timing_source": "engine" if model in ("m1", "m2") else "stream",
            "started_at": (start := BEGIN + int(dice.integers(0, 170_000)) * S),
            "first_token_at": start + int(dice.integers(1, 40)) * S // 10,
            "ended_at": start + int(dice.integers(4, 1_500)) * S,
            "uncached_input_tokens": int(dice.integers(1, 3_000)),
            "visible_output_tokens": int(dice.integers(1, 500)),
        }
        for number in range(150)
    ]


@pytest.fixture(scope="module")
def ledger(ledger_of: LedgerOf) -> Ledger:
    """Two days of calls on two pools, by the token, and without a price."""
    return ledger_of(traffic(), TERMS)


def lines(ledger: Ledger, by: tuple[str, ...]) -> pl.DataFrame:
    return law(ledger, TERMS, by=by, window=WINDOW).frame


def bills(frame: pl.DataFrame) -> Mapping[str, Decimal]:
    known = frame.drop_nulls("cost")
    return dict(known.group_by("currency").agg(pl.col("cost").sum()).iter_rows())


def counts(frame: pl.DataFrame) -> list[float]:
    columns = ("N", "gpu_seconds", "prefill_gpu_seconds", "input_tokens", "output_tokens")
    return [float(frame[column].sum()) for column in columns]


def of_calls(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The lines of calls, added up by one column and how they are paid."""
    keys = (column, "basis", "currency")
    own = frame.filter(pl.col("line").is_in(["calls", "unattributed"]))
    summed = own.group_by(keys).agg(pl.col("N").sum(), pl.col("cost").sum(), pl.len())
    return summed.sort(keys, nulls_last=True)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_the_lines_of_a_pair_add_up_to_the_bill_and_to_those_of_its_first_column(
    ledger: Ledger, pair: tuple[str, str]
) -> None:
    frame, whole = lines(ledger, pair), lines(ledger, ())
    assert bills(frame) == bills(whole)
    assert counts(frame) == pytest.approx(counts(whole), rel=1e-12)
    assert whole["N"].sum() == 150
    parts, alone = of_calls(frame, pair[0]), of_calls(lines(ledger, pair[:1]), pair[0])
    assert parts.select(pair[0], "N").equals(alone.select(pair[0], "N"))
    # Each line is rounded to a billionth for itself.
    for cost, other, count in zip(parts["cost"], alone["cost"], parts["len"], strict=True):
        assert abs(cost - other) <= Decimal("1e-9") * (count + 1)
