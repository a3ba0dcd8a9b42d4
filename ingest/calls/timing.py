"""The four instants of a call: arrival, start of service, first token, end.

Owns which source of time wins and whether the instants can be true. Refuses to repair an
impossible time: the call keeps what was observed, as far as the ledger can hold it, and says
`invalid`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

TimingSource = Literal["engine", "stream", "span", "tokens"]
TimingQuality = Literal["ok", "invalid", "unknown"]

INSTANTS = ("arrived_at", "started_at", "first_token_at", "ended_at")
"""The columns of a call that are instants, in the order in which they happen."""
REPLAYED_TIMES: Mapping[str, Any] = {
    "started_at": None,
    "first_token_at": None,
    "ended_at": None,
    "timing_source": "tokens",
}
"""An answer out of a cache was in service nowhere: it has its arrival, and no time on a GPU."""
NS_PER_S = 1_000_000_000
LATEST_AT = 2**62 - 1
EARLIEST_AT = -LATEST_AT
"""Instants are kept between 1823-11-12 and 2116-02-20: the difference of any two has 64 bits too.

One beyond is kept as the bound itself, which no call can have.
"""
OUTSIDE_NOTE = "lies outside of the years 1823 to 2116"
ROUNDING_NS = 1_000_000
"""Exporters round durations to a millisecond: less than that contradicts nothing."""
SPANS_SINCE = 365 * 24 * 3600 * NS_PER_S
"""No span is of 1970: its clock was not set, or it counts seconds, ms or us where ns belong.

Traces whose clock begins at 0 have calls, not spans.
"""
LONGEST_NS = 7 * 24 * 3600 * NS_PER_S
"""No call takes longer than 7 days from its first instant to its last: one of them is wrong."""


class EngineLatency(NamedTuple):
    """Durations in seconds as an engine reports them; None where it does not."""

    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None

    @property
    def places_phases(self) -> bool:
        """Whether start of service and first token follow: two of queue, prefill, TTFT do it."""
        known = [at for at in (self.queue_s, self.prefill_s, self.ttft_s) if at is not None]
        return len(known) >= 2

    def contradictions(self) -> list[str]:
        """What cannot be true: a duration below 0, a first token after the end."""
        found = [
            f"{name} {duration:g} is below 0"
            for name, duration in self._asdict().items()
            if duration is not None and duration < 0
        ]
        ttft_s, e2e_s = self.ttft_s, self.e2e_s
        if ttft_s is None or e2e_s is None or ttft_s <= e2e_s + ROUNDING_NS / NS_PER_S:
            return found
        return [*found, f"ttft_s {ttft_s:g} exceeds e2e_s {e2e_s:g}"]


class Observation(NamedTuple):
    """What one view of a call says about time: its span, durations, the first token it saw."""

    started_at: int | None
    ended_at: int | None
    latency: EngineLatency = EngineLatency()
    first_token_at: int | None = None


class Phases(NamedTuple):
    """Instants of one call in nanoseconds since 1970, and where they come from."""

    arrived_at: int | None = None
    started_at: int | None = None
    first_token_at: int | None = None
    ended_at: int | None = None
    timing_source: TimingSource = "tokens"
    timing_quality: TimingQuality = "unknown"

    def columns(self) -> dict[str, Any]:
        """Column name to value, as `Call(**...)` takes them."""
        return self._asdict()


def quality(
    arrived_at: int | None,
    started_at: int | None,
    first_token_at: int | None,
    ended_at: int | None,
) -> TimingQuality:
    """`ok`, `invalid` (the instants contradict each other) or `unknown` (no place in time).

    A call without `started_at` is in service from its arrival, unless it was refused; one without
    `ended_at` has a place but no duration, which is `ok`: its phases are estimated from tokens.
    More than 7 days from the first instant to the last are a contradiction too, such as a start
    at 0 of a clock that was never set.
    """
    known = [at for at in (arrived_at, started_at, first_token_at, ended_at) if at is not None]
    if any(not 0 <= at < LATEST_AT for at in known):
        return "invalid"
    if any(later < earlier for earlier, later in pairwise(known)):
        return "invalid"
    if known and known[-1] - known[0] > LONGEST_NS:
        return "invalid"
    return "unknown" if arrived_at is None and started_at is None else "ok"


def quality_of_span(*instants: int | None) -> TimingQuality:
    """`quality` of the instants of a span; one within 1970 cannot be true either."""
    is_of_1970 = any(at is not None and at < SPANS_SINCE for at in instants)
    return "invalid" if is_of_1970 else quality(*instants)


def bounded_at(at: int | None) -> int | None:
    """Nanoseconds since 1970 that the ledger can hold: `at`, or the bound that lies nearest."""
    return None if at is None else min(max(at, EARLIEST_AT), LATEST_AT)


def outside_notes(instants: Mapping[str, Any]) -> list[str]:
    """What is said of each named instant that stands at a bound, because it lies beyond."""
    return [
        f"{name} {OUTSIDE_NOTE}"
        for name in INSTANTS
        if (at := instants.get(name)) is not None and abs(at) >= LATEST_AT
    ]


def impossible_notes(found: Phases, observations: Sequence[Observation]) -> list[str]:
    """What is said of times of a call that lie where no span can, or contradict themselves."""
    notes = outside_notes(found.columns())
    notes += [
        f"{name} lies in 1970: is it a count of ns?"
        for name in INSTANTS
        if (at := getattr(found, name)) is not None and 0 <= at < SPANS_SINCE
    ]
    notes += [note for view in observations for note in view.latency.contradictions()]
    return list(dict.fromkeys(notes))


def phases(observations: Sequence[Observation]) -> Phases:
    """The instants of one call from all its views, innermost first.

    The engine's durations win, then a first token that somebody saw, then the bare span.
    """
    for view in observations:
        if view.latency.places_phases and view.started_at is not None:
            return _engine_phases(view.started_at, view.latency, view.ended_at)
    arrived_at = _first(view.started_at for view in observations)
    ended_at = _first(view.ended_at for view in observations)
    first_token_at = _first_token(observations, arrived_at, ended_at)
    source: TimingSource = "span" if ended_at is not None else "tokens"
    if first_token_at is not None:
        source = "stream"
    found = _judged(arrived_at, None, first_token_at, ended_at, source)
    is_possible = not any(view.latency.contradictions() for view in observations)
    return found if is_possible else _invalid(found)


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds in `seconds`."""
    return round(seconds * NS_PER_S)


