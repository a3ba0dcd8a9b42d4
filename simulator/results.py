"""A finished scenario as a table: read back from the ledger by the questions of `analysis`.

Owns the way from calls in the ledger to compared blocks. Refuses to compare an incomplete block.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl

from analysis.calls import calls
from analysis.window import parse_instant, zone_named
from ingest.config import Configuration
from ingest.ledger import Ledger
from simulator.comparison import Block, Compared, Interval, compare
from simulator.figures import Floats, PassCalls
from simulator.scenario import BASELINE
from simulator.spans import replica_of
from simulator.statements import statement

BLOCK_PASSES = 3
FREE_SHARE = 0.9
"""An engine with one compute thread and a processor to itself has more than this of it."""

UTC = zone_named("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRow:
    """A pass as the ledger lists it; `started_at` in nanoseconds, `result` as it was judged."""

    arm: str
    number: int
    started_at: int
    result: dict[str, Any]


def passes_of(ledger: Ledger, scenario: str) -> list[PassRow]:
    """The passes of `scenario` that the ledger lists, in order."""
    rows = ledger.connection.execute(statement("replay_passes"), {"scenario": scenario}).fetchall()
    return [
        PassRow(arm=arm, number=number, started_at=started_at, result=orjson.loads(result))
        for arm, number, started_at, _, result in rows
    ]


def compared_scenario(
    ledger: Ledger,
    configuration: Configuration,
    scenario: str,
    seed: int,
    where: Mapping[str, str] | None = None,
) -> Compared | None:
    """The figures of the complete blocks of `scenario`; None where there is none.

    `where` compares only the calls that it selects, such as those of one endpoint.
    """
    passes = [p for p in passes_of(ledger, scenario) if not p.result["is_interrupted"]]
    complete = len(passes) // BLOCK_PASSES
    if complete == 0:
        return None
    rows = calls(
        ledger,
        configuration,
        where={**(where or {}), "origin": "replay", "scenario": scenario, "status": "ok"},
    ).frame
    rows = rows.join(_processor_seconds(ledger, scenario), on="trace_id", how="left")
    blocks = [
        _block(rows, scenario, passes[first : first + BLOCK_PASSES])
        for first in range(0, complete * BLOCK_PASSES, BLOCK_PASSES)
    ]
    counted = passes[: complete * BLOCK_PASSES]
    shares = _processor_shares(counted)
    compared = compare(blocks, seed, known_noise=_contention(shares))
    notes = (*compared.notes, *_contention_notes(shares), *_engine_notes(counted))
    return dataclasses.replace(compared, notes=notes)


def results_frame(compared: Compared) -> pl.DataFrame:
    """One row a figure: both arms and their change, each with its interval, the floor, the verdict.

    Ratios are changes from the baseline: -0.5 is half of it.
    """
    return pl.DataFrame(
        [
            {
                "figure": row.figure.name,
                "unit": row.figure.unit,
                **_cells("baseline", row.baseline),
                **_cells("candidate", row.candidate),
                **_cells("change", row.change),
                "floor_low_ratio": _known(row.floor_low_ratio),
                "floor_high_ratio": _known(row.floor_high_ratio),
                "verdict": row.verdict,
            }
            for row in compared.rows
        ]
    )


def _processor_shares(passes: Sequence[PassRow]) -> list[float]:
    """By pass: processor seconds of the engine per second in which it served; known ones only."""
    return [
        float(p.result["engine_cpu_s"]) / float(p.result["busy_s"])
        for p in passes
        if p.result["engine_cpu_s"] and p.result["busy_s"]
    ]


def _contention(shares: Sequence[float]) -> float:
    """The change, as |ln|, that other programs on the engine's processor explain."""
    return math.log(max(shares) / min(shares)) if shares else 0.0


def _contention_notes(shares: Sequence[float]) -> list[str]:
    if not shares or min(shares) > FREE_SHARE:
        return []
    note = (
        f"other programs ran beside the engine: while it served it had {min(shares):.0%} to "
        f"{max(shares):.0%} of a processor; no change below their ratio has a verdict, except in "
        "processor time"
    )
    return [note]


def _engine_notes(passes: Sequence[PassRow]) -> list[str]:
    """What the engine's processor and its prefix cache did, from the passes as they were judged."""
    notes = []
    for arm in dict.fromkeys(p.arm for p in passes):
        own = [p.result for p in passes if p.arm == arm]
        used = [f"{float(r['engine_cpu_s']):.1f}" for r in own if r["engine_cpu_s"] is not None]
        if used:
            notes.append(f"{arm}: processor seconds of the engine a pass: {' '.join(used)}")
        expected = sum(int(r["cached_tokens_expected"] or 0) for r in own)
        reused = sum(int(r["cached_tokens"]) for r in own)
        if expected:
            notes.append(
                f"{arm}: {reused:,} prompt tokens were reused, {expected:,} by a prefix cache "
                "without limits"
            )
    return notes


def _block(rows: pl.DataFrame, scenario: str, passes: list[PassRow]) -> Block:
    baseline, again = (p for p in passes if p.arm == BASELINE)
    (candidate,) = (p for p in passes if p.arm != BASELINE)
    return Block(
        baseline=_pass_calls(rows, scenario, baseline),
        baseline_again=_pass_calls(rows, scenario, again),
        candidate=_pass_calls(rows, scenario, candidate),
    )


def _processor_seconds(ledger: Ledger, scenario: str) -> pl.DataFrame:
    """Processor seconds of prompt and decode by trace, where the engine's spans tell them."""
    asked = {"scenario": scenario}
    found: pl.DataFrame = ledger.connection.sql(statement("replay_processor"), params=asked).pl()
    return found


def _pass_calls(rows: pl.DataFrame, scenario: str, listed: PassRow) -> PassCalls:
    own = rows.filter(pl.col("replica") == replica_of(scenario, listed.number))
    offsets = [parse_instant(at, UTC) - listed.started_at for at in own["arrived_at"]]
    own = own.with_columns(offset_s=pl.Series(offsets) / 1e9).sort("offset_s", "call_id")

    def column(name: str) -> Floats:
        return own[name].cast(pl.Float64).to_numpy()

    return PassCalls(
        offset_s=column("offset_s"),
        prefill_s=column("prefill_s"),
        decode_s=column("decode_s"),
        gpu_seconds=column("gpu_seconds"),
        output_tokens=column("output_tokens"),
        ttft_s=column("queue_s") + column("prefill_s"),
        prefill_processor_s=column("prefill_processor_s"),
        decode_processor_s=column("decode_processor_s"),
    )


def _cells(name: str, interval: Interval) -> dict[str, float | None]:
    suffix = "_ratio" if name == "change" else ""
    return {
        f"{name}{suffix}": _known(interval.value),
        f"{name}_low{suffix}": _known(interval.low),
        f"{name}_high{suffix}": _known(interval.high),
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
