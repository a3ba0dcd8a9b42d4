"""Metrics of engines reach the ledger live: sent as OTLP, or scraped."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar, cast

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc

from ingest.errors import ConfigurationError
from ingest.ledger import open_for_reading
from ingest.receiver.reception import Reception
from ingest.receiver.scraping import Scraping, Target, parse_target

NOON = 1_791_460_800_000_000_000
PROTOBUF = {"content-type": "application/x-protobuf"}
WAIT_S = 60.0


def request_of(*values: float, name: str = "vllm:num_requests_running") -> Any:
    """An export request with a point a second; one of 0 seconds has no time."""
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name=name)
    for second, value in enumerate(values):
        at = 0 if value < 0 else NOON + second * 10**9
        metric.gauge.data_points.add(time_unix_nano=at, as_double=value)
    return request


def samples_in(path: Path) -> list[tuple[Any, ...]]:
    with open_for_reading(path) as ledger:
        return ledger.connection.execute(
            "select s.metric, s.instance, s.pool_reported, n.value from engine_samples as n "
            "join engine_series as s using (series_id) order by n.sampled_at, s.metric"
        ).fetchall()


def test_metrics_sent_by_http_and_grpc_are_there_once_though_the_receiver_is_killed(
    start: Callable[..., Any],
) -> None:
    receiver = start()
    body = request_of(1, 2, -1).SerializeToString()
    answer = httpx.post(f"{receiver.http}/v1/metrics", content=body, headers=PROTOBUF)
    told = metrics_service_pb2.ExportMetricsServiceResponse.FromString(answer.content)
    assert (answer.status_code, told.partial_success.rejected_data_points) == (200, 1)
    assert "a data point without a time" in told.partial_success.error_message
    with grpc.insecure_channel(receiver.grpc) as channel:
        stub = metrics_service_pb2_grpc.MetricsServiceStub(channel)
        again = stub.Export(request_of(1, 2))
    assert again.partial_success.rejected_data_points == 0
    point = '{"timeUnixNano": "1791460809000000000", "asDouble": 9}'
    other = '{"name": "up", "gauge": {"dataPoints": [{}, {}]}}'
    gauge = f'{{"name": "vllm:num_requests_running", "gauge": {{"dataPoints": [{point}]}}}}'
    text = f'{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": [{gauge}, {other}]}}]}}]}}'
    headers = {"content-type": "application/json"}
    sent = httpx.post(f"{receiver.http}/v1/metrics", content=text, headers=headers)
    assert (sent.status_code, sent.json()) == (200, {})
    receiver.kill()
    later = start(ledger_path=receiver.ledger_path)
    later.wait_until_settled()
    later.stop()
    assert [row[3] for row in samples_in(receiver.ledger_path)] == [1.0, 2.0, 9.0]
    with open_for_reading(receiver.ledger_path) as ledger:
        counts = ledger.connection.execute(
            "select sum(read_count), sum(new_count), sum(duplicate_count), sum(rejected_count), "
            "sum(ignored_count) from deliveries"
        ).fetchall()
    assert counts == [(6, 3, 2, 1, 2)]


@pytest.mark.parametrize(
    ("content", "media_type"),
    [(b"\xff\xff", "x-protobuf"), (b"[1]", "json"), (b'{"resourceSpans": []}', "json")],
)
def test_a_body_that_is_no_request_of_metrics_is_refused(
    one_mib_receiver: Any, content: bytes, media_type: str
) -> None:
    headers = {"content-type": f"application/{media_type}"}
    answer = httpx.post(f"{one_mib_receiver.http}/v1/metrics", content=content, headers=headers)
    assert answer.status_code == 400
    assert b"no export request of metrics" in answer.content


class _Engine(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.path == "/metrics"
        self.send_response(200 if is_known else 404)
        self.end_headers()
        if is_known:
            self.wfile.write(b"llamacpp:requests_processing 1\nprocess_open_fds 9\n")

    def log_message(self, *_told: object) -> None: ...


@pytest.fixture
def engine_address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Engine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_engines_are_scraped_and_one_that_does_not_answer_is_told(
    start: Callable[..., Any], engine_address: str
) -> None:
    receiver = start(
        *("--scrape", f"chat/cpu-0=http://{engine_address}"),
        *("--scrape", f"http://user:secret@{engine_address}/nothing"),
        *("--scrape-every", "0.2"),
    )
    deadline = time.monotonic() + WAIT_S
    while not (trouble := receiver.health()["scrape_trouble"]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert list(trouble) == [engine_address]
    assert trouble[engine_address] == "the answer is 404"
    receiver.stop()
    found = samples_in(receiver.ledger_path)
    assert set(found) == {("running_calls", "cpu-0", "chat", 1.0)}


def test_a_scrape_that_the_disk_does_not_take_in_time_is_told_as_that(engine_address: str) -> None:
    class Slow:
        counted: ClassVar[list[str]] = []

        def take_scrape(self, *_taken: object) -> tuple[None, "Future[None]"]:
            stored: Future[None] = Future()
            stored.set_exception(TimeoutError())
            return None, stored

        def count(self, _door: str, outcome: str) -> None:
            self.counted.append(outcome)

    target = Target(url=f"http://{engine_address}/metrics", replica="cpu-0")
    scraping = Scraping((target,), cast(Reception, Slow()), every_s=WAIT_S)
    with scraping.going_on():
        deadline = time.monotonic() + WAIT_S
        while not scraping.trouble:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    said = "it cannot be stored: the disk took more than 30 s"
    assert scraping.trouble == {"cpu-0": said}
    assert Slow.counted == ["busy"]


def test_a_target_is_a_url_with_or_without_a_name() -> None:
    assert parse_target("http://10.0.0.7:8000") == Target(
        url="http://10.0.0.7:8000/metrics", replica="10.0.0.7:8000"
    )
    assert parse_target("vllm-0=https://u:p@host/a?b=c") == Target(
        url="https://u:p@host/a?b=c", replica="vllm-0"
    )
    assert parse_target("https://u:p@host/a").replica == "host"
    assert parse_target("chat/vllm-0=http://h:1/") == Target(
        url="http://h:1/metrics", replica="vllm-0", pool="chat"
    )
    for wrong in ("10.0.0.7:8000", "a/b/c=http://h", "=http://h", "http://"):
        with pytest.raises(ConfigurationError, match="is nothing to scrape; write URL"):
            parse_target(wrong)
