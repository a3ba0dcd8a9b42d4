"""The most memory that the ingest of one large file takes, beside the size of the file.

Writes JSON lines of model calls to a temporary folder, ingests them through the command line in a
process of its own and prints that process's peak of resident memory. `--format otlp` writes export
requests of 100 spans a line, `--format native` one call a line with a text.

    python benchmarks/ingest_large_file.py [--gigabytes 0.1] [--format otlp]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

BEGIN_NS = 1_790_000_000 * 10**9
SPANS_PER_LINE = 100
TEXT = "The quick brown fox jumps over the lazy dog. " * 40

RUN = """
import re, sys
from pathlib import Path
from gpuledger.main import main
try:
    main(sys.argv[1:])
finally:
    found = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print("peak_kib", found[1], file=sys.stderr)
"""


def attribute(key: str, value: str | int) -> dict[str, object]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def span(number: int) -> dict[str, object]:
    begin = BEGIN_NS + number * 10**7
    return {
        "traceId": f"{number // 4 + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "chat llama",
        "kind": 3,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 10**9),
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.request.model", "llama"),
            attribute("gen_ai.response.id", f"answer-{number}"),
            attribute("gen_ai.usage.input_tokens", 400 + number % 100),
            attribute("gen_ai.usage.output_tokens", 50 + number % 50),
            attribute("gen_ai.input.messages", TEXT),
        ],
    }


def otlp_lines() -> Iterator[bytes]:
    number = 0
    while True:
        spans = [span(number + index) for index in range(SPANS_PER_LINE)]
        number += SPANS_PER_LINE
        request = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
        yield json.dumps(request).encode() + b"\n"


def native_lines() -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        call = {
            "call_id": f"call-{number}",
            "endpoint": "/ask",
            "model": "llama",
            "arrived_at": BEGIN_NS + number * 10**7,
            "ended_at": BEGIN_NS + number * 10**7 + 10**9,
            "input_tokens": 400 + number % 100,
            "output_tokens": 50 + number % 50,
            "prompt": TEXT,
        }
        yield json.dumps(call).encode() + b"\n"


LINES: dict[str, Callable[[], Iterator[bytes]]] = {"otlp": otlp_lines, "native": native_lines}


def written(path: Path, size: int, lines: Iterator[bytes]) -> int:
    """Write lines to `path` until it has `size` bytes; how many it has then."""
    total = 0
    with path.open("wb") as stream:
        while total < size:
            total += stream.write(next(lines))
    return total


def measure(folder: Path, size: int, form: str) -> None:
    path = folder / "calls.jsonl"
    total = written(path, size, LINES[form]())
    command = [sys.executable, "-c", RUN, "ingest", str(path), "--ledger", str(folder / "l.duckdb")]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    peak = next(int(at.split()[1]) for at in done.stderr.splitlines() if at.startswith("peak_kib"))
    print(done.stdout.strip())
    print(
        f"{total / 2**20:,.0f} MiB of {form} lines: peak {peak / 2**10:,.0f} MiB resident, "
        f"{seconds:.0f} s, load of the machine {os.getloadavg()[0]:.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.1)
    parser.add_argument("--format", choices=sorted(LINES), default="otlp")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), int(arguments.gigabytes * 10**9), arguments.format)


if __name__ == "__main__":
    main()
