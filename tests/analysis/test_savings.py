"""What claims are worth, and their union: no GPU-second and no money is saved twice."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.bill import bill_of
from analysis.claims import CLAIM_SCHEMA, no_claims, whole_calls
from analysis.savings import Bill, Saving
from analysis.union import Union

PIECES = {
    "call_no": pl.Int64, "cohort_id": pl.Int32, "rate_id": pl.Int32,
    "prefill_ps": pl.Int64, "decode_ps": pl.Int64,
}  # fmt: skip
COSTS = {
    "call_no": pl.Int64, "cohort_id": pl.Int32, "currency": pl.String,
    "cost_billionths": pl.Int64, "input_billionths": pl.Int64, "output_billionths": pl.Int64,
}  # fmt: skip


def bill(
    pieces: Sequence[tuple[int, ...]] = (), costs: Sequence[tuple[Any, ...]] = (), calls: int = 8
) -> Bill:
    """Calls 1 to `calls`; pieces are (call, rate, prefill, decode), rate 9 has no price."""
    return bill_of(
        np.arange(1, calls + 1),
        pl.DataFrame([(c, 1, *rest) for c, *rest in pieces], schema=PIECES, orient="row"),
        pl.DataFrame([(c, 1, "USD", *rest) for c, *rest in costs], schema=COSTS, orient="row"),
        priced_rates={1, 2},
    )


def claims(*rows: tuple[int, float, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=CLAIM_SCHEMA, orient="row")


def gpu_ps(saving: Saving) -> int:
    return sum(saving.gpu_ps.values())


def billionths(saving: Saving) -> int:
    return sum(saving.billionths.values())


def test_a_claim_is_its_share_of_each_piece_at_the_rate_of_that_piece() -> None:
    found = bill([(1, 1, 100, 900), (1, 2, 0, 1000), (2, 1, 50, 50)])
    saving = found.saving(found.claim(claims((1, 0.5, 0.1))))
    assert saving.gpu_ps == {(1, 1): 50 + 90, (1, 2): 100}
    assert (saving.call_count, saving.unpriced_call_count) == (1, 0)


def test_a_call_that_is_not_of_the_bill_is_not_claimed() -> None:
    found = bill([(1, 1, 100, 900)], calls=1)
    claimed = found.claim(claims((1, 0.0, 0.0), (2, 1.0, 1.0), (99, 1.0, 1.0), (-1, 1.0, 1.0)))
    assert (claimed.call_count, gpu_ps(found.saving(claimed))) == (0, 0)


def test_a_whole_call_is_saved_once() -> None:
    found = bill([(1, 1, 100, 900), (2, 1, 10, 20)])
    union = Union(found)
    gains = [
        gpu_ps(union.add(found.claim(whole_calls(pl.Series(numbers)))))
        for numbers in ([1], [1, 2], [2])
    ]
    assert gains == [1000, 30, 0]


def test_of_two_claims_on_a_part_the_larger_counts() -> None:
    found = bill([(1, 1, 100, 0)])
    union = Union(found)
    gains = [gpu_ps(union.add(found.claim(claims((1, r, 0.0))))) for r in (0.3, 0.5, 0.4)]
    assert gains == [30, 20, 0]


def test_claims_of_one_partition_add_up_to_what_is_there() -> None:
    found = bill([(1, 1, 100, 0)])
    union = Union(found)
    gains = [
        gpu_ps(union.add(found.claim(claims((1, ratio, 0.0))), partition=partition))
        for ratio, partition in ((0.5, ""), (0.3, "s"), (0.2, "t"), (0.4, "s"), (0.6, "s"))
    ]
    # 30 of s and 20 of t lie in the 50; then 70 of s are more, then 100 is all there is.
    assert gains == [50, 0, 0, 20, 30]


def test_tokens_that_have_a_price_are_saved_at_that_price_and_the_rest_with_the_call() -> None:
    found = bill(costs=[(1, 1000, 600, 300), (2, 500, None, None)])
    half = found.saving(found.claim(claims((1, 0.5, 0.0), (2, 0.5, 0.0))))
    assert (billionths(half), half.unpriced_call_count) == (300, 1)
    union = Union(found)
    union.add(found.claim(claims((1, 0.5, 0.0))))
    assert billionths(union.add(found.claim(whole_calls(pl.Series([1, 2]))))) == 700 + 500


def test_gpu_seconds_without_a_price_are_counted_as_unpriced() -> None:
    found = bill([(1, 9, 10, 10), (2, 1, 10, 10)])
    saving = found.saving(found.claim(whole_calls(pl.Series([1, 2, 3]))))
    assert (gpu_ps(saving), saving.call_count, saving.unpriced_call_count) == (40, 3, 2)


def test_sums_are_exact_beyond_what_a_whole_number_of_64_bits_holds() -> None:
    most = 2**62
    found = bill([(n, 1, most, most - 1) for n in range(1, 9)])
    assert gpu_ps(found.total()) == 8 * (2 * most - 1)
    assert gpu_ps(found.saving(found.claim(whole_calls(pl.Series([1]))))) == 2 * most - 1


def test_no_claim_saves_nothing() -> None:
    found = bill()
    saving = Union(found).add(found.claim(no_claims()))
    assert (saving.gpu_ps, saving.billionths, saving.call_count) == ({}, {}, 0)


RATIOS = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.999, 1.0]) | st.floats(0, 1)
CALLS = st.integers(1, 8)
PIECE = st.tuples(CALLS, st.sampled_from([1, 2, 9]), st.integers(0, 10**17), st.integers(0, 10**17))
CLAIMS = st.dictionaries(CALLS, st.tuples(RATIOS, RATIOS), max_size=8).map(
    lambda found: claims(*((call, *ratios) for call, ratios in found.items()))
)
LEVERS = st.lists(st.tuples(CLAIMS, st.sampled_from(["", "s", "t"])), max_size=5)


@st.composite
def costs(draw: Any) -> list[tuple[Any, ...]]:
    found = []
    for call in draw(st.sets(CALLS)):
        parts = [draw(st.integers(0, 10**9)) for _ in range(3)]
        known = parts[:2] if draw(st.booleans()) else [None, None]
        found.append((call, sum(parts), *known))
    return found


@given(pieces=st.lists(PIECE, max_size=12), costs=costs(), levers=LEVERS)
@settings(max_examples=200)
def test_parts_add_up_to_a_union_that_no_order_changes_and_that_nothing_exceeds(
    pieces: list[tuple[int, ...]], costs: list[tuple[Any, ...]], levers: Any
) -> None:
    found = bill(pieces, costs)
    claimed = [(found.claim(one), partition) for one, partition in levers]
    alone = [found.saving(one) for one, _ in claimed]
    union, backwards = Union(found), Union(found)
    parts = [union.add(one, partition=partition) for one, partition in claimed]
    others = [backwards.add(one, partition=partition) for one, partition in reversed(claimed)]
    for amount in (gpu_ps, billionths):
        together = sum(map(amount, parts))
        assert together == sum(map(amount, others))
        assert together <= min(sum(map(amount, alone)), amount(found.total()))
        assert together >= max(map(amount, alone), default=0)
        for part, own in zip(parts, alone, strict=True):
            assert 0 <= amount(part) <= amount(own)
    everything = found.claim(whole_calls(pl.Series(range(1, 9))))
    assert sum(map(gpu_ps, parts)) + gpu_ps(union.add(everything)) == gpu_ps(found.total())


@pytest.mark.parametrize("call_no", [1, 8])
def test_no_call_is_saved_beyond_its_charge(call_no: int) -> None:
    found = bill([(call_no, 1, 3, 7), (call_no, 2, 1, 1)])
    union = Union(found)
    for ratio in (0.4, 0.9, 1.0, 1.0):
        union.add(found.claim(claims((call_no, ratio, ratio))), partition="s")
    rest = union.add(found.claim(whole_calls(pl.Series([call_no]))))
    assert gpu_ps(rest) == 0
