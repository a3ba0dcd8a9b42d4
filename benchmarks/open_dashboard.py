"""Seconds until the dashboard shows the total over ten million charged calls, in a real Chromium.

A repeat starts a server of its own and opens its first page twice: once on the fresh server, which
has no answer yet, and once more as another reader, who finds the answers kept. The clock runs from
the request of the page until the headline number, and until the last table, stand on it. The
servers are asked one after the other, so what else the machine does is in the figures; its load is
printed beside them.

    python benchmarks/open_dashboard.py [--calls N] [--repeats N] [--ledger PATH]

The ledger is made where there is none at PATH, and kept there; without PATH it is temporary. Needs
Playwright and a Chromium: the browser of GPULEDGER_CHROMIUM, of the system, or Playwright's own.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from charge_ten_million import generate
from playwright.sync_api import Browser, Playwright, sync_playwright

from ingest.config import load_configuration
from ingest.current import make_current
from ingest.ledger import open_for_writing

CONFIGURATION = """
currency = "USD"
timezone = "UTC"

[[pools]]
name = "chat"
models = ["llama"]
replicas = 8
price_per_gpu_hour = "2.99"
"""
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
START_TIMEOUT_S = 60
HEADLINE, WHOLE = "the headline number", "the whole page"


def prepare(path: Path, config: Path, calls: int) -> None:
    """Make the ledger at `path` where there is none, and charge what is not charged."""
    config.write_text(CONFIGURATION, "utf-8")
    if not path.exists():
        generate(path, calls)
    configuration = load_configuration(config)
    with open_for_writing(path, memory_limit=configuration.memory_limit) as ledger:
        make_current(ledger, configuration)


@contextmanager
def served(ledger: Path, config: Path) -> Iterator[str]:
    """The address of a dashboard in a process of its own, as `gpuledger dashboard` starts it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "gpuledger.main", "dashboard", "--port", str(port)]
    command += ["--ledger", str(ledger), "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_served(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_until_served(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when the server listens; raise where it ended or took too long."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"no dashboard on port {port}; run `gpuledger dashboard` to see why")


def opened(browser: Browser, address: str) -> dict[str, float]:
    """Seconds from the request of the page until the headline, and until all of it, is there."""
    page = browser.new_page(viewport={"width": 1400, "height": 1600})
    begin = time.perf_counter()
    page.goto(address)
    page.get_by_test_id("stMetricValue").first.wait_for()
    headline = time.perf_counter() - begin
    page.get_by_text("Cost by endpoint", exact=True).wait_for()
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    whole = time.perf_counter() - begin
    total = page.get_by_test_id("stMetricValue").first.inner_text()
    if not total.endswith("USD"):
        raise SystemExit(f"the first number of the page is {total!r}, not the cost")
    page.close()
    return {HEADLINE: headline, WHOLE: whole}


def chromium(driver: Playwright) -> str:
    """The browser to open pages with."""
    candidates = (os.environ.get("GPULEDGER_CHROMIUM"), shutil.which("chromium"))
    found = [path for path in candidates if path and Path(path).exists()]
    return found[0] if found else driver.chromium.executable_path


def compare(ledger: Path, config: Path, repeats: int) -> None:
    """Print the median seconds of a first and a second opening over `repeats` servers."""
    runs: dict[str, list[dict[str, float]]] = {"first": [], "second": []}
    with sync_playwright() as driver:
        browser: Any = driver.chromium.launch(
            executable_path=chromium(driver), args=CHROMIUM_ARGUMENTS
        )
        for repeat in range(repeats):
            with served(ledger, config) as address:
                for name, found in runs.items():
                    found.append(opened(browser, address))
                    times = ", ".join(f"{what} {s:.2f} s" for what, s in found[-1].items())
                    print(f"server {repeat + 1}, {name} opening: {times}", flush=True)
        browser.close()
    for name, found in runs.items():
        for what in (HEADLINE, WHOLE):
            print(f"median, {name} opening: {what} {statistics.median(r[what] for r in found):.2f}")
    print(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ledger", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger = arguments.ledger or Path(folder) / "benchmark.duckdb"
        config = Path(folder) / "gpuledger.toml"
        prepare(ledger, config, arguments.calls)
        compare(ledger, config, arguments.repeats)


if __name__ == "__main__":
    main()
