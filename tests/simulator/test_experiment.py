"""A whole scenario against a server with declared latencies, into a ledger and out again."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.law import law
from ingest.config import Configuration
from ingest.ledger import open_for_reading
from simulator import capacity, driving, experiment, verification
from simulator.engines.engine import Frame, RunningEngine
from simulator.engines.llamacpp import read_frame
from simulator.errors import EngineError, ReplayError, TraceError
from simulator.experiment import run
from simulator.recording import Recorder, counter_growth
from simulator.results import compared_scenario, passes_of, results_frame
from simulator.scenario import Scenario
from simulator.trace import Trace, TracedCall
from simulator.verification import PassReport

PREFILL_S = {"off": 0.20, "on": 0.05}
DECODE_S = 0.05
OUTPUT_TOKENS = 2


class MockRunning:
    """An engine whose prefill time is declared by its flag `prefix_cache`."""

    completion_path = "/completion"
    model = "mock"
    slots = 1
    context_tokens = 100
    prompt_ids: NDArray[np.uint32] = np.arange(100, dtype=np.uint32)

    def __init__(
        self,
        url: str,
        flags: Mapping[str, str],
        output_tokens: int,
        is_hanging: bool,
        events: list[str],
    ) -> None:
        self.base_url = url
        self._events = events
        self.properties = dict(flags)
        self._prefill_s = PREFILL_S[flags["prefix_cache"]]
        self._output_tokens = output_tokens
        self._is_hanging = is_hanging

    def request_body(self, prompt: Sequence[int], output_tokens: int) -> bytes:
        first_s, last_s = self._prefill_s, self._prefill_s + DECODE_S
        end = {
            "tokens": [],
            "stop": True,
            "stop_type": "limit",
            "id_slot": 0,
            "timings": {
                "cache_n": 0,
                "prompt_n": len(prompt),
                "prompt_ms": self._prefill_s * 1e3,
                "predicted_n": self._output_tokens,
                "predicted_ms": DECODE_S * 1e3,
            },
        }
        tokens = [[first_s, {"tokens": [1]}], [last_s, {"tokens": [2]}]]
        wanted = {"busy_s": last_s, "frames": [*tokens, [last_s, end]]}
        if self._is_hanging:
            wanted = {"frames": tokens, "hang": True}
        return json.dumps(wanted).encode()

    def read_frame(self, data: bytes) -> Frame:
        return read_frame(data)

    def warm_up(self) -> None:
        self._events.append("warm up")

    def reset_cache(self) -> None: ...

    def stop(self) -> None:
        self._events.append("stop")

    def raise_if_dead(self, grace_s: float = 0.0) -> None: ...
    def metrics(self) -> str:
        return "mock_requests_total 5\n"

    def cpu_s(self) -> float | None:
        return None

    def log_tail(self) -> str:
        return "    the last line of the log"


class MockEngine:
    name = "mock"
    version = "1"
    cannot: tuple[str, ...] = ()

    def __init__(
        self, url: str, output_tokens: int = OUTPUT_TOKENS, is_hanging: bool = False
    ) -> None:
        self._url = url
        self._output_tokens = output_tokens
        self._is_hanging = is_hanging
        self.events: list[str] = []

    def resolve(self, flags: Mapping[str, str]) -> Mapping[str, str]:
        return flags

    def context_tokens(self, flags: Mapping[str, str]) -> int:
        return MockRunning.context_tokens

    def start(self, flags: Mapping[str, str], log_path: Path) -> RunningEngine:
        self.events.append(f"start {flags['prefix_cache']}")
        return MockRunning(self._url, flags, self._output_tokens, self._is_hanging, self.events)


class Listener:
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.passes: list[str] = []
        self.ended = 0

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def pass_begins(self, number: int, of: int, arm: str, calls: int) -> None:
        self.passes.append(f"{number}/{of} {arm}")

    def call_ended(self) -> None:
        self.ended += 1


@pytest.fixture(scope="module")
def mock_url() -> Iterator[str]:
    script = Path(__file__).with_name("mock_engine.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(autouse=True)
def _a_busy_machine_may_send_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate on the send lag has tests of its own."""
    monkeypatch.setattr(verification, "LEAST_LAG_LIMIT_S", 5.0)


def trace(count: int = 8) -> Trace:
    calls = tuple(
        TracedCall(
            call_id=f"c{number}",
            session=f"s{number}",
            arrived_s=number * 0.5,
            input_tokens=20,
            output_tokens=OUTPUT_TOKENS,
            ending=f"e{number}",
            labels={"endpoint": "/chat"},
        )
        for number in range(count)
    )
    return Trace(source="made here", calls=calls)


