"""What a replay will send and how long that takes at least, known before any engine starts.

Owns the figures of a dry run. Refuses a trace that has no room in the context of an arm.
"""

from collections.abc import Mapping

from simulator.engines.engine import Engine
from simulator.fitting import refuse_oversized
from simulator.scenario import pass_order
from simulator.schedule import at_speed, planned_duration_s, speed_for
from simulator.trace import Trace


def plan_sentences(
    trace: Trace,
    engine: Engine,
    flags: Mapping[str, Mapping[str, str]],
    pairs: int,
    rate_per_s: float | None,
) -> list[str]:
    """Calls, tokens, the longest call beside each arm's context, and the span of the schedule."""
    rate = trace.rate_per_s
    recorded = "" if rate is None else f", recorded at {rate:.3g} calls/s"
    longest = max(trace.calls, key=lambda call: call.input_tokens + call.output_tokens)
    rooms = ", ".join(f"{arm} {engine.context_tokens(own):,}" for arm, own in flags.items())
    sent = (
        f"{len(trace.calls):,} calls, {sum(c.input_tokens for c in trace.calls):,} input and "
        f"{sum(c.output_tokens for c in trace.calls):,} output tokens{recorded}"
    )
    room = (
        f"longest prompt: {max(c.input_tokens for c in trace.calls):,} tokens; longest call: "
        f"{longest.input_tokens:,} input and {longest.output_tokens:,} output tokens; context: "
        f"{rooms}"
    )
    return [sent, room, _schedule(trace, len(pass_order(pairs)), rate_per_s)]


def refuse_without_room(
    trace: Trace, engine: Engine, flags: Mapping[str, Mapping[str, str]]
) -> None:
    """Raises `TraceError` where a call has no room in the context that an arm asks for."""
    for arm, own in flags.items():
        refuse_oversized(trace, engine.context_tokens(own), arm)


def _schedule(trace: Trace, passes: int, rate_per_s: float | None) -> str:
    """How long the sends of one pass span and all passes last at least, services not counted."""
    speed = 1.0 if rate_per_s is None else speed_for(trace, rate_per_s)
    span_s = planned_duration_s(at_speed(trace, speed), 0.0)
    pace = "as recorded" if rate_per_s is None else f"at --rate {rate_per_s:g}"
    return (
        f"schedule: {span_s:,.1f} s from the first to the last send {pace}, so {passes} passes "
        f"take at least {passes * span_s / 60:,.1f} minutes; longer where the engine, whose "
        "capacity is measured first, cannot follow"
    )
