"""Which rows of a large trace are shown, and that totals are of all of them."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trace_outline import chosen, outlined, whole_of

S = 1_000_000_000
SPANS = {
    "span_id": pl.String,
    "parent_span_id": pl.String,
    "started_at": pl.Int64,
    "ended_at": pl.Int64,
}
CALLS = {
    "call_id": pl.String,
    "span_id": pl.String,
    "arrived_at": pl.Int64,
    "started_at": pl.Int64,
    "ended_at": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "gpu_seconds": pl.Float64,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "cost_status": pl.String,
}


def spans(*rows: tuple[str, str | None, float]) -> pl.DataFrame:
    """Spans of an id, a parent and a length in s; each begins one second after the one before."""
    told = [(i, p, n * S, n * S + int(length * S)) for n, (i, p, length) in enumerate(rows)]
    return pl.DataFrame(told, schema=SPANS, orient="row")


def calls(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = {"cost_status": "priced", "currency": "USD", "input_tokens": 10, "output_tokens": 1}
    return pl.DataFrame([usual | row for row in rows], schema=CALLS)


def shown(outline: pl.DataFrame, most: int) -> list[str]:
    return chosen(outline, most)["span_id"].to_list()


def test_the_dearest_call_and_the_longest_span_come_with_what_they_are_under() -> None:
    rows = spans(
        ("root", None, 50), ("a", "root", 1), ("cheap", "a", 2), ("b", "root", 1),
        ("dear", "b", 1), ("c", "root", 1), ("long", "c", 30), ("short", "c", 0.5),
    )  # fmt: skip
    paid = calls(
        {"call_id": "1", "span_id": "cheap", "cost": Decimal("0.1")},
        {"call_id": "2", "span_id": "dear", "cost": Decimal("0.2")},
    )
    assert shown(outlined(rows, paid), 7) == [
        "root", "a", "cheap", "b", "dear", "c", "long",
    ]  # fmt: skip
    assert shown(outlined(rows, paid), 3) == ["root", "b", "dear"]
    assert shown(outlined(rows, paid), 100) == rows["span_id"].to_list()


def test_what_has_more_above_it_than_there_is_room_for_makes_room_for_others() -> None:
    chain = [(f"{n}", f"{n - 1}" if n else None, 1.0) for n in range(10)]
    paid = calls({"call_id": "1", "span_id": "9", "cost": Decimal(1)})
    outline = outlined(spans(*chain, ("other", None, 5)), paid)
    assert shown(outline, 4) == ["0", "1", "2", "other"]


def test_spans_that_are_below_themselves_are_shown_once() -> None:
    outline = outlined(spans(("x", "y", 2), ("y", "x", 1), ("z", None, 0.5)), calls())
    assert shown(outline, 2) == ["x", "y"]


def test_totals_are_of_all_rows_and_of_each_currency_apart() -> None:
    paid = calls(
        {"call_id": "1", "span_id": "a", "cost": Decimal("0.1"), "gpu_seconds": 2.0},
        {"call_id": "2", "cost": Decimal("0.3"), "currency": "EUR", "ended_at": 90 * S},
        {"call_id": "3", "output_tokens": None, "currency": None, "cost_status": "unpriced"},
    )
    outline = outlined(spans(("a", None, 4), ("b", "a", 2)), paid)
    whole = whole_of(outline, 2, paid)
    assert (whole.row_count, whole.span_count, whole.call_count) == (4, 2, 3)
    assert whole.text() == (
        "all of it: 3 calls, 30 input and 2 output tokens, 2.000 GPU-seconds, "
        "0.300000000 EUR, 0.100000000 USD, 1 call with unknown tokens, "
        "1 call not priced or in part"
    )
    assert whole.duration_s == 4.0


@pytest.mark.parametrize("most", [1, 7])
@given(parents=st.lists(st.integers(-1, 30), min_size=8, max_size=31))
def test_no_row_is_shown_without_its_parents(most: int, parents: list[int]) -> None:
    rows = [(f"{n}", f"{p}" if p >= 0 else None, float(n % 5)) for n, p in enumerate(parents)]
    outline = outlined(spans(*rows), calls())
    kept = set(shown(outline, most))
    known = {row[0] for row in rows}
    assert len(kept) <= most
    assert all(parent in kept or parent not in known for name, parent, _ in rows if name in kept)
