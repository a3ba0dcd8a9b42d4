"""The questions about repeated work over ten million calls, as ratios to bare scans.

Each question runs side by side with DuckDB's own `sum` and `max` of the columns that it reads, on
the same ledger file, repeated, and only ratios count: seconds depend on the machine and on what
else it does. `max` of a text reads every byte of it. Grouping the prompts stands beside it: the
least that any search for equal texts has to do. Every tenth prompt may have been sent before; one
call in fifty failed and was sent again; a tool ran for every fourth call.

    python benchmarks/ask_repetition.py [--calls N] [--repeats N]
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ask_law import CONFIGURATION, scan, seconds
from charge_ten_million import generate, peak_mib

from analysis.answer import Answer
from analysis.duplicates import duplicates, in_flight
from analysis.loops import loops
from analysis.response_cache import response_cache
from analysis.retries import retries
from analysis.tool_repeats import tool_repeats
from analysis.window import Window
from ingest.charging import charge
from ingest.ledger import Ledger, open_for_reading, open_for_writing

WINDOW = Window()
SHOWN = 20

SCAN_CALLS = """
select
    max(prompt_hash), max(call_id), sum(cohort_id), sum(arrived_at), sum(started_at),
    sum(ended_at), sum(temperature), sum(seed)
from call_rows
"""
GROUP_PROMPTS = "select count(*) from (select 1 from call_rows group by prompt_hash)"
SCAN_ATTEMPTS = """
select
    sum(attempt), max(retry_of), max(call_id), max(input_hash), max(finish_reason),
    sum(arrived_at), sum(ended_at), sum(cohort_id)
from call_rows
"""
SCAN_ANSWERS = """
select
    max(trace_id), max(output_hash), max(prompt_hash), max(call_id), sum(arrived_at),
    sum(ended_at), sum(cohort_id)
from call_rows
"""
SCAN_TOOLS = """
select
    max(trace_id), max(span_id), max(arguments_hash), max(result_hash), sum(started_at),
    sum(ended_at)
from tool_runs
"""
SCAN_CHARGES = """
select sum(call_no), sum(rate_id), sum(prefill_gpu_seconds), sum(decode_gpu_seconds) from charges
"""

REPEAT_CALLS = """
create or replace table repeating as
select
    * replace (
        'v2:' || sha256(cast(
            case when call_no % 10 = 0 then call_no // 7 else call_no end as varchar
        )) as prompt_hash,
        'v1:' || sha256(cast(call_no as varchar)) as input_hash,
        'v1:' || sha256('answer ' || call_no) as output_hash,
        md5(cast(call_no // 4 as varchar)) as trace_id,
        0.0 as temperature,
        case when call_no % 50 = 0 then 0 else cohort_id end as cohort_id,
        case when call_no % 50 < 2 then call_no % 50 + 1 end as attempt,
        case when call_no % 50 = 1 then 'call-' || (call_no - 1) end as retry_of
    )
from call_rows
"""
INSERT_FAILED_COHORT = """
insert into cohorts
select * replace (0 as cohort_id, 'error' as status, 'failed' as digest) from cohorts
where cohort_id = 1
"""
INSERT_TOOLS = """
insert into tool_runs
select
    md5(cast(call_no // 4 as varchar)), md5(cast(call_no as varchar))[:16], null,
    'tool ' || call_no % 20, ended_at, ended_at + 500000000, 'ok',
    'v3:' || sha256(cast(call_no // 8 as varchar)), 'v3:' || sha256(cast(call_no // 16 as varchar)),
    1
from call_rows
where call_no % 4 = 0
"""


def repeat(path: Path) -> None:
    """Give the calls of the ledger at `path` prompts, answers, traces, attempts and tools."""
    with open_for_writing(path, memory_limit=CONFIGURATION.memory_limit) as ledger:
        connection = ledger.connection
        columns = ", ".join(
            name
            for name in connection.table("call_rows").columns
            if name not in {"input_tokens", "output_tokens"}
        )
        connection.execute(INSERT_FAILED_COHORT)
        connection.execute(REPEAT_CALLS)
        connection.execute("delete from call_rows")
        connection.execute(f"insert into call_rows ({columns}) select {columns} from repeating")
        connection.execute("drop table repeating")
        connection.execute(INSERT_TOOLS)
        charge(ledger, CONFIGURATION)


def hit_rates(ledger: Ledger, *, window: Window, limit: int) -> Answer:
    """`response_cache` by endpoint; it has no list to cut to `limit`."""
    del limit
    return response_cache(ledger, CONFIGURATION, window=window)


QUESTIONS: dict[str, tuple[Callable[..., Answer], tuple[str, ...]]] = {
    "duplicates": (duplicates, (SCAN_CALLS, SCAN_CHARGES)),
    "response_cache": (hit_rates, (SCAN_CALLS, SCAN_CHARGES)),
    "in_flight": (in_flight, (SCAN_CALLS, SCAN_CHARGES)),
    "retries": (retries, (SCAN_ATTEMPTS, SCAN_CHARGES)),
    "loops": (loops, (SCAN_ANSWERS, SCAN_TOOLS, SCAN_CHARGES)),
    "tool_repeats": (tool_repeats, (SCAN_TOOLS,)),
}
"""Each question with the scans of the columns that it reads."""


def compare(path: Path, repeats: int) -> None:
    """Print the ratio of asking to scanning for each question, as medians of `repeats` pairs."""
    with open_for_reading(path, memory_limit=CONFIGURATION.memory_limit) as ledger:
        connection = ledger.connection
        for name, (ask, scans) in QUESTIONS.items():
            works = (
                partial(ask, ledger, window=WINDOW, limit=SHOWN),
                partial(scan, connection, *scans),
                partial(scan, connection, GROUP_PROMPTS),
            )
            pairs = [[seconds(work) for work in works] for _ in range(repeats + 1)][1:]
            for kind, clock in enumerate(("wall clock", "processor")):
                asked, scanned, grouped = (
                    statistics.median(each[kind] for each in column)
                    for column in zip(*pairs, strict=True)
                )
                print(
                    f"{name}, {clock}: {asked:.2f} s; {asked / scanned:.1f} x a bare scan "
                    f"({scanned:.2f} s), {asked / grouped:.2f} x grouping the prompts "
                    f"({grouped:.2f} s)",
                    flush=True,
                )
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