def refused(found: Phases) -> Phases:
    """The instants of a call that the server refused: no service, hence no wait for it either."""
    if found.timing_quality != "ok":
        return found
    return _judged(found.arrived_at, None, None, found.ended_at, found.timing_source)


def _engine_phases(arrived_at: int, latency: EngineLatency, span_ended_at: int | None) -> Phases:
    """Arrival + queue, + prefill, + decode: as vLLM and SGLang measure them."""
    seen_at = None if latency.ttft_s is None else arrived_at + nanoseconds(latency.ttft_s)
    started_at = arrived_at + nanoseconds(latency.queue_s or 0)
    if latency.queue_s is None and seen_at is not None and latency.prefill_s is not None:
        started_at = seen_at - nanoseconds(latency.prefill_s)
    if latency.prefill_s is None:
        first_token_at = seen_at
    else:
        first_token_at = started_at + nanoseconds(latency.prefill_s)
        if _prefill_contains_queue(latency):
            first_token_at = seen_at
    if latency.decode_s is not None and first_token_at is not None:
        ended_at: int | None = first_token_at + nanoseconds(latency.decode_s)
    elif latency.e2e_s is not None:
        ended_at = arrived_at + nanoseconds(latency.e2e_s)
    else:
        ended_at = span_ended_at
    found = _judged(arrived_at, started_at, first_token_at, ended_at, "engine")
    return _invalid(found) if latency.contradictions() else found


def _prefill_contains_queue(latency: EngineLatency) -> bool:
    """SGLang measures prefill from dispatch, so that queue and prefill exceed the TTFT."""
    if latency.queue_s is None or latency.prefill_s is None or latency.ttft_s is None:
        return False
    tolerance_s = ROUNDING_NS / NS_PER_S
    return (
        latency.queue_s + latency.prefill_s > latency.ttft_s + tolerance_s
        and latency.prefill_s <= latency.ttft_s + tolerance_s
    )


def _first_token(
    observations: Sequence[Observation], arrived_at: int | None, ended_at: int | None
) -> int | None:
    """The first token as the innermost view saw it; an outer view counts where it can be true."""
    for position, view in enumerate(observations):
        at = view.first_token_at
        if at is None:
            continue
        if ended_at is not None and 0 < at - ended_at <= ROUNDING_NS:
            return ended_at
        if position == 0 or _is_within(at, arrived_at, ended_at):
            return at
    return None


def _is_within(at: int, begin: int | None, end: int | None) -> bool:
    return (begin is None or begin <= at) and (end is None or at <= end)


def _judged(
    arrived_at: int | None,
    started_at: int | None,
    first_token_at: int | None,
    ended_at: int | None,
    source: TimingSource,
) -> Phases:
    return Phases(
        arrived_at=bounded_at(arrived_at),
        started_at=bounded_at(started_at),
        first_token_at=bounded_at(first_token_at),
        ended_at=bounded_at(ended_at),
        timing_source=source,
        timing_quality=quality_of_span(arrived_at, started_at, first_token_at, ended_at),
    )


def _invalid(found: Phases) -> Phases:
    return found._replace(timing_quality="invalid")


def _first(instants: Any) -> int | None:
    return next((at for at in instants if at is not None), None)
