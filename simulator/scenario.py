"""What a replay is asked to do, and in which order its passes run.

Owns the words for it. Refuses to touch an engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from simulator.engines.engine import Engine
from simulator.trace import Trace

BASELINE = "baseline"
CANDIDATE = "candidate"


class Watcher(Protocol):
    """Who is told how a scenario goes on."""

    def say(self, sentence: str) -> None:
        """A sentence for the person who waits."""

    def pass_begins(self, number: int, of: int, arm: str, calls: int) -> None:
        """Pass `number` of `of` sends `calls` calls."""

    def call_ended(self) -> None:
        """One call of the present pass has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is replayed: a fitted trace at its recorded times, on one engine with two sets of flags.

    `rate_per_s` None keeps the recorded rate where the slower arm carries it.
    """

    name: str
    trace: Trace
    engine: Engine
    flags: Mapping[str, Mapping[str, str]]
    pairs: int
    seed: int
    rate_per_s: float | None
    folder: Path


def pass_order(pairs: int) -> tuple[str, ...]:
    """The arms of all passes: baseline, baseline, candidate, and the next block backwards."""
    block = (BASELINE, BASELINE, CANDIDATE)
    return tuple(arm for pair in range(pairs) for arm in (block if pair % 2 == 0 else block[::-1]))


def flags_text(flags: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in flags.items())
