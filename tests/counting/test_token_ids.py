"""Texts become ids, each once, however long or odd they are."""

import numpy as np
import pytest

from ingest.counting import token_ids
from ingest.counting.encodings import choice
from ingest.counting.token_ids import MAX_PIECE_CHARACTERS, TokenMemory, tokenised
from ingest.counting.vocabulary import vocabulary

WORDS = "Every GPU second is charged once, and the sum is the bill. "


def test_a_text_that_is_cut_has_the_tokens_of_the_whole() -> None:
    text = WORDS * (3 * MAX_PIECE_CHARACTERS // len(WORDS))
    whole = vocabulary("o200k_base").encoding.encode_ordinary(text)
    assert tokenised(text, "o200k_base").tolist() == whole


def test_a_million_blanks_are_counted_and_stop_nothing() -> None:
    found = tokenised(" " * 1_000_000, "o200k_base")
    assert vocabulary("o200k_base").byte_counts[found].sum() == 1_000_000


def test_what_looks_like_a_special_token_is_text() -> None:
    assert len(tokenised("<|endoftext|>", "o200k_base")) == 7


def test_a_lone_surrogate_is_the_replacement_character() -> None:
    assert (
        tokenised("a\ud800b", "cl100k_base").tolist()
        == tokenised("a\ufffdb", "cl100k_base").tolist()
    )


def test_nothing_has_no_token() -> None:
    assert tokenised("", "o200k_base").tolist() == []


def test_a_text_is_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counting(text: str, encoding: str) -> token_ids.Ids:
        made.append(text)
        return np.zeros(1, dtype=np.uint32)

    monkeypatch.setattr(token_ids, "tokenised", counting)
    memory = TokenMemory()
    for text in ("a", "b", "a"):
        memory.ids(text, "o200k_base")
    memory.ids("a", "cl100k_base")
    assert made == ["a", "b", "a"]


def test_the_memory_is_bounded_and_forgets_what_was_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    def counting(text: str, encoding: str) -> token_ids.Ids:
        made.append(text)
        return np.zeros(1 if text != "long" else 9, dtype=np.uint32)

    monkeypatch.setattr(token_ids, "tokenised", counting)
    memory = TokenMemory(remembered_tokens=4)
    for text in ("a", "b", "c", "d", "a", "e", "b", "a", "long", "long"):
        memory.ids(text, "o200k_base")
    assert made == ["a", "b", "c", "d", "e", "b", "long", "long"]


@pytest.mark.parametrize(
    ("model", "encoding", "is_own", "is_format_known", "hides_reasoning"),
    [
        ("gpt-4o-2024-08-06", "o200k_base", True, True, False),
        ("openai/gpt-4.1-mini", "o200k_base", True, True, False),
        ("gpt-4-turbo", "cl100k_base", True, True, False),
        ("text-embedding-3-small", "cl100k_base", True, True, False),
        ("o3-mini", "o200k_base", True, True, True),
        ("gpt-5-mini", "o200k_base", True, True, True),
        ("gpt-5-chat-latest", "o200k_base", True, True, False),
        ("openai/gpt-oss-120b", "o200k_base", True, False, False),
        ("text-davinci-003", "o200k_base", False, False, False),
        ("meta-llama/Llama-3.1-8B-Instruct", "o200k_base", False, False, False),
        (None, "o200k_base", False, False, False),
    ],
)
def test_a_model_is_counted_with_its_own_encoding_or_with_one_that_is_named(
    model: str | None, encoding: str, is_own: bool, is_format_known: bool, hides_reasoning: bool
) -> None:
    assert choice(model) == (encoding, is_own, is_format_known, hides_reasoning)
