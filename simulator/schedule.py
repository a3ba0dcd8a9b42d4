"""When each call is sent: arrivals at another speed, freed from a recorder's coarse clock.

Owns speed and the mean rate that follows from it. Refuses to scale think time or service time,
and to give a rate to calls that all arrive at one instant.
"""

import dataclasses
import hashlib
import math

import polars as pl

from simulator.errors import TraceError
from simulator.trace import Trace

COARSE_SHARE = 0.2
"""Above this share of simultaneous arrivals a trace is checked for a lattice of time stamps."""

FINEST_STEP_NS = 1_000
"""Steps below a microsecond are the unit of the column, not of a recorder's clock."""


def lattice_step_ns(rows: pl.DataFrame) -> int | None:
    """The step in which arrivals were recorded, where many share an instant; None elsewhere."""
    gaps = rows["arrived_at"].sort().diff().drop_nulls()
    if gaps.is_empty() or (gaps == 0).mean() <= COARSE_SHARE:  # type: ignore[operator] # not empty
        return None
    step = math.gcd(*gaps.filter(gaps > 0).unique().to_list())
    return step if step >= FINEST_STEP_NS else None


def off_the_lattice(
    rows: pl.DataFrame, step_ns: int | None, seed: int
) -> tuple[pl.DataFrame, list[str]]:
    """`rows` with each arrival moved forward by less than `step_ns`, and the sentence that says so.

    Simultaneous arrivals that a coarse clock made would be a burst that never was.
    """
    if step_ns is None:
        return rows, []
    moves = [_below(step_ns, f"{seed} {call_id}") for call_id in rows["call_id"]]
    moved = rows.with_columns(arrived_at=pl.col("arrived_at") + pl.Series(moves, dtype=pl.Int64))
    note = (
        f"arrivals were recorded in steps of {step_ns / 1e9:g} s; each is moved by up to one step, "
        f"drawn with seed {seed}"
    )
    return moved.sort("arrived_at", "call_id"), [note]


def speed_for(trace: Trace, rate_per_s: float) -> float:
    """How many times faster than recorded the calls arrive at a mean of `rate_per_s`."""
    if len(trace.calls) == 1:
        return 1.0
    if trace.rate_per_s is None:
        raise TraceError(
            f"all {len(trace.calls):,} calls of {trace.source} arrive at one instant, so no rate "
            "can be set; use a trace with times of arrival"
        )
    return rate_per_s / trace.rate_per_s


def at_speed(trace: Trace, speed: float) -> Trace:
    """The trace with arrivals `speed` times as fast; the time between turns stays as it was."""
    calls = tuple(
        dataclasses.replace(call, arrived_s=call.arrived_s / speed) for call in trace.calls
    )
    return dataclasses.replace(trace, calls=calls)


def planned_duration_s(trace: Trace, service_s: float) -> float:
    """Seconds from the first send to the last end where every call takes `service_s`."""
    ends_s: list[float] = []
    for call in trace.calls:
        start_s = call.arrived_s if call.after is None else ends_s[call.after] + call.think_s
        ends_s.append(start_s + service_s)
    return max(ends_s)


def _below(limit: int, name: str) -> int:
    drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return drawn % limit