def scenario(engine: MockEngine, folder: Path, **changes: Any) -> Scenario:
    return Scenario(
        **{
            "name": "what-if",
            "trace": trace(),
            "engine": engine,
            "flags": {"baseline": {"prefix_cache": "off"}, "candidate": {"prefix_cache": "on"}},
            "pairs": 1,
            "seed": 1,
            "rate_per_s": 2.5,
            "folder": folder,
            **changes,
        }
    )


def test_a_scenario_goes_through_the_ledger_and_its_figures_are_the_laws(
    mock_url: str, tmp_path: Path
) -> None:
    path, listener = tmp_path / "ledger.duckdb", Listener()
    engine = MockEngine(mock_url)
    assert run(scenario(engine, tmp_path), Recorder(path, Configuration()), listener)
    # Capacity of both arms, then the passes: each has an engine of its own, made ready alike.
    assert engine.events == [
        event
        for cache in ("off", "on", "off", "off", "on")
        for event in (f"start {cache}", "warm up", "stop")
    ]
    assert listener.passes == ["1/3 baseline", "2/3 baseline", "3/3 candidate"]
    assert listener.ended == 24
    assert any("passes of 8 calls, cold prefix cache" in told for told in listener.sentences)
    with open_for_reading(path) as ledger:
        compared = compared_scenario(ledger, Configuration(), "what-if", seed=1)
        where = {"origin": "replay", "scenario": "what-if"}
        lines = law(ledger, Configuration(), by=("arm",), where=where).frame.to_dicts()
        passes = passes_of(ledger, "what-if")
    assert compared is not None
    figures = {row["figure"]: row for row in results_frame(compared).to_dicts()}
    assert figures["Tp"]["baseline"] == pytest.approx(PREFILL_S["off"], abs=1e-6)
    assert figures["Tp"]["candidate"] == pytest.approx(PREFILL_S["on"], abs=1e-6)
    assert figures["Tp"]["verdict"] == "lower"
    assert figures["L"]["candidate"] == OUTPUT_TOKENS
    by_arm = {line["arm"]: line for line in lines if line["line"] == "calls"}
    for arm in ("baseline", "candidate"):
        assert figures["Tp"][arm] == pytest.approx(by_arm[arm]["Tp_s"], rel=1e-9)
        assert figures["Td"][arm] == pytest.approx(by_arm[arm]["Td_s"], rel=1e-9)
        assert figures["B"][arm] == pytest.approx(by_arm[arm]["B"], rel=1e-9)
        assert figures["gpu_seconds"][arm] * by_arm[arm]["N"] == pytest.approx(
            by_arm[arm]["gpu_seconds"], rel=1e-9
        )
    assert [(p.arm, p.number) for p in passes] == [
        ("baseline", 1),
        ("baseline", 2),
        ("candidate", 3),
    ]
    assert passes[0].result["ok_count"] == 8
    assert passes[0].result["engine_properties"] == {"prefix_cache": "off"}
    assert passes[0].result["engine_counters"] == {"mock_requests_total": 0.0}


def test_a_rate_above_what_the_slower_arm_serves_is_refused(mock_url: str, tmp_path: Path) -> None:
    asked = scenario(MockEngine(mock_url), tmp_path, rate_per_s=100.0)
    with pytest.raises(ReplayError, match=r"--rate 100 is above 80% of what baseline serves"):
        run(asked, Recorder(tmp_path / "l.duckdb", Configuration()), Listener())


def test_a_recorded_rate_that_is_too_high_is_slowed_aloud(mock_url: str, tmp_path: Path) -> None:
    fast = Trace(
        source="made here",
        calls=tuple(
            TracedCall(
                call_id=f"c{n}",
                session="s",
                arrived_s=n * 0.01,
                input_tokens=5,
                output_tokens=2,
                ending=f"{n}",
            )
            for n in range(4)
        ),
    )
    listener = Listener()
    asked = scenario(MockEngine(mock_url), tmp_path, trace=fast, rate_per_s=None)
    assert run(asked, Recorder(tmp_path / "l.duckdb", Configuration()), listener)
    assert any("arrivals are slowed to 60% of what baseline" in s for s in listener.sentences)


def test_a_call_without_room_is_refused_before_an_engine_starts(
    mock_url: str, tmp_path: Path
) -> None:
    big = TracedCall(
        call_id="c", session="s", arrived_s=0.0, input_tokens=99, output_tokens=2, ending="e"
    )
    engine = MockEngine(mock_url)
    asked = scenario(engine, tmp_path, trace=Trace(source="t", calls=(big,)))
    with pytest.raises(TraceError, match="do not fit the engine's context of 100 tokens"):
        run(asked, Recorder(tmp_path / "l.duckdb", Configuration()), Listener())
    assert engine.events == []


