"""A real receiver in a process of its own, and requests to send to it."""

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.ledger import open_for_reading

START_S = 60.0
SETTLE_S = 60.0
BEGIN_NS = 1_790_000_000_000_000_000


class Receiver:
    """`gpuledger receive` on free ports."""

    def __init__(self, ledger_path: Path, *options: str) -> None:
        self.ledger_path = ledger_path
        command = [sys.executable, "-m", "gpuledger.main", "receive", "--ledger", ledger_path]
        command += ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        doors = dict(self._doors())
        self.http = f"http://{doors['HTTP']}"
        self.grpc = doors["gRPC"]

    def _doors(self) -> Iterator[tuple[str, str]]:
        assert self.process.stderr is not None
        while len([line for line in self.said if "receiving" in line]) < 2:
            line = self.process.stderr.readline()
            self.said.append(line)
            assert line, f"the receiver ended: {''.join(self.said)}"
            if found := re.search(r"receiving OTLP/(\w+) on (\S+)", line):
                yield found[1], found[2]

    def stop(self) -> int:
        """Its exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_S)

    def kill(self) -> None:
        """End it without a chance to do anything."""
        self.process.kill()
        self.process.wait(START_S)
        if self.process.stderr is not None:
            self.process.stderr.close()

    def health(self) -> dict[str, object]:
        """What it says of itself."""
        found: dict[str, object] = httpx.get(f"{self.http}/healthz").json()
        return found

    def wait_until_settled(self) -> None:
        """Return once nothing waits for the ledger."""
        deadline = time.monotonic() + SETTLE_S
        while (health := self.health())["inbox_requests"]:
            assert time.monotonic() < deadline, health
            time.sleep(0.1)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Receiver]]:
    """Starts receivers that end with the test."""
    with contextlib.ExitStack() as stack:

        def started(*options: str, ledger_path: Path = tmp_path / "live.duckdb") -> Receiver:
            receiver = Receiver(ledger_path, *options)
            stack.callback(receiver.kill)
            return receiver

        yield started


@pytest.fixture(scope="module")
def one_mib_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A receiver of requests up to 1 MiB."""
    receiver = Receiver(tmp_path_factory.mktemp("live") / "l.duckdb", "--max-body", "1")
    yield receiver
    receiver.kill()


@pytest.fixture(scope="session")
def request_of() -> Callable[..., ExportTraceServiceRequest]:
    """Makes an export request with a call for each number, each in a trace of its own."""
    return _request_of


@pytest.fixture(scope="session")
def calls_in() -> Callable[[Path], list[tuple[int, int]]]:
    """Reads number and output tokens of each call of a ledger, in order."""
    return _calls_in


def _request_of(
    numbers: range, *, tokens: int = 7, note: Callable[[], str] | None = None
) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    scope = resource.scope_spans.add()
    for number in numbers:
        span = scope.spans.add(
            trace_id=number.to_bytes(16),
            span_id=number.to_bytes(8),
            name="chat llama",
            start_time_unix_nano=BEGIN_NS + number * 10**6,
            end_time_unix_nano=BEGIN_NS + number * 10**6 + 10**9,
        )
        values: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "llama",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": tokens,
        }
        if note is not None:
            values["note"] = note()
        for key, value in values.items():
            attribute = span.attributes.add(key=key)
            if isinstance(value, int):
                attribute.value.int_value = value
            else:
                attribute.value.string_value = value
    return request


def _calls_in(path: Path) -> list[tuple[int, int]]:
    with open_for_reading(path, wait_s=30.0) as ledger:
        rows = ledger.connection.execute(
            "select trace_id, output_tokens from calls order by trace_id"
        ).fetchall()
    return [(int(trace_id, 16), tokens) for trace_id, tokens in rows]
