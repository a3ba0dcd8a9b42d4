"""Starting an engine for one pass and sending a trace to it.

Owns the making of request bodies before the clock runs. Refuses calls that do not fit the engine.
"""

from collections.abc import Callable, Sequence

from simulator.client import Pass, Planned, Target, run_pass
from simulator.engines.engine import RunningEngine
from simulator.fitting import refuse_oversized
from simulator.prompts import PromptBook
from simulator.scenario import Scenario
from simulator.trace import TracedCall


def started(scenario: Scenario, arm: str, log_name: str) -> RunningEngine:
    """A fresh engine with the flags of `arm`, warm, with room for every call of the trace."""
    log_path = scenario.folder / f"{log_name}.log"
    running = scenario.engine.start(scenario.flags[arm], log_path)
    try:
        refuse_oversized(scenario.trace, running.context_tokens)
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
    """One pass of `planned` over `running`; engine and client are processes apart."""
    target = Target(
        url=running.base_url + running.completion_path,
        read_frame=running.read_frame,
        raise_if_dead=running.raise_if_dead,
    )
    return run_pass(planned, target, on_end)
