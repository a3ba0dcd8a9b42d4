"""Ledgers that the dashboard is opened on: a small one worked out by hand, and the sample's."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ingest.config import load_configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

S = 1_000_000_000
OCTOBER = 1_790_812_800 * S  # 2026-10-01T00:00:00Z
DAY = 86_400 * S
NASTY_NAME = "<b>/bold</b> **x** [y](javascript:alert(1))"
CONFIGURATION = """
currency = "USD"
timezone = "UTC"

[[pools]]
name = "a"
replicas = 1
price_per_gpu_hour = "3.60"
schedule = ["mon-sun 00:00-01:00"]
"""
LARGE_TRACE = "c" * 32
START_TIMEOUT_S = 60
RUN_TIMEOUT_S = 60
PAGE_SCRIPT = """
from dashboard.pages import {name}
from dashboard.source import current_source
from dashboard.view import view_bar

source = current_source()
{name}.show(source, view_bar(source))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """A ledger and the configuration that it is read with."""

    ledger: Path
    config: Path


def call(name: str, at: int, length_s: int, **columns: Any) -> dict[str, Any]:
    """A call on pool a, first token after a second; one second is a thousandth of a dollar."""
    return {
        "call_id": name,
        "trace_id": f"trace{name}",
        "endpoint": "/chat",
        "team": "search",
        "pool": "a",
        "replica": "r0",
        "model": "m",
        "timing_source": "engine",
        "arrived_at": at,
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + length_s * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


CALLS = (
    call("0901", OCTOBER - 5 * DAY, 100),
    call("1001", OCTOBER, 100),
    call("1002", OCTOBER + DAY, 50, endpoint=NASTY_NAME),
    call("1003", OCTOBER + DAY + 100 * S, 50, endpoint=None),
    call("1004", OCTOBER + DAY, 10, pool=None, model="no-such-model", timing_source="stream"),
    call("1101", OCTOBER + 31 * DAY, 10),
)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Six calls in three months; October costs 31 hours of one GPU at 3.60: 111.60 USD."""
    folder = tmp_path_factory.mktemp("small")
    files = Files(ledger=folder / "small.duckdb", config=folder / "gpuledger.toml")
    files.config.write_text(CONFIGURATION, "utf-8")
    source = folder / "calls.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in CALLS), "utf-8")
    with open_for_writing(files.ledger) as ledger:
        deliver_paths(ledger, [str(source)], load_configuration(files.config), format_name="native")
    return files


@pytest.fixture(scope="session")
def page_run() -> Callable[..., AppTest]:
    """A function that runs one page, by the name of its module, at an address."""

    def run(name: str, **parameters: str) -> AppTest:
        single = AppTest.from_string(PAGE_SCRIPT.format(name=name), default_timeout=RUN_TIMEOUT_S)
        single.query_params.update(parameters)
        return single.run()

    return run


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The sample of two months, as `gpuledger demo` builds it."""
    folder = tmp_path_factory.mktemp("sample")
    files = Files(
        ledger=folder / "sample.duckdb",
        config=Path(__file__).resolve().parents[2] / "sample_data" / "gpuledger.toml",
    )
    gpuledger("demo", "--no-serve", "--ledger", str(files.ledger))
    return files


@pytest.fixture(scope="session")
def served(sample: Files) -> Iterator[str]:
    """The address of a dashboard on the sample, served as a user serves it."""
    with serving(sample) as address:
        yield address


@pytest.fixture(scope="session")
def large_trace(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A trace of a span and 1,199 calls below it, of 100 tokens in and 10 out each."""
    folder = tmp_path_factory.mktemp("large")
    files = Files(ledger=folder / "large.duckdb", config=folder / "gpuledger.toml")
    files.config.write_text(CONFIGURATION, "utf-8")
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told = [{"key": key, "value": {"stringValue": value}} for key, value in asked.items()]
    told += [{"key": key, "value": {"intValue": str(value)}} for key, value in usage.items()]
    spans = [
        {
            "traceId": LARGE_TRACE,
            "spanId": f"{number + 1:016x}",
            "parentSpanId": f"{1:016x}" if number else "",
            "name": f"step {number}",
            "startTimeUnixNano": str(OCTOBER + number * S),
            "endTimeUnixNano": str(OCTOBER + (number + 2 if number else 1300) * S),
            "attributes": told if number else [],
        }
        for number in range(1200)
    ]
    source = folder / "spans.json"
    source.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}), "utf-8")
    with open_for_writing(files.ledger) as ledger:
        deliver_paths(ledger, [str(source)], load_configuration(files.config))
    return files


@contextmanager
def serving(files: Files) -> Iterator[str]:
    """The address of a dashboard on `files`, in a process of its own."""
    port = unused_port()
    command = [sys.executable, "-m", "gpuledger.main", "dashboard", "--port", str(port)]
    command += ["--ledger", str(files.ledger), "--config", str(files.config)]
    log = files.ledger.with_name("dashboard.log")
    with log.open("wb") as talk, subprocess.Popen(command, stdout=talk, stderr=talk) as process:
        try:
            wait_until_served(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def served_large_trace(large_trace: Files) -> Iterator[str]:
    """The address of a dashboard on a ledger of one large trace."""
    with serving(large_trace) as address:
        yield address


@pytest.fixture(scope="module")
def page_of() -> Iterator[Any]:
    """A function that opens a page of a real Chromium, of a given width.

    Closed with its module: while Playwright is open its event loop runs in the main thread, where
    other tests run theirs.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium(driver),
            args=[*arguments, "--disable-background-networking"],
        )

        def open_page(width_px: int = 1400) -> Any:
            return browser.new_page(viewport={"width": width_px, "height": 1600})

        yield open_page
        browser.close()


def chromium(driver: Any) -> str:
    """The browser of GPULEDGER_CHROMIUM, of the system, or of Playwright's own download."""
    candidates = (
        os.environ.get("GPULEDGER_CHROMIUM"),
        shutil.which("chromium"),
        driver.chromium.executable_path,
    )
    for candidate in candidates:
        if candidate and Path(candidate).exists():
            return candidate
    pytest.skip("no Chromium: set GPULEDGER_CHROMIUM, or run `playwright install chromium`")


def gpuledger(*arguments: str) -> str:
    """What the command line prints on stdout."""
    command = [sys.executable, "-m", "gpuledger.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def run_command() -> Callable[..., str]:
    """A function that runs the command line and gives its stdout."""
    return gpuledger


def unused_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_served(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the dashboard listens; fails with what it printed where it ended."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the dashboard ended: {log.read_text('utf-8')}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"no dashboard on port {port} after {START_TIMEOUT_S} s")
