"""Two prompts agree in a hash where they agree in every token before it, and nowhere else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.counting.encodings import choice
from ingest.counting.prefixes import MAX_BLOCKS, prefix_hashes
from ingest.counting.prompts import prompt_of
from ingest.counting.token_ids import Ids

IDS = st.lists(st.integers(0, 5), max_size=80)


def hashes(
    ids: list[int] | Ids, block_tokens: int = 16, space: str = "o200k_base", key: str | None = None
) -> list[int]:
    given_ids = np.array(ids, dtype=np.uint32)
    return prefix_hashes(given_ids, space=space, block_tokens=block_tokens, hash_key=key).tolist()


@settings(deadline=None)
@given(IDS, IDS)
def test_hashes_agree_in_as_many_blocks_as_the_tokens_do(left: list[int], right: list[int]) -> None:
    shared = next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    pairs = zip(hashes(left, 4), hashes(right, 4), strict=False)
    agreeing = [a == b for a, b in pairs]
    assert agreeing == [at < shared // 4 for at in range(len(agreeing))]


@settings(deadline=None)
@given(IDS)
def test_a_block_that_is_not_full_has_no_hash(ids: list[int]) -> None:
    assert len(hashes(ids, 16)) == len(ids) // 16


@settings(deadline=None)
@given(IDS)
def test_a_hash_is_that_of_its_tokens_whatever_the_block_size(ids: list[int]) -> None:
    assert hashes(ids, 8)[1::2] == hashes(ids, 16)


def test_hashes_are_signed_and_fit_the_ledger() -> None:
    found = hashes(list(range(16 * 500)))
    assert min(found) < 0 < max(found)
    assert all(-(2**63) <= value < 2**63 for value in found)


def test_a_long_prompt_has_a_bounded_number_of_hashes() -> None:
    ids = np.arange(1_000_000, dtype=np.uint32)
    assert len(hashes(ids)) == MAX_BLOCKS
    assert hashes(ids) == hashes(ids[: 16 * MAX_BLOCKS])


def test_hashes_under_a_key_or_of_another_encoding_are_others() -> None:
    ids = list(range(64))
    plain = hashes(ids)
    assert hashes(ids) == plain
    for other in (hashes(ids, key="k"), hashes(ids, key="l"), hashes(ids, space="cl100k_base")):
        assert not set(other) & set(plain)


def test_the_next_turn_of_a_chat_begins_with_the_blocks_of_the_one_before() -> None:
    first = [
        {"role": "system", "content": "You are a careful assistant of a small library. " * 9},
        {"role": "user", "content": "Which books on bees do you have?"},
    ]
    answer = "Two: one on keeping them and one on their dances."
    second = [
        *first,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "The second, please."},
    ]
    made = [
        prompt_of(messages, None, choice("gpt-4o"), is_chat=True).leading.ids
        for messages in (first, second)
    ]
    before, after = (hashes(ids) for ids in made)
    assert len(before) >= 6
    assert after[: len(before)] == before


@pytest.mark.parametrize("part", [{"type": "image"}, {"type": "blob", "content": "AA"}])
def test_nothing_behind_a_picture_is_hashed(part: dict[str, str]) -> None:
    picture = [{"role": "user", "parts": ["look " * 40, part, "and say what it is " * 40]}]
    text = [{"role": "user", "parts": ["look " * 40]}]
    found, before = (
        prompt_of(messages, None, choice("gpt-4o"), is_chat=False).leading.ids
        for messages in (picture, text)
    )
    assert found.tolist() == before.tolist()
