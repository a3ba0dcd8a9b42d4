"""The levers over ten million calls: the union of claims, and the whole answer.

The ledger is that of `ask_repetition`. The union is of ten claims on parts of every call, which is
more than levers find; it stands beside DuckDB's own sums of the columns of charges. Then the whole
of `gpuledger levers`, which is its detections for the most part, and the peak of memory.

    python benchmarks/ask_levers.py [--calls N] [--repeats N]
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from ask_law import CONFIGURATION, scan, seconds
from ask_repetition import SCAN_CHARGES, repeat
from charge_ten_million import generate, peak_mib

from analysis.bill import read_bill
from analysis.levers import levers
from analysis.savings import Bill
from analysis.selection import selected
from analysis.union import Union
from analysis.window import Window
from ingest.ledger import open_for_reading

WINDOW = Window()
CLAIM_COUNT = 10


def claims_on_all(bill: Bill, number: int) -> pl.DataFrame:
    """Claims on a part of every call, other parts for another `number`."""
    call_nos = np.flatnonzero(bill.is_served)
    ratios = (call_nos * (number + 1) % 97) / 97
    return pl.DataFrame(
        {"call_no": call_nos, "prefill_ratio": ratios, "decode_ratio": ratios[::-1]}
    )


def union_of_all(bill: Bill) -> None:
    """What `gpuledger levers` does with claims: each alone, then each given those before it."""
    union = Union(bill)
    for number in range(CLAIM_COUNT):
        bill.saving(bill.claim(claims_on_all(bill, number)))
    for number in range(CLAIM_COUNT):
        union.add(bill.claim(claims_on_all(bill, number)), partition="s" if number % 3 == 0 else "")


def compare(path: Path, repeats: int) -> None:
    """Print the medians of `repeats` pairs, after one that warms up."""
    with open_for_reading(path, memory_limit=CONFIGURATION.memory_limit) as ledger:
        connection = ledger.connection
        pairs = []
        for _ in range(repeats + 1):
            scanned = seconds(lambda: scan(connection, SCAN_CHARGES))
            begin, cpu = time.perf_counter(), time.process_time()
            bill = read_bill(connection, WINDOW, selected(None), CONFIGURATION)
            read = time.perf_counter() - begin, time.process_time() - cpu
            united = seconds(lambda bill=bill: union_of_all(bill))
            del bill
            pairs.append((scanned, read, united))
        for kind, clock in enumerate(("wall clock", "processor")):
            scanned_s, read_s, united_s = (
                statistics.median(each[kind] for each in column)
                for column in zip(*pairs[1:], strict=True)
            )
            print(
                f"bill, {clock}: {read_s:.2f} s, {read_s / scanned_s:.1f} x a bare scan of the "
                f"charges ({scanned_s:.2f} s); {CLAIM_COUNT} claims on all calls, alone and as a "
                f"union: {united_s:.2f} s",
                flush=True,
            )
        print(f"peak memory: {peak_mib():,.0f} MiB", flush=True)
        asked = seconds(lambda: levers(ledger, CONFIGURATION, window=WINDOW))
        print(f"levers: {asked[0]:.2f} s, {asked[1]:.2f} s of processors", flush=True)
    print(f"peak memory under a limit of {CONFIGURATION.memory_limit}: {peak_mib():,.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.duckdb"
        generate(path, arguments.calls)
        repeat(path)
        print(f"{arguments.calls:,} calls", flush=True)
        compare(path, arguments.repeats)


if __name__ == "__main__":
    main()
