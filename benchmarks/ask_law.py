"""`ask law` over ten million charged calls, as a ratio to a bare scan of the columns it reads.

Both run side by side on the same ledger file, repeated, and only ratios count: seconds depend on
the machine and on what else it does. Ratios of processor seconds, of all threads, depend on that
least. The scan is DuckDB's own `sum` of each column, without a
group, a window or a join. The law is asked as the command line asks it: over the whole ledger, for
a month, which reads the time of every charge as well, and by day, which puts every charge into one.

    python benchmarks/ask_law.py [--calls N] [--repeats N]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from charge_ten_million import POOL, generate

from analysis.law import law
from analysis.window import Window
from ingest.charging import charge
from ingest.config import Configuration, Pool
from ingest.ledger import Connection, Ledger, open_for_reading, open_for_writing

PRICED = Pool(
    name=POOL.name,
    models=POOL.models,
    replicas=POOL.replicas,
    price_per_gpu_hour=Decimal("2.99"),
)
CONFIGURATION = Configuration(pools=(PRICED,))
MONTH = Window.month("2026-10", "UTC")

SCAN_CALLS = """
select
    sum(cohort_id), sum(arrived_at), sum(started_at), sum(uncached_input_tokens),
    sum(cache_read_tokens), sum(cache_write_tokens), sum(visible_output_tokens),
    sum(reasoning_tokens)
from call_rows
"""
SCAN_CHARGES = """
select
    sum(cohort_id), sum(rate_id), sum(prefill_s), sum(decode_s), sum(prefill_gpu_seconds),
    sum(decode_gpu_seconds)
from charges
"""
SCAN_TIMES = "select sum(quarter) from charges"


def scan(connection: Connection, *statements: str) -> None:
    """Sum every column of `statements`."""
    for statement in statements:
        connection.execute(statement).fetchall()


def questions(ledger: Ledger) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is asked, by name: the law, and the scan of the columns that it reads."""
    connection = ledger.connection
    return {
        "by endpoint, all time": (
            lambda: law(ledger, CONFIGURATION),
            lambda: scan(connection, SCAN_CALLS, SCAN_CHARGES),
        ),
        "by endpoint, one month": (
            lambda: law(ledger, CONFIGURATION, window=MONTH),
            lambda: scan(connection, SCAN_CALLS, SCAN_CHARGES, SCAN_TIMES),
        ),
        "by day and endpoint, one month": (
            lambda: law(ledger, CONFIGURATION, by=("day", "endpoint"), window=MONTH),
            lambda: scan(connection, SCAN_CALLS, SCAN_CHARGES, SCAN_TIMES),
        ),
    }


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock seconds and processor seconds of all threads that `work` takes."""
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - cpu


def compare(path: Path, repeats: int) -> None:
    """Print the ratio of asking to scanning for each question, as medians of `repeats` pairs."""
    with open_for_reading(path, memory_limit=CONFIGURATION.memory_limit) as ledger:
        for name, (ask, bare) in questions(ledger).items():
            pairs = [(seconds(ask), seconds(bare)) for _ in range(repeats + 1)][1:]
            for kind, clock in enumerate(("wall clock", "processor")):
                times = [(asked[kind], scanned[kind]) for asked, scanned in pairs]
                asked_s, scanned_s = (statistics.median(each) for each in zip(*times, strict=True))
                ratio = statistics.median(asked / scanned for asked, scanned in times)
                print(
                    f"{name}, {clock}: {asked_s:.3f} s, bare scan {scanned_s:.3f} s, "
                    f"ratio {ratio:.2f}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.duckdb"
        generate(path, arguments.calls)
        with open_for_writing(path, memory_limit=CONFIGURATION.memory_limit) as ledger:
            pieces = charge(ledger, CONFIGURATION).pieces
            print(f"{arguments.calls:,} calls, {pieces:,} pieces charged", flush=True)
        compare(path, arguments.repeats)


if __name__ == "__main__":
    main()
