"""The four instants of a call: arrival, start of service, first token, end.

Owns which source of time wins and whether the instants can be true. Refuses to repair an
impossible time: the call keeps what was observed and says `invalid`.
"""

from dataclasses import dataclass
from typing import Literal

TimingSource = Literal["engine", "stream", "span", "tokens"]
TimingQuality = Literal["ok", "invalid", "unknown"]

NS_PER_S = 1_000_000_000
EARLIEST_AT = 946_684_800 * NS_PER_S
"""2000-01-01: no call of a language model is older, such a clock was never set."""
MAX_AT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Instants of one call in nanoseconds since 1970, and where they come from."""

    arrived_at: int | None = None
    started_at: int | None = None
    first_token_at: int | None = None
    ended_at: int | None = None
    timing_source: TimingSource = "tokens"
    timing_quality: TimingQuality = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLatency:
    """Durations in seconds as an engine reports them; None where it does not."""

    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether these durations place the phases: without a first token they do not."""
        return self.ttft_s is not None or (self.queue_s is not None and self.prefill_s is not None)


def quality(
    arrived_at: int | None,
    started_at: int | None,
    first_token_at: int | None,
    ended_at: int | None,
) -> TimingQuality:
    """`ok`, `invalid` (the instants contradict each other) or `unknown` (no duration).

    A call without `started_at` is in service from its arrival.
    """
    known = [at for at in (arrived_at, started_at, first_token_at, ended_at) if at is not None]
    if any(not EARLIEST_AT <= at <= MAX_AT for at in known):
        return "invalid"
    if known != sorted(known):
        return "invalid"
    if ended_at is None or (started_at is None and arrived_at is None):
        return "unknown"
    return "ok"
