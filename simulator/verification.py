"""Whether a pass may be believed: sends on time, exact lengths, prompts as sent, cache as asked.

Owns the gates. Refuses a pass that fails one, with the figure that failed and what to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simulator.client import Outcome, Pass
from simulator.errors import LateSendError, ReplayError
from simulator.spans import placed
from simulator.trace import TracedCall

LEAST_LAG_LIMIT_S = 0.005
LAG_LIMIT_SHARE = 0.05
CLIENT_CPU_LIMIT = 0.7
WRONG_LENGTH_LIMIT = 0.005
FAILED_LIMIT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What was seen of one pass; times in seconds.

    `cached_tokens_expected` is what a prefix cache without limits would have reused; None where
    the cache is off. `slot_overlap_s` is by how much calls of one slot overlap on the wall clock:
    the error of placing the engine's durations by the client's clock. In `busy_s` seconds at
    least one call was in service.
    """

    sent_count: int
    ok_count: int
    failed_count: int
    send_lag_p50_s: float
    send_lag_p99_s: float
    send_lag_max_s: float
    send_lag_limit_s: float
    client_cpu_ratio: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cached_tokens_expected: int | None
    wrong_prompt_count: int
    wrong_output_count: int
    slot_overlap_s: float
    busy_s: float
    duration_s: float
    is_interrupted: bool

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


def report(
    calls: Mapping[int, TracedCall], done: Pass, expected_cached: Mapping[int, int] | None
) -> PassReport:
    """What was seen of `done`; `expected_cached` by position, None where the cache is off."""
    ok = [outcome for outcome in done.outcomes if outcome.status == "ok"]
    failed = [o for o in done.outcomes if o.status in ("error", "timeout")]
    lags = np.array(
        [
            o.sent_s - o.intended_s
            for o in done.outcomes
            if o.sent_s is not None and o.intended_s is not None
        ]
        or [0.0]
    )
    ttfts = [
        o.first_token_s - o.intended_s for o in ok if o.first_token_s and o.intended_s is not None
    ]
    typical_ttft_s = float(np.median(ttfts)) if ttfts else 0.0
    served = [(calls[o.position], o.served, o.output_tokens) for o in ok if o.served is not None]
    return PassReport(
        sent_count=len(done.outcomes),
        ok_count=len(ok),
        failed_count=len(failed),
        send_lag_p50_s=float(np.percentile(lags, 50)),
        send_lag_p99_s=float(np.percentile(lags, 99)),
        send_lag_max_s=float(lags.max()),
        send_lag_limit_s=max(LEAST_LAG_LIMIT_S, LAG_LIMIT_SHARE * typical_ttft_s),
        client_cpu_ratio=done.client_cpu_ratio,
        input_tokens=sum(s.prompt_tokens for _, s, _ in served),
        output_tokens=sum(s.output_tokens for _, s, _ in served),
        cached_tokens=sum(s.cached_tokens for _, s, _ in served),
        cached_tokens_expected=None
        if expected_cached is None
        else sum(expected_cached[o.position] for o in ok),
        wrong_prompt_count=sum(s.prompt_tokens != c.input_tokens for c, s, _ in served),
        wrong_output_count=sum(
            not s.output_tokens == seen == c.output_tokens for c, s, seen in served
        ),
        slot_overlap_s=_slot_overlap_s(ok, done.started_at),
        busy_s=_busy_s(ok, done.started_at),
        duration_s=done.duration_s,
        is_interrupted=done.is_interrupted,
    )


def refuse_untrustworthy(seen: PassReport, first_error: str | None) -> None:
    """Raises `ReplayError` where a gate fails; an interrupted pass is judged by what it sent."""
    if seen.failed_count > FAILED_LIMIT * seen.sent_count:
        raise ReplayError(
            f"{seen.failed_count:,} of {seen.sent_count:,} requests failed, first: {first_error}; "
            "nothing is compared; see the engine's log"
        )
    wrong = max(seen.wrong_output_count, seen.wrong_prompt_count)
    if wrong > WRONG_LENGTH_LIMIT * max(1, seen.ok_count):
        raise ReplayError(
            f"{seen.wrong_output_count:,} outputs and {seen.wrong_prompt_count:,} prompts of "
            f"{seen.ok_count:,} calls had other lengths than asked for; the engine stops early, "
            "truncates, or adds tokens, so its times are those of other calls"
        )
    if seen.send_lag_p99_s > seen.send_lag_limit_s:
        raise LateSendError(
            f"requests were sent late: p99 of the send lag is {seen.send_lag_p99_s * 1e3:.1f} ms, "
            f"{seen.send_lag_limit_s * 1e3:.1f} ms is allowed; lower --rate or free the machine"
        )
    if seen.client_cpu_ratio > CLIENT_CPU_LIMIT:
        raise ReplayError(
            f"the client used {seen.client_cpu_ratio:.0%} of a processor, {CLIENT_CPU_LIMIT:.0%} "
            "is allowed, so it may have waited for itself; lower --rate"
        )
    if seen.cached_tokens_expected is None and seen.cached_tokens > 0:
        raise ReplayError(
            f"the prefix cache is off, but the engine reused {seen.cached_tokens:,} tokens"
        )


def first_error(outcomes: Sequence[Outcome]) -> str | None:
    """What the first failed request said; None where none failed."""
    return next((o.error for o in outcomes if o.status in ("error", "timeout")), None)


def _slot_overlap_s(outcomes: Sequence[Outcome], started_at: int) -> float:
    by_slot: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.served is not None and outcome.served.slot is not None:
            by_slot.setdefault(outcome.served.slot, []).append(outcome)
    return sum(
        sum(end - start for start, end in _in_service(own, started_at)) / 1e9
        - _busy_s(own, started_at)
        for own in by_slot.values()
    )


def _busy_s(outcomes: Sequence[Outcome], started_at: int) -> float:
    """Seconds in which at least one of `outcomes` was in service."""
    busy = end_so_far = 0
    for start, end in _in_service(outcomes, started_at):
        busy += max(0, end - max(start, end_so_far))
        end_so_far = max(end_so_far, end)
    return busy / 1e9


def _in_service(outcomes: Sequence[Outcome], started_at: int) -> list[tuple[int, int]]:
    """Start and end of service of each finished call, in nanoseconds, in order."""
    found = (placed(outcome, started_at) for outcome in outcomes)
    return sorted((one.started_at, one.ended_at) for one in found if one is not None)
