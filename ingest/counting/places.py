"""Where the tokens of a text stand in its bytes.

Owns the rule: a token is where its first byte is that is no blank, so that a quote with a blank
before it is the quote's. Refuses to tokenise.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.counting.token_ids import Ids
from ingest.counting.vocabulary import vocabulary


class Places(NamedTuple):
    """`at[i]` is the byte at which token i is, ascending; `is_blank[i]`: it is nothing but blanks,
    and stands at its first."""

    at: npt.NDArray[np.int64]
    is_blank: npt.NDArray[np.bool_]

    def before(self, offsets: Sequence[int]) -> list[int]:
        """How many tokens are before each of the byte `offsets`."""
        counts: list[int] = np.searchsorted(self.at, offsets).tolist()
        return counts


def places(ids: Ids, encoding: str) -> Places:
    """The places of `ids` in the text that they are the tokens of."""
    known = vocabulary(encoding)
    widths, blanks = known.byte_counts[ids], known.blank_counts[ids]
    is_blank = blanks == widths
    return Places(np.cumsum(widths) - widths + np.where(is_blank, 0, blanks), is_blank)
