"""Calls cut into pieces that lie in one quarter of an hour, and in one rate of their pool.

Owns where a call is cut. Refuses to charge: a piece is only a part of a call's time in service.

A quarter of an hour divides every hour, day and month of every time zone in use, so any such
window is a sum of whole pieces. Most calls lie in one quarter and stay as they are; only the
others are expanded.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingest.charging.kernel import NS_PER_S, Instants

QUARTER_NS = 900 * NS_PER_S
QUARTERS_PER_DAY = 96
DAY_NS = QUARTERS_PER_DAY * QUARTER_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Parallel arrays, one entry a piece; `call` is the position of its call in what was cut."""

    call: npt.NDArray[np.int64]
    started_at: Instants
    first_token_at: Instants
    ended_at: Instants

    @property
    def quarter(self) -> npt.NDArray[np.int32]:
        """Quarter-hours since 1970 in which each piece lies."""
        return (self.started_at // QUARTER_NS).astype(np.int32)


def cut_at_quarters(started_at: Instants, first_token_at: Instants, ended_at: Instants) -> Pieces:
    """The pieces of the calls: first each call's first piece, in the order given, then the others.

    A call of no length is one piece of no length. A piece that the first token comes after is
    prefill throughout, one that it comes before is decode throughout.
    """
    first_quarter = started_at // QUARTER_NS
    further = np.maximum((ended_at - 1) // QUARTER_NS - first_quarter, 0)
    cut = np.flatnonzero(further)
    call = np.repeat(cut, further[cut])
    place = np.arange(len(call)) - np.repeat(np.cumsum(further[cut]) - further[cut], further[cut])
    later_start = (first_quarter[call] + place + 1) * QUARTER_NS
    later_end = np.minimum(ended_at[call], later_start + QUARTER_NS)
    first_end, first_split = ended_at.copy(), first_token_at.copy()
    first_end[cut] = (first_quarter[cut] + 1) * QUARTER_NS
    first_split[cut] = np.minimum(first_token_at[cut], first_end[cut])
    return Pieces(
        call=np.concatenate((np.arange(len(started_at)), call)),
        started_at=np.concatenate((started_at, later_start)),
        first_token_at=np.concatenate(
            (first_split, np.clip(first_token_at[call], later_start, later_end))
        ),
        ended_at=np.concatenate((first_end, later_end)),
    )


def cut_at_instant(pieces: Pieces, at: int, is_concerned: npt.NDArray[np.bool_]) -> Pieces:
    """`pieces` with those of `is_concerned` that cross `at` cut in two; later halves go last."""
    cut = np.flatnonzero(is_concerned & (pieces.started_at < at) & (pieces.ended_at > at))
    first_end, first_split = pieces.ended_at.copy(), pieces.first_token_at.copy()
    first_end[cut] = at
    first_split[cut] = np.minimum(first_split[cut], at)
    return Pieces(
        call=np.concatenate((pieces.call, pieces.call[cut])),
        started_at=np.concatenate((pieces.started_at, np.full(len(cut), at, dtype=np.int64))),
        first_token_at=np.concatenate((first_split, np.maximum(pieces.first_token_at[cut], at))),
        ended_at=np.concatenate((first_end, pieces.ended_at[cut])),
    )
