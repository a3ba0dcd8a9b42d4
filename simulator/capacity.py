"""What each arm can serve, and the rate that follows.

Owns the measurement at full load before the first pass. Refuses a rate that the slower arm cannot
serve: times would then measure the queue and not the engine.
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.driving import planned_requests, sent, started
from simulator.errors import ReplayError
from simulator.scenario import Scenario, Watcher, flags_text
from simulator.schedule import at_speed, planned_duration_s, speed_for
from simulator.trace import Trace, TracedCall
from simulator.verification import first_error

CAPACITY_CALLS = 8
MOST_LOAD = 0.8
"""Above this share of the slower arm's capacity a replay measures the queue, not the engine."""

CHOSEN_LOAD = 0.6
"""The share that is chosen where the recorded rate is above `MOST_LOAD`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmCapacity:
    """What an arm did in its warm-up: calls served per second at full load, and its start, in s."""

    calls_per_s: float
    start_s: float


def capacity(scenario: Scenario, arm: str, watcher: Watcher) -> ArmCapacity:
    """Calls per second at full load: a sample of the trace, each slot never without work."""
    watcher.say(f"measuring the capacity of {arm} ({flags_text(scenario.flags[arm])})")
    began_s = time.monotonic()
    running = started(scenario, arm, f"capacity-{arm}")
    start_s = time.monotonic() - began_s
    try:
        sample = _sample(scenario.trace.calls)
        closed_loop = [
            dataclasses.replace(request, at_s=0.0, after=number - running.slots, think_s=0.0)
            if number >= running.slots
            else dataclasses.replace(request, at_s=0.0, after=None)
            for number, request in enumerate(planned_requests(sample, running, scenario.seed))
        ]
        done = sent(running, closed_loop)
    finally:
        running.stop()
    if done.is_interrupted:
        raise KeyboardInterrupt
    failure = first_error(done.outcomes)
    if failure is not None:
        raise ReplayError(f"a request of the warm-up of {arm} failed: {failure}")
    return ArmCapacity(calls_per_s=len(sample) / done.duration_s, start_s=start_s)


def _sample(calls: Sequence[TracedCall]) -> list[TracedCall]:
    """`CAPACITY_CALLS` calls, evenly spaced over the trace."""
    count = min(CAPACITY_CALLS, len(calls))
    return [calls[position * len(calls) // count] for position in range(count)]


def at_rate(scenario: Scenario, capacities: Mapping[str, ArmCapacity], watcher: Watcher) -> Trace:
    """The trace at a rate that both arms can serve; raises `ReplayError` for a higher one."""
    trace = scenario.trace
    arm, slower = min(capacities.items(), key=lambda item: item[1].calls_per_s)
    most = MOST_LOAD * slower.calls_per_s
    watcher.say(
        "; ".join(
            f"{a} serves {c.calls_per_s:.3g} calls/s at full load" for a, c in capacities.items()
        )
    )
    rate = scenario.rate_per_s if scenario.rate_per_s is not None else trace.rate_per_s
    if rate is not None and rate <= most:
        speed = speed_for(trace, rate)
    elif scenario.rate_per_s is not None:
        raise ReplayError(
            f"--rate {rate:.3g} is above {MOST_LOAD:.0%} of what {arm} serves "
            f"({slower.calls_per_s:.3g} calls/s): times would measure the queue, not the engine; "
            f"choose at most {most:.3g}, or shorten the calls with --limit-input, --limit-output"
        )
    else:
        speed = speed_for(trace, CHOSEN_LOAD * slower.calls_per_s)
        watcher.say(
            f"the recorded rate is above {MOST_LOAD:.0%} of that; arrivals are slowed to "
            f"{CHOSEN_LOAD:.0%} of what {arm} serves"
        )
    sped = at_speed(trace, speed)
    length_s = planned_duration_s(sped, 1 / slower.calls_per_s)
    turns = sum(call.after is not None for call in sped.calls)
    pauses = f"; {turns:,} later turns keep their pauses" if turns else ""
    watcher.say(
        f"arrivals run at {speed:.3g} times the recorded speed: {len(sped.calls):,} calls in "
        f"{length_s:.0f} s{pauses}"
    )
    return sped
