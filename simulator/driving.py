"""Starting an engine for one pass and sending a trace to it.

Owns the making of request bodies before the clock runs. Refuses calls that do not fit the engine.
"""

from collections.abc import Callable, Sequence

from simulator.client import Pass, Planned, Target, run_pass
from simulator.engines.engine import RunningEngine
from simulator.errors import EngineError
from simulator.fitting import refuse_oversized
from simulator.prompts import PromptBook
from simulator.scenario import Scenario
from simulator.trace import TracedCall

STALL_S = 120.0
"""A request that gets no byte for so long has met an engine that hangs."""


def started(scenario: Scenario, arm: str, log_name: str) -> RunningEngine:
    """A fresh engine with the flags of `arm`, warm, with room for every call of the trace."""
    log_path = scenario.folder / f"{log_name}.log"
    running = scenario.engine.start(scenario.flags[arm], log_path)
    try:
        refuse_oversized(scenario.trace, running.context_tokens, arm)
        running.warm_up()
    except BaseException:
        running.stop()
        raise
    return running


def planned_requests(
    calls: Sequence[TracedCall], running: RunningEngine, seed: int
) -> tuple[Planned, ...]:
    """The requests with their bodies made beforehand, so that sending does nothing else."""
    book = PromptBook(running.prompt_ids, key=str(seed))
    return tuple(
        Planned(
            at_s=call.arrived_s,
            after=call.after,
            think_s=call.think_s,
            body=running.request_body(
                book.prompt(call.blocks, call.block_tokens, call.input_tokens, call.ending),
                call.output_tokens,
            ),
        )
        for call in calls
    )


def sent(
    running: RunningEngine,
    planned: Sequence[Planned],
    on_end: Callable[[], None] = lambda: None,
) -> Pass:
    """One pass of `planned` over `running`; engine and client are processes apart.

    Raises `EngineError` where the engine died or fell silent.
    """
    target = Target(
        url=running.base_url + running.completion_path,
        read_frame=running.read_frame,
        raise_if_dead=running.raise_if_dead,
        processor_s=running.cpu_s,
        stall_s=STALL_S,
    )
    done = run_pass(planned, target, on_end)
    running.raise_if_dead()
    silent = sum(outcome.status == "timeout" for outcome in done.outcomes)
    if silent:
        raise EngineError(
            f"{silent:,} of {len(done.outcomes):,} requests got no byte for {STALL_S:g} s, though "
            f"the engine runs; its log ends:\n{running.log_tail()}"
        )
    return done
