"""From recorded calls to the trace that is sent: every step that changes it, in one place.

Owns the order of the steps. Refuses silence: each step that changes or drops anything leaves a
sentence in the trace's notes.
"""

from dataclasses import dataclass

import polars as pl

from simulator.fitting import thinned, with_sessions, with_shorter_outputs, with_shorter_prompts
from simulator.schedule import lattice_step_ns, off_the_lattice
from simulator.trace import Trace, trace_from_rows, usable_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a trace is made to fit; None leaves it as recorded."""

    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def prepared_trace(rows: pl.DataFrame, source: str, limits: Limits, seed: int) -> Trace:
    """The trace of the recorded `rows`, thinned, freed from a coarse clock and scaled."""
    usable, notes = usable_rows(rows, source)
    step_ns = lattice_step_ns(usable)
    kept, thinning = thinned(with_sessions(usable, limits.calls), limits.calls, seed)
    spread, jitter = off_the_lattice(kept, step_ns, seed)
    trace = trace_from_rows(spread, source, [*notes, *thinning, *jitter])
    shorter = with_shorter_prompts(trace, limits.input_tokens)
    return with_shorter_outputs(shorter, limits.output_tokens)
