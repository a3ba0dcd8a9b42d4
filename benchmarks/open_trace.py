"""Seconds until one trace of 50,000 spans, one with a data URL of 6 MB, is on the screen.

Three runs after one another, repeated: a bare read of the trace's spans (ids, times, names) from
the same ledger into a frame, the question `trace` as a page asks it, and `gpuledger trace ID` in a
process of its own; beside the second `gpuledger formats`, which opens no ledger, for what starting
costs. With Playwright and a Chromium, the dashboard's page of the trace until its waterfall stands
there, and the same page without a trace until its list does, both on a server that served before.

    python benchmarks/open_trace.py [--spans N] [--repeats N]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis.trace import trace
from ingest.config import load_configuration
from ingest.current import open_current
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing

CONFIGURATION = """
currency = "USD"
timezone = "UTC"

[[pools]]
name = "chat"
models = ["m"]
replicas = 1
price_per_gpu_hour = "3.60"
"""
TRACE = "a" * 32
S = 1_000_000_000
BEGIN = 1_794_304_800 * S
CALL_EVERY = 3
"""Every third leaf is a model call."""
CHILDREN = 20
DATA_URL = "data:image/png;base64," + "iVBORw0KGgo" * 550_000
BARE = "select span_id, parent_span_id, name, started_at, ended_at from spans where trace_id = ?"


def spans(count: int) -> Iterator[dict[str, Any]]:
    """A tree of `count` spans; every third leaf is a call, the second span holds the data URL."""
    for number in range(count):
        begin = BEGIN + number * S // 100
        length = S if number else count * S // 100
        values: dict[str, Any] = {"app.step": {"stringValue": f"step {number}"}}
        if number == 1:
            values["app.screenshot"] = {"stringValue": DATA_URL}
        if number % CALL_EVERY == CALL_EVERY - 1 and number > count // CHILDREN:
            values |= {
                "gen_ai.operation.name": {"stringValue": "chat"},
                "gen_ai.request.model": {"stringValue": "m"},
                "gen_ai.usage.input_tokens": {"intValue": "1000"},
                "gen_ai.usage.output_tokens": {"intValue": "200"},
            }
        yield {
            "traceId": TRACE,
            "spanId": f"{number + 1:016x}",
            "parentSpanId": f"{(number - 1) // CHILDREN + 1:016x}" if number else "",
            "name": f"step {number}",
            "kind": 3,
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(begin + length),
            "attributes": [{"key": key, "value": value} for key, value in values.items()],
        }


def prepare(folder: Path, count: int) -> tuple[Path, Path]:
    """A ledger of one trace, and its configuration."""
    ledger_path, config, source = (
        folder / name for name in ("trace.duckdb", "gpuledger.toml", "trace.json")
    )
    config.write_text(CONFIGURATION, "utf-8")
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    scoped = {"resource": resource, "scopeSpans": [{"spans": list(spans(count))}]}
    source.write_text(json.dumps({"resourceSpans": [scoped]}), "utf-8")
    begin = time.perf_counter()
    with open_for_writing(ledger_path) as ledger:
        deliver_paths(ledger, [str(source)], load_configuration(config))
    took = time.perf_counter() - begin
    print(f"ingest of {source.stat().st_size / 1e6:.1f} MB: {took:.1f} s", flush=True)
    print(f"ledger: {ledger_path.stat().st_size / 1e6:.1f} MB", flush=True)
    return ledger_path, config


def compare(ledger_path: Path, config: Path, repeats: int) -> None:
    """Print the median seconds of a bare read, of the question and of the command."""
    configuration = load_configuration(config)
    command = [sys.executable, "-m", "gpuledger.main", "trace", TRACE]
    command += ["--ledger", str(ledger_path), "--config", str(config)]

    def bare() -> None:
        with open_current(ledger_path, configuration) as ledger:
            ledger.connection.sql(BARE, params=[TRACE]).pl()

    def asked() -> None:
        with open_current(ledger_path, configuration) as ledger:
            trace(ledger, configuration, TRACE)

    def printed() -> None:
        subprocess.run(command, check=True, capture_output=True)

    def started() -> None:
        subprocess.run([*command[:3], "formats"], check=True, capture_output=True)

    runs: dict[str, Callable[[], None]] = {
        "bare read": bare,
        "the question": asked,
        "a command that reads nothing": started,
        "the command": printed,
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            found[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        print(f"{name}: {seconds:.2f} s, {seconds / medians['bare read']:.1f} of a bare read")


def open_pages(ledger_path: Path, config: Path, repeats: int) -> None:
    """Print the median seconds until the page is there, with the trace and without."""
    from open_dashboard import CHROMIUM_ARGUMENTS, chromium, served  # noqa: PLC0415
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    pages = {"the page without a trace": "/traces", "the whole page": f"/traces?trace={TRACE}"}
    found: dict[str, list[float]] = {name: [] for name in (*pages, "its totals")}
    with sync_playwright() as driver, served(ledger_path, config) as address:
        browser = driver.chromium.launch(executable_path=chromium(driver), args=CHROMIUM_ARGUMENTS)
        for repeat in range(repeats + 1):
            for name, path in pages.items():
                page = browser.new_page(viewport={"width": 1400, "height": 1600})
                begin = time.perf_counter()
                page.goto(address + path)
                page.get_by_text("traces; choose one below").wait_for()
                if "?" in path:
                    page.get_by_text("the dearest calls an").wait_for()
                    if repeat:
                        found["its totals"].append(time.perf_counter() - begin)
                    page.locator(".js-plotly-plot").first.wait_for()
                if repeat:
                    found[name].append(time.perf_counter() - begin)
                page.close()
        browser.close()
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        ratio = seconds / medians["the page without a trace"]
        print(f"{name}: {seconds:.2f} s, {ratio:.1f} of one without a trace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spans", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger_path, config = prepare(Path(folder), arguments.spans)
        compare(ledger_path, config, arguments.repeats)
        if find_spec("playwright"):
            open_pages(ledger_path, config, arguments.repeats)
    print(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
