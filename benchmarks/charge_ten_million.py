"""Charging ten million calls, as a ratio to sorting their twenty million interval ends.

Both run side by side on the same ledger file, repeated, and only ratios count: seconds depend on
the machine and on what else it does. The sort is DuckDB's own `order by` into a temporary table,
by replica and time as charging needs it, and once by time alone. Charging is `charge`: reading the
calls, virtual time, and the charges stored and committed. A second process charges under a
memory limit and reports its peak.

    python benchmarks/charge_ten_million.py [--calls N] [--repeats N] [--memory-limit 2GB]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from ingest.charging import apply_configuration, charge, mark_stale
from ingest.config import Configuration, Pool
from ingest.ledger import Connection, open_for_writing

REPLICAS = 8
DAYS = 30
COHORTS = 40
SEED = 20_261_001
BEGIN = 20_727 * 86_400 * 10**9  # 2026-10-01
POOL = Pool(name="chat", models=("llama",), replicas=REPLICAS)

INSERT_CALLS = """
insert into call_rows (
    call_no, call_id, cohort_id, delivery_id, replica, arrived_at, started_at, first_token_at,
    ended_at, uncached_input_tokens, visible_output_tokens, fullness, digest
)
select
    call_no, 'call-' || call_no, cohort_id, 1, replica, started_at, started_at, first_token_at,
    ended_at, input_tokens, output_tokens, 1, ''
from generated
"""
INSERT_COHORTS = """
insert into cohorts (
    cohort_id, origin, endpoint, operation, model, status, timing_source, timing_quality,
    tokens_source, pairing, digest
)
select
    range, 'production', '/endpoint-' || range, 'chat', 'llama', 'ok', 'engine', 'ok',
    'reported', 'single', cast(range as varchar)
from range(1, $cohorts + 1)
"""
ENDS = """
(
    select replica, started_at as t from call_rows
    union all
    select replica, ended_at as t from call_rows
)
"""


def generate(path: Path, calls: int) -> None:
    """Write a ledger of `calls` calls in order of arrival, all their partitions stale."""
    random = np.random.default_rng(SEED)
    started_at = np.sort(random.integers(0, DAYS * 86_400 * 10**9, calls)) + BEGIN
    prefill_ns = (random.lognormal(-1.0, 0.6, calls) * 1e9).astype(np.int64)
    decode_ns = (random.lognormal(1.8, 0.8, calls) * 1e9).astype(np.int64)
    replica = pa.DictionaryArray.from_arrays(
        pa.array(random.integers(0, REPLICAS, calls).astype(np.int8)),
        pa.array([f"replica-{number}" for number in range(REPLICAS)]),
    )
    generated = pa.table(
        {
            "call_no": np.arange(1, calls + 1),
            "cohort_id": random.integers(1, COHORTS + 1, calls).astype(np.int32),
            "replica": replica,
            "started_at": started_at,
            "first_token_at": started_at + prefill_ns,
            "ended_at": started_at + prefill_ns + decode_ns,
            "input_tokens": random.integers(50, 4_000, calls),
            "output_tokens": random.integers(1, 800, calls),
        }
    )
    with open_for_writing(path) as ledger:
        ledger.connection.register("generated", generated)
        ledger.connection.execute(INSERT_COHORTS, {"cohorts": COHORTS})
        ledger.connection.execute(INSERT_CALLS)
        apply_configuration(ledger, Configuration(pools=(POOL,)))
        ledger.connection.execute("create temp table touched as select * from call_rows")
        mark_stale(ledger.connection, "touched")


def forget(connection: Connection) -> None:
    """Make every partition stale, and the file as it was before it was charged."""
    connection.execute("delete from charges")
    connection.execute("delete from charge_sums")
    connection.execute("update charge_partitions set is_stale = true")
    connection.execute("checkpoint")


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def sort_ends(connection: Connection, order: str) -> None:
    """Sort the ends of all intervals into a temporary table."""
    columns = "t" if order == "t" else "replica, t"
    connection.execute(
        f"create or replace temp table sorted as select {columns} from {ENDS} order by {order}"
    )
    connection.execute("drop table sorted")


def compare(path: Path, repeats: int) -> None:
    """Print the ratio of charging to sorting, once a repeat and as a median."""
    configuration = Configuration(pools=(POOL,))
    ratios: dict[str, list[float]] = {"replica, t": [], "t": []}
    with open_for_writing(path, memory_limit=configuration.memory_limit) as ledger:
        for repeat in range(repeats + 1):
            forget(ledger.connection)
            sorts = {
                order: seconds(lambda order=order: sort_ends(ledger.connection, order))
                for order in ratios
            }
            charged = seconds(lambda: charge(ledger, configuration))
            label = "warm-up" if repeat == 0 else f"run {repeat}"
            each = ", ".join(f"{charged / s:.2f} x order by {o}" for o, s in sorts.items())
            print(f"{label}: charging {charged:.2f} s = {each}", flush=True)
            if repeat > 0:
                for order, sort in sorts.items():
                    ratios[order].append(charged / sort)
        [(pieces,)] = ledger.connection.execute("select count(*) from charges").fetchall()
        forget(ledger.connection)
    print(f"{pieces:,} pieces")
    for order, found in ratios.items():
        print(f"median: charging takes {statistics.median(found):.2f} x order by {order}")


def charge_within(path: Path, memory_limit: str) -> None:
    """Charge once under `memory_limit` and print the peak of this process."""
    before = peak_mib()
    configuration = Configuration(pools=(POOL,), memory_limit=memory_limit)
    with open_for_writing(path, memory_limit=memory_limit) as ledger:
        charge(ledger, configuration)
        forget(ledger.connection)
    print(
        f"peak memory under a limit of {memory_limit}: {peak_mib():,.0f} MiB, "
        f"of which {before:,.0f} MiB the program without a ledger"
    )


def peak_mib() -> float:
    """The largest resident size of this process so far, in MiB, as Linux tells it.

    `getrusage` would tell that of the process that started this one, if that was larger.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--charge-only", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.charge_only is not None:
        charge_within(arguments.charge_only, arguments.memory_limit)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.duckdb"
        generate(path, arguments.calls)
        compare(path, arguments.repeats)
        limit = ["--charge-only", str(path), "--memory-limit", arguments.memory_limit]
        subprocess.run([sys.executable, __file__, *limit], check=True)


if __name__ == "__main__":
    main()
