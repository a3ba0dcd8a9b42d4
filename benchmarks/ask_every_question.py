"""Every question over ten million calls: seconds, memory, and ratios to a bare scan and a sort.

Each question is asked by the command line in a process of its own, so its peak of memory is its
own, and its start is part of it. Beside it, each in a process of its own on the same ledger file
under the same limit of memory: the scan, DuckDB's own `sum` of every number and `max` of every
text of calls and charges; and the sort, `order by replica, time` of the calls into a temporary
table. Ratios are of processor seconds, of all threads, which depend least on what else the machine
does.

Every tenth prompt was sent before, one call in fifty failed and was sent again, a tool ran for
every fourth call, four calls make a trace below a server's span. Prompts have eight leading blocks,
of which four are their endpoint's; a third of them hands over two chunks; a fifth of the answers is
JSON.

    python benchmarks/ask_every_question.py [--calls N] [--only NAME …]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpuledger.asked import LISTS, NAMES

CONFIGURATION = """
currency = "USD"
timezone = "UTC"
memory_limit = "2GB"

[[pools]]
name = "chat"
models = ["llama"]
gpu = "H100"
replicas = 8
price_per_gpu_hour = "2.99"

[[slos]]
endpoint = "/endpoint-1"
ttft_p95_s = 1.0
tpot_p95_s = 0.05

[[budgets]]
scope = { endpoint = "/endpoint-1" }
month = "2026-10"
amount = "12000"
"""
MAKE = """
import sys
from pathlib import Path
from ask_repetition import repeat
from charge_ten_million import generate
from texts_of_calls import measure

generate(Path(sys.argv[1]), int(sys.argv[2]))
repeat(Path(sys.argv[1]))
measure(Path(sys.argv[1]))
"""
"""The ledger, made in a process of its own: a child's peak begins with what its parent holds."""
READ = """
import sys
from pathlib import Path
from ingest.ledger import open_for_reading

with open_for_reading(Path(sys.argv[1]), memory_limit="2GB") as ledger:
    for statement in sys.argv[2:]:
        ledger.connection.execute(statement).fetchall()
"""
SCANS = """
import sys
from pathlib import Path
from ingest.ledger import open_for_reading

NUMBERS = ("bigint", "integer", "double", "decimal")

def total(name, kind):
    return f"max({name})" if kind == "varchar" else f"sum({name})"

with open_for_reading(Path(sys.argv[1]), memory_limit="2GB") as ledger:
    for table in ("call_rows", "charges"):
        relation = ledger.connection.table(table)
        kinds = [(name, str(kind).lower()) for name, kind in zip(relation.columns, relation.types)]
        read = [
            total(name, kind) for name, kind in kinds
            if kind == "varchar" or kind.startswith(NUMBERS) and not kind.endswith("]")
        ]
        ledger.connection.execute(f"select {', '.join(read)} from {table}").fetchall()
"""
SORT = "create temp table sorted as select replica, started_at from call_rows order by all"


class Spent(NamedTuple):
    """What a process took: seconds of the clock, of processors, and its peak of memory."""

    wall_s: float
    processor_s: float
    peak_mib: float
    is_done: bool
    told: str


def spent(command: Sequence[str]) -> Spent:
    """Run `command`; what it says last on stderr is kept where it fails."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - begin
        errors.seek(0)
        lines = errors.read().decode().strip().splitlines()
    return Spent(
        wall_s=wall_s,
        processor_s=used.ru_utime + used.ru_stime,
        peak_mib=used.ru_maxrss / 1024,
        is_done=process.returncode == 0,
        told=lines[-1] if lines else "",
    )


def answered(command: Sequence[str]) -> Spent:
    """Run `command`, which all ratios rest on: none is printed where it fails."""
    took = spent(command)
    if not took.is_done:
        sys.exit(took.told)
    return took


def asked(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each question with the words that ask it."""
    for name in names:
        yield name, ["ask", name, *(["--limit", "20"] if name in LISTS or name == "calls" else [])]
    if "levers" in names or set(names) == set(NAMES):
        yield "levers", ["levers"]


def compare(folder: Path, names: Sequence[str]) -> None:
    """Print a line for each question, after the scan and the sort."""
    path, configuration = folder / "benchmark.duckdb", folder / "gpuledger.toml"
    configuration.write_text(CONFIGURATION, "utf-8")
    options = ["--ledger", str(path), "--config", str(configuration), "--format", "json"]
    ask = [sys.executable, "-m", "gpuledger.main"]
    answered([*ask, "ask", "law", *options])  # charged as this configuration says
    scan = min(answered([sys.executable, "-c", SCANS, str(path)]) for _ in range(2))
    sort = min(answered([sys.executable, "-c", READ, str(path), SORT]) for _ in range(2))
    for name, took in (("scan", scan), ("sort", sort)):
        print(f"{name}: {took.wall_s:.1f} s, {took.processor_s:.1f} processor s", flush=True)
    for name, words in asked(names):
        took = spent([*ask, *words, *options])
        outcome = "" if took.is_done else f"; NOT ANSWERED: {took.told}"
        print(
            f"{name}: {took.wall_s:.1f} s, {took.processor_s:.1f} processor s, "
            f"{took.processor_s / scan.processor_s:.1f} x the scan, "
            f"{took.processor_s / sort.processor_s:.1f} x the sort, "
            f"{took.peak_mib:,.0f} MiB{outcome}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=NAMES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.duckdb"
        subprocess.run(
            [sys.executable, "-c", MAKE, str(path), str(arguments.calls)],
            check=True,
            cwd=Path(__file__).parent,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )
        print(f"{arguments.calls:,} calls", flush=True)
        compare(Path(folder), arguments.only)


if __name__ == "__main__":
    main()
