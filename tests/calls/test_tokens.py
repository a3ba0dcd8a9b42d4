"""The five buckets, by cases that users of other tools reported, each with its money."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.tokens import Buckets, buckets, token_count

COUNTS = st.none() | st.integers(0, 10_000)


def cost(found: Buckets) -> Decimal:
    """Money at $3 input, $0.30 cache read, $3.75 cache write, $15 output per million."""
    assert found.uncached_input_tokens is not None
    assert found.output_tokens is not None
    return (
        found.uncached_input_tokens * Decimal("0.000003")
        + (found.cache_read_tokens or 0) * Decimal("0.0000003")
        + (found.cache_write_tokens or 0) * Decimal("0.00000375")
        + found.output_tokens * Decimal("0.000015")
    )


def test_a_cached_part_is_billed_once() -> None:
    found = buckets(input_tokens=10_000, cache_read_tokens=9_000, output_tokens=100)
    assert found.uncached_input_tokens == 1_000
    assert found.input_tokens == 10_000
    assert cost(found) == Decimal("0.0072")
    assert found.tokens_note is None


def test_cache_counts_above_input_are_outside_of_it() -> None:
    found = buckets(input_tokens=19, cache_read_tokens=39_000, output_tokens=50)
    assert found.uncached_input_tokens == 19
    assert found.input_tokens == 39_019
    assert cost(found) == Decimal("0.012507")


def test_cache_write_is_a_part_of_input() -> None:
    found = buckets(
        input_tokens=1_000, cache_write_tokens=400, cache_read_tokens=300, output_tokens=0
    )
    assert found.uncached_input_tokens == 300
    assert cost(found) == Decimal("0.00249")


def test_a_total_proves_that_cache_below_input_is_outside_of_it() -> None:
    found = buckets(input_tokens=500, cache_read_tokens=300, output_tokens=100, total_tokens=900)
    assert found.uncached_input_tokens == 500
    assert found.input_tokens == 800


def test_a_total_without_cached_tokens_is_understood_and_noted() -> None:
    found = buckets(input_tokens=19, cache_read_tokens=39_000, output_tokens=50, total_tokens=69)
    assert found.input_tokens == 39_019
    assert found.tokens_note == "total leaves cached tokens out"


def test_reasoning_is_a_part_of_output_where_the_total_says_so() -> None:
    found = buckets(input_tokens=100, output_tokens=800, reasoning_tokens=600, total_tokens=900)
    assert (found.visible_output_tokens, found.reasoning_tokens) == (200, 600)
    assert found.output_tokens == 800
    assert found.tokens_note is None


def test_reasoning_comes_on_top_where_the_total_proves_it() -> None:
    found = buckets(input_tokens=100, output_tokens=200, reasoning_tokens=600, total_tokens=900)
    assert (found.visible_output_tokens, found.reasoning_tokens) == (200, 600)
    assert found.output_tokens == 800
    assert found.reported_output_tokens == 200


def test_reasoning_without_a_total_is_a_part_and_marked_assumed() -> None:
    found = buckets(input_tokens=100, output_tokens=800, reasoning_tokens=600)
    assert found.output_tokens == 800
    assert found.tokens_note == "reasoning assumed to be part of output"


def test_reasoning_above_output_cannot_be_a_part_of_it() -> None:
    found = buckets(input_tokens=100, output_tokens=200, reasoning_tokens=600)
    assert found.output_tokens == 800
    assert found.tokens_note == "reasoning exceeds output, assumed to come on top"


def test_reasoning_above_output_is_cut_where_the_total_leaves_no_room() -> None:
    found = buckets(input_tokens=100, output_tokens=200, reasoning_tokens=600, total_tokens=300)
    assert (found.visible_output_tokens, found.reasoning_tokens) == (0, 200)


def test_a_total_that_fits_nothing_is_noted_and_changes_nothing() -> None:
    found = buckets(input_tokens=100, output_tokens=50, total_tokens=170)
    assert (found.input_tokens, found.output_tokens) == (100, 50)
    assert found.tokens_note == "total 170 is not input 100 + output 50"


def test_a_stream_without_usage_is_unknown_and_never_zero() -> None:
    found = buckets()
    assert found.input_tokens is None
    assert found.output_tokens is None
    assert found.tokens_source == "unknown"


def test_an_aborted_stream_has_at_least_one_token_a_chunk() -> None:
    found = buckets(streamed_chunks=300)
    assert found.output_tokens == 300
    assert found.input_tokens is None
    assert found.tokens_source == "estimated"
    assert found.tokens_note == "at least 300 output tokens: one for each streamed chunk"


def test_reported_output_wins_over_chunks() -> None:
    assert buckets(output_tokens=7, streamed_chunks=300).output_tokens == 7


def test_choices_do_not_multiply_the_prompt() -> None:
    found = buckets(input_tokens=500, output_tokens=400, total_tokens=900)
    assert (found.input_tokens, found.output_tokens) == (500, 400)
    assert found.tokens_note is None


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("12", 12),
        (12.0, 12),
        ("12.0", 12),
        (0, 0),
        (-1, None),
        (1.5, None),
        (float("nan"), None),
        ("many", None),
        (True, None),
        ([12], None),
        (2**63, None),
    ],
)
def test_counts_are_read_tolerantly_and_nonsense_is_unknown(
    value: object, tokens: int | None
) -> None:
    assert token_count(value) == tokens


def test_a_count_that_is_none_is_noted() -> None:
    found = buckets(input_tokens=-1, output_tokens=3)
    assert found.input_tokens is None
    assert found.tokens_note == "input -1 is no count"


@given(
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    reasoning_tokens=COUNTS,
    total_tokens=COUNTS,
)
@settings(deadline=None)
def test_buckets_are_never_negative_and_never_lose_a_reported_token(
    **counts: int | None,
) -> None:
    found = buckets(**counts)
    for name in Buckets.__slots__[:5]:
        assert (getattr(found, name) or 0) >= 0
    if counts["input_tokens"] is not None:
        assert (found.input_tokens or 0) >= counts["input_tokens"]
    if counts["output_tokens"] is not None:
        assert (found.output_tokens or 0) >= counts["output_tokens"]
    assert (found.uncached_input_tokens is None) == (counts["input_tokens"] is None)


@given(
    uncached=st.integers(0, 10_000),
    cached=st.integers(0, 10_000),
    visible=st.integers(0, 10_000),
    reasoning=st.integers(0, 10_000),
    is_cache_outside=st.booleans(),
    is_reasoning_outside=st.booleans(),
)
@settings(deadline=None)
def test_a_true_total_finds_the_true_sums(
    *,
    uncached: int,
    cached: int,
    visible: int,
    reasoning: int,
    is_cache_outside: bool,
    is_reasoning_outside: bool,
) -> None:
    found = buckets(
        input_tokens=uncached + (0 if is_cache_outside else cached),
        output_tokens=visible + (0 if is_reasoning_outside else reasoning),
        cache_read_tokens=cached,
        reasoning_tokens=reasoning,
        total_tokens=uncached + cached + visible + reasoning,
    )
    assert found.input_tokens is not None
    assert found.output_tokens is not None
    assert found.input_tokens + found.output_tokens == uncached + cached + visible + reasoning
