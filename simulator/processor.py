"""The engine's own processor seconds of each call's prompt and of its decode.

Owns the division of one growing reading among the calls. It is what a call costs the engine's
processor, however long other programs made it wait. Refuses a division where two calls may have
been computed in the same steps: their seconds are not known.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.client import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSeconds:
    """Processor seconds of the engine for one call: to its first token, and from there on."""

    prefill_s: float
    decode_s: float


def phase_seconds(outcomes: Sequence[Outcome], slots: int) -> Mapping[int, PhaseSeconds]:
    """By position, the processor seconds of the calls for which they are known.

    An engine with one slot serves one call at a time: the prompt of a call begins at its send or
    at the end of the call before, whichever came later. With more slots, and beside a request that
    failed, only a call that was alone from its send to its end is known.
    """
    ends = sorted(o.ended_processor_s for o in outcomes if o.ended_processor_s is not None)
    crowd = _Crowd([o for o in outcomes if slots > 1 or o.status != "ok"])
    found = {}
    for outcome in outcomes:
        sent, first, end = (
            outcome.sent_processor_s,
            outcome.first_token_processor_s,
            outcome.ended_processor_s,
        )
        if sent is None or first is None or end is None or crowd.meets(outcome):
            continue
        earlier = bisect_left(ends, first)
        began = max(sent, ends[earlier - 1]) if earlier else sent
        found[outcome.position] = PhaseSeconds(prefill_s=first - began, decode_s=end - first)
    return found


class _Crowd:
    """Requests that others must not overlap, as sorted starts and ends in seconds of the pass."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._positions = {o.position for o in outcomes}
        spans = [(o.sent_s, o.ended_s) for o in outcomes]
        self._starts = sorted(start for start, _ in spans if start is not None)
        self._ends = sorted(end for start, end in spans if start is not None and end is not None)

    def meets(self, outcome: Outcome) -> bool:
        """Whether another request of the crowd was in flight while `outcome` was."""
        if outcome.sent_s is None or outcome.ended_s is None:
            return True
        begun = bisect_left(self._starts, outcome.ended_s)
        gone = bisect_left(self._ends, outcome.sent_s)
        return begun - gone > (outcome.position in self._positions)
