"""Spans a second and core: protobuf decoding alone, decoding to records, and ingest into a file.

Run `python benchmarks/ingest_otlp.py [REQUESTS] [ROUNDS]`. The three run one after the other in
each round, on the same bytes, in CPU seconds of all threads; the medians are printed with their
ratios. A trace is three spans: an HTTP route, a client's chat with 15 GenAI attributes, and the
engine's view of it, so that a third of the spans become calls.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from ingest.config import Configuration
from ingest.deliver import deliver
from ingest.files import open_sources
from ingest.ledger import open_for_writing
from ingest.readers import reader_named

TRACES_PER_REQUEST = 170
NS_PER_S = 1_000_000_000
BEGIN = 1_790_000_000 * NS_PER_S

Value = str | int | float | bool
RESOURCE: dict[str, Value] = {
    "service.name": "shop",
    "service.instance.id": "shop-7f9c",
    "deployment.environment.name": "production",
    "k8s.namespace.name": "search",
}


def attribute(name: str, value: Value) -> KeyValue:
    if isinstance(value, bool):
        return KeyValue(key=name, value=AnyValue(bool_value=value))
    if isinstance(value, int):
        return KeyValue(key=name, value=AnyValue(int_value=value))
    if isinstance(value, float):
        return KeyValue(key=name, value=AnyValue(double_value=value))
    return KeyValue(key=name, value=AnyValue(string_value=value))


def chat_attributes(number: int) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "llama-3.1-8b",
        "gen_ai.response.model": "llama-3.1-8b",
        "gen_ai.response.id": f"chatcmpl-{number}",
        "gen_ai.request.max_tokens": 512,
        "gen_ai.request.temperature": 0.7,
        "gen_ai.request.top_p": 0.95,
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 900 + number % 100,
        "gen_ai.usage.output_tokens": 100 + number % 50,
        "gen_ai.usage.cache_read.input_tokens": 256,
        "gen_ai.conversation.id": f"conversation-{number // 8}",
        "gen_ai.response.time_to_first_chunk": 0.25,
        "server.address": "vllm.internal",
    }


def engine_attributes(number: int) -> dict[str, Value]:
    return {
        "gen_ai.request.id": f"chatcmpl-{number}",
        "gen_ai.usage.prompt_tokens": 900 + number % 100,
        "gen_ai.usage.completion_tokens": 100 + number % 50,
        "gen_ai.latency.time_in_queue": 0.05,
        "gen_ai.latency.time_in_model_prefill": 0.2,
        "gen_ai.latency.time_in_model_decode": 1.5,
        "gen_ai.latency.time_to_first_token": 0.25,
        "gen_ai.latency.e2e": 1.75,
    }


def trace(number: int) -> Iterator[WireSpan]:
    begin = BEGIN + number * 20_000_000
    layers: tuple[tuple[str, int, dict[str, Value]], ...] = (
        ("POST /ask", 2, {"http.route": "/ask", "http.request.method": "POST"}),
        ("chat llama-3.1-8b", 3, chat_attributes(number)),
        ("llm_request", 2, engine_attributes(number)),
    )
    for depth, (name, kind, attributes) in enumerate(layers):
        yield WireSpan(
            trace_id=(number + 1).to_bytes(16, "big"),
            span_id=(number * 3 + depth + 1).to_bytes(8, "big"),
            parent_span_id=(number * 3 + depth).to_bytes(8, "big") if depth else b"",
            name=name,
            kind=kind,
            start_time_unix_nano=begin + depth * 1_000_000,
            end_time_unix_nano=begin + 2 * NS_PER_S - depth * 1_000_000,
            attributes=[attribute(key, value) for key, value in attributes.items()],
        )


def request(number: int) -> bytes:
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    resource_spans.resource.attributes.extend(attribute(k, v) for k, v in RESOURCE.items())
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "benchmark"
    for index in range(TRACES_PER_REQUEST):
        scope_spans.spans.extend(trace(number * TRACES_PER_REQUEST + index))
    return message.SerializeToString()


def cpu_s(work: Callable[[], None]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def measured(requests: list[bytes], folder: Path) -> tuple[float, float, float]:
    """CPU seconds of decoding, of reading into records, of ingesting."""
    path = folder / "spans.pb"
    path.write_bytes(b"".join(requests))
    (source,) = open_sources([str(path)])
    reader = reader_named("otlp-protobuf")

    def decode() -> None:
        for body in requests:
            ExportTraceServiceRequest.FromString(body)

    def read() -> None:
        for _ in reader.read(source):
            pass

    def ingest() -> None:
        with open_for_writing(folder / "l.duckdb") as ledger:
            counts = deliver(ledger, source, reader, Configuration())
        assert counts.new == len(requests) * TRACES_PER_REQUEST * 3

    return cpu_s(decode), cpu_s(read), cpu_s(ingest)


def main(request_count: int = 60, rounds: int = 3) -> None:
    requests = [request(number) for number in range(request_count)]
    span_count = request_count * TRACES_PER_REQUEST * 3
    runs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measured(requests, Path(folder)))
    decode_s, read_s, ingest_s = (statistics.median(run) for run in zip(*runs, strict=True))
    print(f"{span_count:,} spans, median of {rounds} rounds, CPU seconds of all threads")
    for name, seconds in (("decode", decode_s), ("read", read_s), ("ingest", ingest_s)):
        print(
            f"{name:>7}: {span_count / seconds:>9,.0f} spans/s/core"
            f"  {seconds / decode_s:6.2f} × decoding  {seconds / read_s:5.2f} × reading"
        )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
