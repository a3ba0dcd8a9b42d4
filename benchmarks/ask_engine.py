"""Seconds of `ask engine` over five million samples of ten engines, beside a bare read of them.

The samples are put into a new ledger by SQL, without ingest: of each engine the metrics that vLLM
exposes and the product reads, every 15 s, with calls of the same pool beside. The bare read adds up
every value. Both run in turn in one process, with the caches of DuckDB warm.

    python benchmarks/ask_engine.py [--samples N] [--repeats N]
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from analysis.engine import engine
from analysis.window import Window
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.engine_metrics.names import engine_names
from ingest.ledger import Ledger, open_for_writing
from ingest.readers.prometheus_text import PrometheusText

ENGINES = 10
EVERY_S = 15
BEGIN_S = 1_790_841_600
BARE = "select count(*), sum(value), max(sampled_at) from engine_samples"
MULTIPLY = """
insert into engine_samples
select n.series_id, n.sampled_at + t.step * 15000000000 as sampled_at, null as began_at,
    case when s.kind = 'gauge' then (n.series_id + t.step) % 7 else n.value + 3 * t.step end,
    n.delivery_id
from engine_samples as n
inner join engine_series as s on n.series_id = s.series_id
cross join range(1, $steps) as t (step)
order by t.step, n.series_id
"""


def first_scrapes() -> str:
    """One scrape of each engine, as Prometheus text."""
    names = engine_names()["vllm"]
    gauges = [listed[0] for listed in names.gauges.values()]
    counters = [f"{listed[0]}_total" for listed in names.counters.values()]
    sums = [
        f"{listed[0]}{end}" for listed in names.histograms.values() for end in ("_sum", "_count")
    ]
    lines = []
    for number in range(ENGINES):
        lines.append(f"# scraped_at 2026-10-01T08:00:00Z instance=vllm-{number} pool=chat")
        lines += [
            f'vllm:{name}{{engine="0",model_name="m"}} 5' for name in (*gauges, *counters, *sums)
        ]
    return "\n".join(lines) + "\n"


def prepare(path: Path, samples: int) -> None:
    """A ledger with one call and about `samples` samples at `path`."""
    source = path.with_suffix(".txt")
    source.write_text(first_scrapes(), "utf-8")
    with open_for_writing(path) as ledger:
        reader = PrometheusText()
        deliver_paths(ledger, [str(source)], Configuration(), format_name=reader.name)
        series = int(
            ledger.connection.execute("select count(*) from engine_series").fetchall()[0][0]
        )
        ledger.connection.execute(MULTIPLY, {"steps": samples // series})


def compare(ledger: Ledger, repeats: int) -> None:
    """Print the median seconds of the question, whole and of one day, and of a bare read."""
    day = Window(since=BEGIN_S * 10**9, until=(BEGIN_S + 86_400) * 10**9)
    runs: dict[str, Callable[[], object]] = {
        "bare read": lambda: ledger.connection.execute(BARE).fetchall(),
        "all time": lambda: engine(ledger, window=Window()),
        "one day": lambda: engine(ledger, window=day),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            begin, cpu = time.perf_counter(), time.process_time()
            run()
            found[name].append((time.perf_counter() - begin, time.process_time() - cpu))
    for name, times in found.items():
        wall, cpu = (statistics.median(kind) for kind in zip(*times, strict=True))
        print(f"{name}: {wall:.2f} s, processor {cpu:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "engine.duckdb"
        prepare(path, arguments.samples)
        with open_for_writing(path) as ledger:
            compare(ledger, arguments.repeats)
    print(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
