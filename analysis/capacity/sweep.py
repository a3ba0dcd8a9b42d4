"""One sorted pass over a lane: how many calls run and wait, and the KV tokens they hold, over time.

Owns the model of KV memory. A call holds its input from the start of its service, and its output
as it grows, evenly from the first token to the end. Prefixes that calls share are held once by an
engine and counted for each call here, so this is what calls need without sharing.

Instants are nanoseconds. A stretch is cut where a call arrives, starts, gets its first token or
ends, and at given cuts, so that between two neighbours the counts stand and KV tokens are a line.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Instants = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

CUT = 4
"""The last kind of instant, after arrival, start, first token and end of a call."""
RUNNING_STEPS = np.array([0, 1, 0, -1, 0], dtype=np.int8)
WAITING_STEPS = np.array([1, -1, 0, 0, 0], dtype=np.int8)
"""By how many each kind of instant changes the calls that run, and those that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCalls:
    """Parallel arrays of calls on one lane; tokens are NaN where they are not told.

    `waits_at` is `started_at` where the queue of a call was not observed: `is_seen` is false then.
    """

    waits_at: Instants
    is_seen: npt.NDArray[np.bool_]
    started_at: Instants
    first_token_at: Instants
    ended_at: Instants
    input_tokens: Floats
    output_tokens: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Stretches in which nothing begins or ends; `piece` is between which cuts each lies.

    `kv_begin` and `kv_end` are tokens at both ends, of the running calls that tell them: `untold`
    is how many do not. `unseen` is how many were not seen to wait, nor not to. `running_need` and
    `waiting_need` are the tokens that the running and the waiting calls have at their end.
    """

    piece: Counts
    seconds: Floats
    running: Counts
    waiting: Counts
    untold: Counts
    unseen: Counts
    kv_begin: Floats
    kv_end: Floats
    running_need: Floats
    waiting_need: Floats


def segments_of(calls: LaneCalls, cuts: Instants) -> Segments:
    """The segments of `calls` from the first of `cuts` to the last, in the order of time.

    A segment in which no call runs or waits is left out.
    """
    clipped = _Clipped.of(calls, int(cuts[0]), int(cuts[-1]))
    line = _Line.of((*clipped.instants, cuts))
    lasts = np.diff(line.instants)
    running, waiting = line.counts(RUNNING_STEPS), line.counts(WAITING_STEPS)
    zero, need = np.zeros(len(calls.started_at)), clipped.need
    growth = line.sums(zero, zero, clipped.growth, -clipped.growth)
    held = line.sums(zero, clipped.at_start, clipped.at_first, -clipped.at_end)
    grown = np.concatenate(([0.0], np.cumsum(growth * lasts)))
    kept = np.flatnonzero((lasts > 0) & ((running > 0) | (waiting > 0)))
    runs = running[kept] > 0

    def of_running(tokens: Floats) -> Floats:
        return np.where(runs, np.maximum(tokens, 0), 0)

    def of_some(which: npt.NDArray[np.bool_]) -> Counts:
        """How many of these calls run in each segment."""
        if not which.any():
            return np.zeros(len(kept), dtype=np.int64)
        some = which.astype(np.float64)
        return np.rint(line.sums(zero, some, zero, -some)[kept]).astype(np.int64)

    return Segments(
        piece=np.searchsorted(cuts, line.instants[kept], side="right") - 1,
        seconds=lasts[kept] / 1e9,
        running=running[kept].astype(np.int64),
        waiting=waiting[kept].astype(np.int64),
        untold=of_some(clipped.is_untold),
        unseen=of_some(~calls.is_seen),
        kv_begin=of_running(held[kept] + grown[kept]),
        kv_end=of_running(held[kept] + grown[kept + 1]),
        running_need=of_running(line.sums(zero, need, zero, -need)[kept]),
        waiting_need=np.maximum(line.sums(need, -need, zero, zero)[kept], 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """All instants in the order of time; `kind` says of each which it is of a call, or `CUT`.

    Levels are after each instant but the last, so that they are of the time until the next one.
    """

    instants: Instants
    order: npt.NDArray[np.intp]
    kind: npt.NDArray[np.int8]

    @classmethod
    def of(cls, instants: tuple[Instants, ...]) -> "_Line":
        """Four instants a call, arrivals first, and then cuts."""
        joined = np.concatenate(instants)
        order = np.argsort(joined, kind="stable")
        kind = (order // max(len(instants[0]), 1)).clip(max=CUT).astype(np.int8)
        return cls(instants=joined[order], order=order, kind=kind)

    def counts(self, steps: npt.NDArray[np.int8]) -> npt.NDArray[np.int32]:
        """Calls after each instant of which each kind changes them by one of `steps`."""
        found: npt.NDArray[np.int32] = np.cumsum(steps[self.kind], dtype=np.int32)[:-1]
        return found

    def sums(self, *steps: Floats) -> Floats:
        """The sum after each instant of what each call changes it by at each of its four."""
        cuts = np.zeros(len(self.order) - sum(len(step) for step in steps))
        found: Floats = np.cumsum(np.concatenate((*steps, cuts))[self.order])[:-1]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clipped:
    """Calls inside of one stretch: their instants, and by how much each changes the KV tokens.

    `growth` is in tokens a nanosecond between first token and end. What a call holds when the
    stretch begins is among what it takes at its start.
    """

    instants: tuple[Instants, Instants, Instants, Instants]
    growth: Floats
    need: Floats
    at_start: Floats
    at_first: Floats
    at_end: Floats
    is_untold: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, calls: LaneCalls, since: int, until: int) -> "_Clipped":
        def inside(at: Instants) -> Instants:
            return np.clip(at, since, until)

        is_untold = np.isnan(calls.input_tokens) | np.isnan(calls.output_tokens)
        prompt = np.where(is_untold, 0.0, calls.input_tokens)
        output = np.where(is_untold, 0.0, calls.output_tokens)
        decode = calls.ended_at - calls.first_token_at
        growth = np.where(decode > 0, output / np.maximum(decode, 1), 0.0)
        at_once = np.where(decode > 0, 0.0, output)
        first, end = inside(calls.first_token_at), inside(calls.ended_at)
        before = growth * (first - calls.first_token_at).clip(min=0)
        return cls(
            instants=(inside(calls.waits_at), inside(calls.started_at), first, end),
            growth=growth,
            need=prompt + output,
            at_start=prompt + before,
            at_first=at_once,
            at_end=prompt + before + at_once + growth * (end - first),
            is_untold=is_untold,
        )
