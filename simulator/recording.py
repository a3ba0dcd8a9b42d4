"""A scenario and its passes in the ledger: delivered like any other telemetry, listed as replays.

Owns the rows of `scenarios` and `replays`. Refuses a scenario name that the ledger has already,
and to hold the ledger open while an engine runs.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger, open_for_writing
from simulator.client import Pass
from simulator.errors import ReplayError
from simulator.spans import PassIdentity
from simulator.statements import statement

_COUNTER = re.compile(r"^([a-zA-Z_:][\w:]*_total) (\S+)$", re.MULTILINE)


class Recorder:
    """Writes to the ledger at `path`, opened for each write. `clock` gives nanoseconds."""

    def __init__(
        self, path: Path, configuration: Configuration, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._path = path
        self._configuration = configuration
        self._clock = clock

    def refuse_known(self, scenario: str) -> None:
        """Raises `ReplayError` where the ledger has the scenario."""
        with self._opened() as ledger:
            found = ledger.connection.execute(
                statement("scenario_known"), {"scenario": scenario}
            ).fetchone()
        if found is not None and found[0]:
            raise ReplayError(
                f"{self._path} already has a scenario {scenario!r}; choose another --name"
            )

    def begin(self, scenario: str, description: Mapping[str, Any]) -> None:
        """Keep what the scenario is, before its first pass."""
        with self._opened() as ledger:
            ledger.connection.execute(
                statement("scenario_insert"),
                {
                    "scenario": scenario,
                    "created_at": self._clock(),
                    "description": orjson.dumps(description).decode(),
                },
            )

    def keep(
        self, identity: PassIdentity, spans: Path, done: Pass, result: Mapping[str, Any]
    ) -> None:
        """Deliver the spans of a pass and list it, or raise `ReplayError`."""
        with self._opened() as ledger:
            (delivery,) = deliver_paths(ledger, [str(spans)], self._configuration)
            if delivery.counts is None or delivery.counts.rejected:
                raise ReplayError(
                    f"the spans of pass {identity.number} were not taken: "
                    f"{delivery.error or delivery.reject_reasons}; they are kept in {spans}"
                )
            ledger.connection.execute(
                statement("replay_insert"),
                {
                    "scenario": identity.scenario,
                    "arm": identity.arm,
                    "pass_no": identity.number,
                    "started_at": done.started_at,
                    "ended_at": done.started_at + int(done.duration_s * 1e9),
                    "result": orjson.dumps(result).decode(),
                },
            )

    @contextmanager
    def _opened(self) -> Iterator[Ledger]:
        with open_for_writing(self._path, memory_limit=self._configuration.memory_limit) as ledger:
            yield ledger


def counter_growth(before: str, after: str) -> dict[str, float]:
    """By how much each counter without labels grew between two texts of Prometheus metrics."""
    start = {name: float(value) for name, value in _COUNTER.findall(before)}
    return {name: float(value) - start.get(name, 0.0) for name, value in _COUNTER.findall(after)}