def test_wrong_lengths_end_the_scenario_and_reach_no_ledger(mock_url: str, tmp_path: Path) -> None:
    path = tmp_path / "l.duckdb"
    with pytest.raises(ReplayError, match="had other lengths"):
        run(
            scenario(MockEngine(mock_url, output_tokens=1), tmp_path),
            Recorder(path, Configuration()),
            Listener(),
        )
    with open_for_reading(path) as ledger:
        assert ledger.connection.execute("select count(*) from calls").fetchone() == (0,)
        assert passes_of(ledger, "what-if") == []


def test_a_pass_that_sent_late_is_run_again(
    mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = iter([-1.0, 5.0, 5.0, 5.0])  # the first try is late whatever it does

    def judged(seen: PassReport, failure: str | None) -> None:
        limit = dataclasses.replace(seen, send_lag_limit_s=next(limits))
        verification.refuse_untrustworthy(limit, failure)

    monkeypatch.setattr(experiment, "refuse_untrustworthy", judged)
    path, listener = tmp_path / "l.duckdb", Listener()
    asked = scenario(MockEngine(mock_url), tmp_path, trace=trace(3))
    assert run(asked, Recorder(path, Configuration()), listener)
    assert any(told.startswith("pass 1 is run again: requests") for told in listener.sentences)
    with open_for_reading(path) as ledger:
        assert [p.number for p in passes_of(ledger, "what-if")] == [1, 2, 3]
        assert ledger.connection.execute("select count(*) from calls").fetchone() == (9,)


def test_a_pass_that_is_late_every_time_ends_the_scenario(
    mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "LEAST_LAG_LIMIT_S", -1.0)
    monkeypatch.setattr(verification, "LAG_LIMIT_SHARE", -1.0)
    listener = Listener()
    asked = scenario(MockEngine(mock_url), tmp_path, trace=trace(3))
    with pytest.raises(ReplayError, match="requests were sent late"):
        run(asked, Recorder(tmp_path / "l.duckdb", Configuration()), listener)
    assert sum("is run again" in told for told in listener.sentences) == 2


def test_an_engine_that_falls_silent_is_told_with_the_end_of_its_log(
    mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "STALL_S", 0.5)
    asked = scenario(MockEngine(mock_url, is_hanging=True), tmp_path)
    with pytest.raises(EngineError, match=r"no byte for 0\.5 s(?s:.*)the last line of the log"):
        run(asked, Recorder(tmp_path / "l.duckdb", Configuration()), Listener())


def test_a_known_name_is_refused_before_the_engine_starts(mock_url: str, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "l.duckdb", Configuration())
    recorder.begin("what-if", {})
    with pytest.raises(ReplayError, match="already has a scenario 'what-if'"):
        run(scenario(MockEngine(mock_url), tmp_path), recorder, Listener())


def test_an_interrupt_keeps_the_passes_and_the_calls_so_far(mock_url: str, tmp_path: Path) -> None:
    path = tmp_path / "l.duckdb"

    class Interrupter(Listener):
        def call_ended(self) -> None:
            super().call_ended()
            if self.ended == 8 + 3:  # in the second pass
                threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    engine = MockEngine(mock_url)
    assert not run(scenario(engine, tmp_path), Recorder(path, Configuration()), Interrupter())
    assert engine.events[-1] == "stop"
    assert engine.events.count("stop") == 4  # two capacities, a whole pass, half a pass
    with open_for_reading(path) as ledger:
        passes = passes_of(ledger, "what-if")
        (count,) = ledger.connection.execute(
            "select count(*) from calls where status = 'ok'"
        ).fetchone() or (0,)
        assert compared_scenario(ledger, Configuration(), "what-if", seed=1) is None
    assert [p.result["is_interrupted"] for p in passes] == [False, True]
    assert count == 8 + 3


@pytest.mark.parametrize("moment", ["while the engine starts", "at the first token"])
def test_an_interrupt_before_the_first_pass_leaves_no_engine_and_no_scenario(
    mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    engine, path = MockEngine(mock_url), tmp_path / "ledger.duckdb"
    if moment == "while the engine starts":
        monkeypatch.setattr(MockRunning, "warm_up", interrupted)
    else:
        monkeypatch.setattr(capacity, "sent", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(scenario(engine, tmp_path), Recorder(path, Configuration()), Listener())
    assert (engine.events[0], engine.events[-1]) == ("start off", "stop")
    Recorder(path, Configuration()).refuse_known("what-if")  # the name is still free


def test_counters_are_compared_by_name() -> None:
    before = 'a_total 5\nb_total{x="1"} 2\n# TYPE a_total counter\nc 1\n'
    assert counter_growth(before, "a_total 7\nd_total 3\nc 2\n") == {"a_total": 2.0, "d_total": 3.0}
