"""Reuse distances: what a cache of each size would have held, from one pass."""

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.prefix.caches import held_blocks
from analysis.prefix.distances import NEVER, reuse_distances
from analysis.prefix.prompts import read_prompts

CHOICES = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=25)


def chained(choices: Sequence[Sequence[int]]) -> list[list[int]]:
    """Prompts whose blocks, as an engine's, are named by all that stands before them."""
    return [
        [hash(tuple(prompt[: end + 1])) % 10**9 for end in range(len(prompt))] for prompt in choices
    ]


def held_by_a_list(prompts: Sequence[Sequence[int]], capacity: int) -> list[int]:
    """The leading blocks held of each prompt: a cache as a list, the newest block first."""
    cache: list[int] = []
    held = []
    for prompt in prompts:
        found = [block in cache[:capacity] for block in prompt]
        held.append(found.index(False) if False in found else len(prompt))
        for block in reversed(prompt):
            if block in cache:
                cache.remove(block)
            cache.insert(0, block)
    return held


def batches_of(prompts: Sequence[Sequence[int]]) -> list[pl.DataFrame]:
    """Two batches of calls served one after the other."""
    frame = pl.DataFrame(
        {
            "served_at": range(len(prompts)),
            "prefix_block_tokens": [1] * len(prompts),
            "prefix_hashes": prompts,
        },
        schema_overrides={"prefix_hashes": pl.List(pl.Int64)},
    )
    half = len(prompts) // 2
    return [frame[:half], frame[half:]]


@given(choices=CHOICES)
def test_the_distances_are_those_of_a_list_of_blocks(choices: list[list[int]]) -> None:
    prompts = chained(choices)
    cache: list[int] = []
    expected = []
    for prompt in prompts:
        expected += [cache.index(b) + 1 if b in cache else NEVER for b in prompt]
        for block in reversed(prompt):
            if block in cache:
                cache.remove(block)
            cache.insert(0, block)
    starts = np.cumsum([0, *(len(prompt) for prompt in prompts[:-1])])
    blocks = np.array([block for prompt in prompts for block in prompt])
    assert reuse_distances(blocks, starts).tolist() == expected


@given(choices=CHOICES)
def test_every_capacity_holds_what_a_cache_of_that_size_holds(choices: list[list[int]]) -> None:
    prompts = chained(choices)
    caches = np.zeros(len(prompts), dtype=np.int64)
    capacities = [1, 2, 3, 5, 8, None]
    found = held_blocks(read_prompts(batches_of(prompts)), caches, capacities)
    for capacity, held in zip(capacities, found, strict=True):
        assert held.tolist() == held_by_a_list(prompts, capacity or 10**6), capacity


@given(choices=CHOICES, caches=st.lists(st.integers(-1, 2), min_size=25, max_size=25))
def test_each_cache_holds_what_its_own_calls_left(
    choices: list[list[int]], caches: list[int]
) -> None:
    prompts = chained(choices)
    numbers = np.array(caches[: len(prompts)])
    (held,) = held_blocks(read_prompts(batches_of(prompts)), numbers, [3])
    for number in range(3):
        own = [prompt for prompt, n in zip(prompts, numbers, strict=True) if n == number]
        assert held[numbers == number].tolist() == held_by_a_list(own, 3)
    assert not held[numbers == NEVER].any()


def test_no_blocks_have_no_distances() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert reuse_distances(nothing, nothing).tolist() == []


def test_a_sample_of_the_blocks_finds_about_the_same_hits() -> None:
    chance = random.Random(1)  # noqa: S311 - repeatable, not secret
    choices = [[chance.randint(0, 40), *range(chance.randint(50, 200))] for _ in range(400)]
    prompts = [[b * 7_919_777_001 for b in prompt] for prompt in chained(choices)]
    caches = np.zeros(len(prompts), dtype=np.int64)
    whole = read_prompts(batches_of(prompts))
    sample = read_prompts(batches_of(prompts), most_blocks=len(whole.rows) // 10)
    assert (whole.scale, sample.scale) == (1, 16)
    assert len(sample.rows) <= len(whole.rows) // 10
    capacities = [2_500, None]
    for exact, rough in zip(
        held_blocks(whole, caches, capacities),
        held_blocks(sample, caches, capacities),
        strict=True,
    ):
        assert exact.sum() > 0
        assert rough.sum() == pytest.approx(exact.sum(), rel=0.15)
