"""Which calls start while another of their replica decodes.

Owns the sign of an engine that takes calls into a batch that is under way. Refuses starts that were
not observed, and a lane of several replicas: nobody knows which calls are beside each other there.
"""

from dataclasses import dataclass

import numpy as np

from analysis.capacity.sweep import Counts, Instants, LaneCalls

CLOCK_NS = 10_000_000
"""A start so shortly before the end of another call is after it, by a clock that is read twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The piece of each observed start, and of those in the decode of another call."""

    piece: Counts
    joined_piece: Counts

    @classmethod
    def none(cls) -> "Starts":
        """No start that can be told."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(piece=nothing, joined_piece=nothing)


def starts_of(calls: LaneCalls, cuts: Instants, first: int) -> Starts:
    """The starts from the first of `cuts` to the last; `first` is the number of the first piece."""
    begun = calls.started_at[calls.is_seen]
    decoded = np.sort(calls.first_token_at[calls.is_seen])
    ended = np.sort(np.maximum(calls.first_token_at, calls.ended_at - CLOCK_NS)[calls.is_seen])
    starts = begun[(begun >= cuts[0]) & (begun < cuts[-1])]
    # A call is in decode at an instant after its first token that is not after its end.
    in_decode = np.searchsorted(decoded, starts) - np.searchsorted(ended, starts)
    piece = np.searchsorted(cuts, starts, side="right") - 1 + first
    return Starts(piece=piece, joined_piece=piece[in_decode > 0])
