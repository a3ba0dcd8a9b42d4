"""One scenario from trace to calls in the ledger: capacity, then interleaved passes.

Owns the order of things and what is kept of each pass. Every pass starts a fresh engine process,
warms it up with text of its own and so begins with a prefix cache that holds nothing of the trace.
Refuses to keep a pass that fails a gate.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.capacity import ArmCapacity, at_rate, capacity
from simulator.client import Pass
from simulator.driving import planned_requests, sent, started
from simulator.errors import LateSendError
from simulator.plan import refuse_without_room
from simulator.processor import phase_seconds
from simulator.recording import Recorder, counter_growth
from simulator.scenario import BASELINE, CANDIDATE, Scenario, Watcher, pass_order
from simulator.schedule import planned_duration_s
from simulator.sharing import shared_tokens
from simulator.spans import PassIdentity, write_spans
from simulator.trace import Trace
from simulator.verification import PassReport, first_error, refuse_untrustworthy, report

MOST_TRIES = 3
"""A pass that sent late is run so often at most; every other gate ends the scenario."""


def run(scenario: Scenario, recorder: Recorder, watcher: Watcher) -> bool:
    """Whether every pass was completed; False where Ctrl-C ended the scenario early.

    Raises `EngineError` where an engine fails and `ReplayError` where a gate does; completed
    passes stay in the ledger.
    """
    refuse_without_room(scenario.trace, scenario.engine, scenario.flags)
    recorder.refuse_known(scenario.name)
    capacities = {arm: capacity(scenario, arm, watcher) for arm in (BASELINE, CANDIDATE)}
    trace = at_rate(scenario, capacities, watcher)
    order = pass_order(scenario.pairs)
    _say_duration(trace, order, capacities, watcher)
    recorder.begin(scenario.name, _description(scenario, trace, capacities))
    passes = _Passes(scenario, trace, recorder)
    for number, arm in enumerate(order, start=1):
        watcher.pass_begins(number, len(order), arm, len(trace.calls))
        try:
            is_interrupted = _with_further_tries(passes, number, arm, watcher)
        except KeyboardInterrupt:
            is_interrupted = True  # between two passes nothing is lost
        if is_interrupted:
            return False
    return True


def _with_further_tries(passes: "_Passes", number: int, arm: str, watcher: Watcher) -> bool:
    """Whether the pass was interrupted; one that sent late is run again, a few times."""
    for _ in range(MOST_TRIES - 1):
        try:
            return passes.run(number, arm, watcher)
        except LateSendError as error:
            watcher.say(f"pass {number} is run again: {error}")
    return passes.run(number, arm, watcher)


class _Passes:
    """The passes of one scenario over one trace."""

    def __init__(self, scenario: Scenario, trace: Trace, recorder: Recorder) -> None:
        self._scenario = scenario
        self._trace = trace
        self._recorder = recorder

    def run(self, number: int, arm: str, watcher: Watcher) -> bool:
        """Whether pass `number` was interrupted; what it measured is in the ledger."""
        name = f"pass-{number:02}-{arm}"
        running = started(self._scenario, arm, name)
        try:
            requests = planned_requests(self._trace.calls, running, self._scenario.seed)
            counters, cpu_s = running.metrics(), running.cpu_s()
            done = sent(running, requests, watcher.call_ended)
            used_s = _growth(cpu_s, running.cpu_s())
            growth = counter_growth(counters, running.metrics())
        finally:
            running.stop()
        identity = PassIdentity(
            scenario=self._scenario.name,
            arm=arm,
            number=number,
            engine=self._scenario.engine.name,
            model=running.model,
        )
        path = self._scenario.folder / f"{name}.otlp.pb"
        phases = phase_seconds(done.outcomes, running.slots)
        write_spans(path, dict(enumerate(self._trace.calls)), done, identity, phases)
        seen = self._judged(arm, done)
        result = {
            **seen.as_json(),
            "engine_cpu_s": used_s,
            "engine_properties": dict(running.properties),
            "engine_counters": growth,
        }
        self._recorder.keep(identity, path, done, result)
        return done.is_interrupted

    def _judged(self, arm: str, done: Pass) -> PassReport:
        """What was seen of a pass that may be believed; an interrupted one is not judged."""
        calls = dict(enumerate(self._trace.calls))
        has_cache = self._scenario.flags[arm].get("prefix_cache") != "off"
        expected = dict(enumerate(shared_tokens(self._trace.calls))) if has_cache else None
        seen = report(calls, done, expected)
        if not done.is_interrupted:
            refuse_untrustworthy(seen, first_error(done.outcomes))
        return seen


def _growth(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _say_duration(
    trace: Trace, order: Sequence[str], capacities: Mapping[str, ArmCapacity], watcher: Watcher
) -> None:
    total_s = sum(
        planned_duration_s(trace, 1 / capacities[arm].calls_per_s) + capacities[arm].start_s
        for arm in order
    )
    watcher.say(
        f"{len(order)} passes of {len(trace.calls):,} calls, cold prefix cache, order "
        f"{' '.join(order)}: about {total_s / 60:.1f} minutes"
    )


def _description(
    scenario: Scenario, trace: Trace, capacities: Mapping[str, ArmCapacity]
) -> dict[str, Any]:
    return {
        "engine": scenario.engine.name,
        "engine_version": scenario.engine.version,
        "engine_cannot": list(scenario.engine.cannot),
        "flags": {arm: dict(flags) for arm, flags in scenario.flags.items()},
        "trace": trace.source,
        "trace_notes": list(trace.notes),
        "call_count": len(trace.calls),
        "rate_per_s": trace.rate_per_s,
        "seed": scenario.seed,
        "pass_order": list(pass_order(scenario.pairs)),
        "cache_state": "cold: a fresh engine process for each pass",
        "capacity_per_s": {arm: c.calls_per_s for arm, c in capacities.items()},
    }
