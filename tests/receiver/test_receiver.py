"""The receiver as senders see it: a real process, real exporters, and what reaches the ledger."""

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from gpuledger.main import main
from ingest.ledger import open_for_reading, open_for_writing

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
WAIT_S = 60.0
Receiver = Any
Start = Callable[..., Receiver]
RequestOf = Callable[..., ExportTraceServiceRequest]
CallsIn = Callable[[Path], list[tuple[int, int]]]


def post(receiver: Receiver, body: bytes, headers: dict[str, str]) -> httpx.Response:
    return httpx.post(f"{receiver.http}/v1/traces", content=body, headers=headers, timeout=60)


def exported_by(exporter: SpanExporter, count: int) -> None:
    """Send `count` model calls through the SDK."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    for _ in range(count):
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "llama",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 7,
        }
        with tracer.start_as_current_span("chat llama", attributes=attributes):
            pass
    provider.shutdown()


def test_calls_of_both_sdk_exporters_reach_the_ledger_and_a_stop_leaves_nothing_behind(
    start: Start, calls_in: CallsIn
) -> None:
    receiver = start()
    exported_by(HttpExporter(f"{receiver.http}/v1/traces", compression=Compression.Gzip), count=30)
    exported_by(GrpcExporter(receiver.grpc, insecure=True), count=20)
    assert receiver.stop() == 0
    assert [tokens for _, tokens in calls_in(receiver.ledger_path)] == [7] * 50


def test_the_same_request_again_by_the_other_door_and_as_json_adds_nothing(
    start: Start, request_of: RequestOf, calls_in: CallsIn
) -> None:
    receiver = start()
    request = request_of(range(1, 11))
    body = request.SerializeToString()
    as_json = _json_of(request_of, range(1, 11))
    answers = [
        post(receiver, body, PROTOBUF),
        post(receiver, gzip.compress(body), PROTOBUF | {"content-encoding": "gzip"}),
        post(receiver, as_json, JSON),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert not ExportTraceServiceResponse.FromString(answers[0].content).HasField("partial_success")
    assert answers[2].json() == {}
    receiver.wait_until_settled()
    assert calls_in(receiver.ledger_path) == [(number, 7) for number in range(1, 11)]


def test_a_bad_span_is_refused_by_name_and_its_neighbours_are_taken(
    start: Start, capsys: pytest.CaptureFixture[str], request_of: RequestOf, calls_in: CallsIn
) -> None:
    receiver = start()
    request = request_of(range(1, 4))
    request.resource_spans[0].scope_spans[0].spans[1].trace_id = b"short"
    answer = ExportTraceServiceResponse.FromString(
        post(receiver, request.SerializeToString(), PROTOBUF).content
    )
    assert answer.partial_success.rejected_spans == 1
    assert "spans[1]" in answer.partial_success.error_message
    receiver.wait_until_settled()
    assert calls_in(receiver.ledger_path) == [(1, 7), (3, 7)]
    with pytest.raises(SystemExit):
        main(["ask", "rejects", "--ledger", str(receiver.ledger_path), "--format", "json"])
    assert "spans[1]" in capsys.readouterr().out


def test_answered_requests_of_an_agent_are_calls_by_both_doors_and_other_logs_are_not(
    start: Start,
) -> None:
    receiver = start()
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    records.add(time_unix_nano=5 * 10**9).body.string_value = "GET /health"
    answered = records.add(time_unix_nano=10**18, event_name="claude_code.api_request")
    for key, count in (("input_tokens", 10), ("output_tokens", 7), ("duration_ms", 1_500)):
        answered.attributes.add(key=key).value.int_value = count
    body = request.SerializeToString()
    answer = httpx.post(f"{receiver.http}/v1/logs", content=body, headers=PROTOBUF, timeout=60)
    assert (answer.status_code, answer.content) == (200, b"")
    with grpc.insecure_channel(receiver.grpc) as channel:
        LogsServiceStub(channel).Export(request, timeout=60)
    as_json = httpx.post(f"{receiver.http}/v1/logs", content=b"{}", headers=JSON, timeout=60)
    assert (as_json.status_code, as_json.json()) == (200, {})
    receiver.wait_until_settled()
    with open_for_reading(receiver.ledger_path) as ledger:
        found = ledger.connection.execute(
            "select provider, input_tokens, output_tokens, ended_at - arrived_at from calls"
        ).fetchall()
    assert found == [("anthropic", 10, 7, 1_500_000_000)]


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
    [
        (b"\xff\xff\xff", PROTOBUF, 400, "no export request of traces"),
        (b"[1]", JSON, 400, "no JSON object"),
        (b'{"resourceMetrics": []}', JSON, 400, "no resourceSpans"),
        (b'{"resourceSpans": [', JSON, 400, "JSON"),
        (b"{}", {"content-type": "text/plain"}, 415, "send application/x-protobuf"),
        (b"{}", JSON | {"content-encoding": "br"}, 415, "send gzip"),
        (b"{}", JSON | {"content-encoding": "gzip"}, 400, "damaged gzip"),
        (gzip.compress(b"{}")[:-9], JSON | {"content-encoding": "gzip"}, 400, "truncated gzip"),
        (b" " * (2**20 + 1), JSON, 413, "more than 1,048,576 bytes"),
        (
            zlib.compress(b" " * 2**26, wbits=31),
            JSON | {"content-encoding": "gzip"},
            413,
            "bytes unpacked",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_body_that_is_no_request_is_refused_for_good_with_the_reason(
    one_mib_receiver: Receiver, body: bytes, headers: dict[str, str], status: int, reason: str
) -> None:
    answer = post(one_mib_receiver, body, headers)
    told = (
        Status.FromString(answer.content).message
        if headers == PROTOBUF
        else answer.json()["message"]
    )
    assert (answer.status_code, reason in told) == (status, True), told


def test_only_who_shows_a_token_may_send(
    start: Start, tmp_path: Path, request_of: RequestOf, calls_in: CallsIn
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("# senders\nfirst-token\nsecond-token\n")
    receiver = start("--token-file", str(tokens))
    body = request_of(range(1, 2)).SerializeToString()
    shown = [None, "Bearer wrong", "Basic first-token", "Bearer first-token", "bearer second-token"]
    answers = [
        post(receiver, body, PROTOBUF | ({} if token is None else {"authorization": token}))
        for token in shown
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 200, 200]
    exporter = GrpcExporter(
        receiver.grpc, insecure=True, headers=(("authorization", "Bearer first-token"),)
    )
    exported_by(exporter, count=1)
    receiver.wait_until_settled()
    assert len(calls_in(receiver.ledger_path)) == 2


def test_questions_and_imports_work_while_it_receives(
    start: Start,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request_of: RequestOf,
    calls_in: CallsIn,
) -> None:
    receiver = start()
    further = tmp_path / "further.json"
    further.write_bytes(_json_of(request_of, range(10_001, 10_501)))
    done = threading.Event()
    sent: list[int] = []

    def send() -> None:
        while not done.is_set():
            first = 1 + 20 * len(sent)
            body = request_of(range(first, first + 20)).SerializeToString()
            sent.append(post(receiver, body, PROTOBUF).status_code)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        codes = [
            _exit_code("ingest", str(further), "--ledger", str(receiver.ledger_path)),
            _exit_code("ask", "calls", "--ledger", str(receiver.ledger_path)),
            _exit_code("ask", "law", "--ledger", str(receiver.ledger_path)),
        ]
    finally:
        done.set()
        sender.join()
    receiver.wait_until_settled()
    assert (codes, set(sent)) == ([0, 0, 0], {200})
    numbers = [number for number, _ in calls_in(receiver.ledger_path)]
    assert numbers == [*range(1, 20 * len(sent) + 1), *range(10_001, 10_501)]


def test_a_receiver_to_which_nothing_comes_does_not_open_the_ledger(
    start: Start, request_of: RequestOf
) -> None:
    receiver = start()
    time.sleep(1.5)
    assert receiver.health()["settled_at"] is None
    post(receiver, request_of(range(1, 2)).SerializeToString(), PROTOBUF)
    settled_at = health_once(receiver, lambda health: health["settled_at"])["settled_at"]
    time.sleep(1.5)
    assert receiver.health()["settled_at"] == settled_at


def test_a_trouble_is_over_once_the_ledger_is_free_though_nothing_comes(
    start: Start, tmp_path: Path
) -> None:
    path = tmp_path / "live.duckdb"
    with open_for_writing(path):
        receiver = start(ledger_path=path)
        assert "in use by another process" in receiver.health()["trouble"]
    assert health_once(receiver, lambda health: not health["trouble"])["settled_at"]


def test_a_second_receiver_on_the_same_port_says_so(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver = start()
    address = receiver.http.removeprefix("http://")
    other = str(tmp_path / "other.duckdb")
    code = _exit_code("receive", "--ledger", other, "--http", address, "--grpc", "off")
    assert code == 4
    assert "choose another with --http" in capsys.readouterr().err


def health_once(receiver: Receiver, is_so: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """What the receiver says of itself as soon as `is_so` holds of it."""
    deadline = time.monotonic() + WAIT_S
    while not is_so(health := receiver.health()):
        assert time.monotonic() < deadline, health
        time.sleep(0.1)
    return health


def _exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(str(stopped.value.code))


def _json_of(request_of: RequestOf, numbers: range) -> bytes:
    """`request_of` as OTLP JSON writes it: ids in hex, integers as text."""
    request = request_of(numbers)
    spans = [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "name": span.name,
            "startTimeUnixNano": str(span.start_time_unix_nano),
            "endTimeUnixNano": str(span.end_time_unix_nano),
            "attributes": [
                {
                    "key": attribute.key,
                    "value": (
                        {"stringValue": attribute.value.string_value}
                        if attribute.value.HasField("string_value")
                        else {"intValue": str(attribute.value.int_value)}
                    ),
                }
                for attribute in span.attributes
            ],
        }
        for span in request.resource_spans[0].scope_spans[0].spans
    ]
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    resource = {"resource": {"attributes": [service]}, "scopeSpans": [{"spans": spans}]}
    return json.dumps({"resourceSpans": [resource]}).encode()
