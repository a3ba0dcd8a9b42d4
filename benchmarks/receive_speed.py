"""Spans a second and core through the receiver's way, beside decoding alone, and another server.

For OTLP protobuf and JSON: decoding the bytes alone; until they are acknowledged, which is decoded,
redacted and on the disk; and until they are in the ledger as calls, charged. CPU seconds of all
threads, medians of the rounds, with ratios to decoding.

`--phoenix PYTHON`, the interpreter of an environment with arize-phoenix, sends the same protobuf
batches to its server on SQLite and measures the CPU seconds of that process until all spans can be
asked for. It is a tracing tool, not an accountant: it derives no calls and charges nothing.

    python benchmarks/receive_speed.py [--requests N] [--rounds N] [--phoenix PYTHON]
"""

import argparse
import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
from google.protobuf.json_format import MessageToDict
from ingest_otlp import TRACES_PER_REQUEST, cpu_s, request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.config import Configuration
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import JSON, PROTOBUF, Intake
from ingest.receiver.settle import Settler
from ingest.receiver.signals import TRACES

SPANS_PER_REQUEST = TRACES_PER_REQUEST * 3
PHOENIX_WAIT_S = 300.0
COUNT = "{projects{edges{node{recordCount}}}}"


def as_json(body: bytes) -> bytes:
    """The request in OTLP's JSON, where ids are hex."""
    document: dict[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in span.keys() & {"traceId", "spanId", "parentSpanId"}:
                    span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(document).encode()


def measured(bodies: list[bytes], encoding: str, folder: Path) -> tuple[float, float, float]:
    """CPU seconds of decoding, of acknowledging, and of taking into the ledger as well."""
    decode: Callable[[bytes], object] = (
        ExportTraceServiceRequest.FromString if encoding == PROTOBUF else orjson.loads
    )

    def decode_all() -> None:
        for body in bodies:
            decode(body)

    with Inbox(folder / "inbox", max_bytes=2**30) as inbox:
        intake = Intake(Configuration(), time.time_ns)
        settler = Settler(folder / "l.duckdb", inbox, Configuration())

        def acknowledge() -> None:
            for body in bodies:
                inbox.put(intake.take(TRACES, body, encoding, "benchmark").arrival).result()

        def settle() -> None:
            assert settler.settle().new == len(bodies) * SPANS_PER_REQUEST

        decoded, acknowledged, settled = cpu_s(decode_all), cpu_s(acknowledge), cpu_s(settle)
    return decoded, acknowledged, acknowledged + settled


def report(encoding: str, runs: list[tuple[float, float, float]], spans: int) -> float:
    """Print the medians; CPU seconds until in the ledger."""
    decoded, acknowledged, settled = (statistics.median(run) for run in zip(*runs, strict=True))
    for what, seconds in (
        ("decoded", decoded),
        ("acknowledged", acknowledged),
        ("in the ledger", settled),
    ):
        print(
            f"{encoding:>8} {what:>13}: {spans / seconds:>9,.0f} spans/s/core"
            f"  {seconds / decoded:7.1f} x decoding",
            flush=True,
        )
    return settled


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def process_cpu_s(pid: int) -> float:
    """CPU seconds of a process so far, its own and the system's for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored_by_phoenix(url: str) -> int:
    """Spans that its server answers for by now; -1 while it answers nothing."""
    try:
        answer = httpx.post(f"{url}/graphql", json={"query": COUNT}, timeout=60).json()
    except (httpx.HTTPError, ValueError):
        return -1
    projects = [edge["node"]["recordCount"] for edge in answer["data"]["projects"]["edges"]]
    return sum(projects)


def wait_for(url: str, count: int) -> None:
    deadline = time.monotonic() + PHOENIX_WAIT_S
    while stored_by_phoenix(url) < count:
        if time.monotonic() > deadline:
            sys.exit(f"phoenix does not answer for {count:,} spans after {PHOENIX_WAIT_S:.0f} s")
        time.sleep(0.5)


def phoenix_cpu_s(python: str, bodies: list[bytes], folder: Path) -> float:
    """CPU seconds of a new server from the first batch until all spans can be asked for."""
    port = free_port()
    environment = os.environ | {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [python, "-m", "phoenix.server.main", "serve"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, env=environment, cwd=folder, **quiet) as process:
        try:
            wait_for(url, 0)
            before = process_cpu_s(process.pid)
            for body in bodies:
                headers = {"content-type": "application/x-protobuf"}
                answer = httpx.post(f"{url}/v1/traces", content=body, headers=headers, timeout=60)
                while answer.status_code == 503:
                    time.sleep(0.5)
                    answer = httpx.post(
                        f"{url}/v1/traces", content=body, headers=headers, timeout=60
                    )
                answer.raise_for_status()
            wait_for(url, len(bodies) * SPANS_PER_REQUEST)
            return process_cpu_s(process.pid) - before
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--phoenix", metavar="PYTHON")
    arguments = parser.parse_args()
    protobuf = [request(number) for number in range(arguments.requests)]
    bodies = {PROTOBUF: protobuf, JSON: [as_json(body) for body in protobuf]}
    spans = arguments.requests * SPANS_PER_REQUEST
    settled = {}
    print(f"{spans:,} spans in {arguments.requests} requests, {arguments.rounds} rounds")
    for encoding, sent in bodies.items():
        runs = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measured(sent, encoding, Path(folder)))
        settled[encoding] = report(encoding, runs, spans)
    if arguments.phoenix:
        with tempfile.TemporaryDirectory() as folder:
            other = phoenix_cpu_s(arguments.phoenix, protobuf, Path(folder))
        print(
            f" phoenix      can ask for: {spans / other:>9,.0f} spans/s/core"
            f"  {other / settled[PROTOBUF]:7.1f} x ours in the ledger"
        )
    print(f"load of the machine {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
