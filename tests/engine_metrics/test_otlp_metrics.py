"""OTLP metrics become the same samples, in JSON and in protobuf."""

import io
import json
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from ingest.files import Source
from ingest.readers import reader_named, recognise
from ingest.records import Batch, Sample

NOON = 1_791_460_800_000_000_000
S = 10**9
BEGAN = {"startTimeUnixNano": str(NOON - 60 * S)}
AT = {"timeUnixNano": str(NOON)}


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


MODEL = {"attributes": [attribute("model_name", "llama"), attribute("engine", "0")]}
RUNNING = {"name": "vllm:num_requests_running", "gauge": {"dataPoints": [{**AT, **MODEL, "asDouble": 2.5}]}}  # fmt: skip # noqa: E501
TOKENS = {
    "name": "vllm:generation_tokens",
    "sum": {
        "dataPoints": [{**AT, **BEGAN, **MODEL, "asInt": "700"}],
        "aggregationTemporality": 2,
        "isMonotonic": True,
    },
}
GROWTH = {
    "name": "vllm:prompt_tokens_total",
    "sum": {
        "dataPoints": [{**AT, **BEGAN, **MODEL, "asInt": "70"}],
        "aggregationTemporality": "AGGREGATION_TEMPORALITY_DELTA",
        "isMonotonic": True,
    },
}
QUEUE = {
    "name": "vllm:request_queue_time_seconds",
    "histogram": {
        "dataPoints": [
            {**AT, **BEGAN, **MODEL, "count": "4", "sum": 0.5, "bucketCounts": ["4"],
             "exemplars": [{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "00f0"}]}
        ],
        "aggregationTemporality": 2,
    },
}  # fmt: skip
OTHER = {"name": "http.server.duration", "sum": {"dataPoints": [{**AT, "asInt": "1"}] * 3}}


def request(*metrics: Any) -> dict[str, Any]:
    resource = {"attributes": [attribute("service.instance.id", "10.0.0.7:8000")]}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": metrics}]}]}


def source_of(content: bytes) -> Source:
    return Source("metrics", lambda: io.BytesIO(content), size_bytes=len(content))


def read(content: bytes) -> Batch:
    source = source_of(content)
    (batch,) = recognise(source).read(source)
    return batch


def both(*metrics: Any) -> list[Batch]:
    asked = request(*metrics)
    message = ParseDict(json.loads(json.dumps(asked)), MetricsData(), ignore_unknown_fields=True)
    return [read(json.dumps(asked).encode()), read(message.SerializeToString())]


def without_exemplars(metric: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(metric))
    copy["histogram"]["dataPoints"][0].pop("exemplars")
    return copy


def values(batch: Batch) -> list[tuple[str, str, str, float | None, int | None]]:
    return [(s.metric, s.kind, s.name, s.value, s.began_at) for s in batch.samples]


def test_gauges_sums_and_histograms_are_the_same_in_both_forms() -> None:
    began = NOON - 60 * S
    metrics = (RUNNING, TOKENS, GROWTH, without_exemplars(QUEUE), OTHER)
    for batch in both(*metrics):
        assert values(batch) == [
            ("running_calls", "gauge", "vllm:num_requests_running", 2.5, None),
            ("output_tokens", "counter", "vllm:generation_tokens", 700.0, began),
            ("prompt_tokens", "delta", "vllm:prompt_tokens_total", 70.0, began),
            ("queue_s", "counter", "vllm:request_queue_time_seconds_sum", 0.5, began),
            ("queue_s_count", "counter", "vllm:request_queue_time_seconds_count", 4.0, began),
        ]
        assert {(s.at, s.model, s.instance) for s in batch.samples} == {
            (NOON, "llama", "10.0.0.7:8000")
        }
        assert (batch.ignored_count, list(batch.rejects)) == (3, [])
        assert batch.samples[0].labels == {
            "engine": "0",
            "model_name": "llama",
            "resource.service.instance.id": "10.0.0.7:8000",
        }


def test_exemplars_with_hex_ids_cost_nothing() -> None:
    batch = read(json.dumps(request(QUEUE)).encode())
    assert (len(batch.samples), list(batch.rejects)) == (2, [])


def test_a_point_that_is_damaged_is_rejected_and_its_neighbours_are_not() -> None:
    points = [{**AT, "asDouble": 1}, {"asDouble": 2}, {**AT, "asDouble": "x"}, 7]
    gauge = {"name": "vllm:num_requests_running", "gauge": {"dataPoints": points}}
    batch = read(json.dumps(request(gauge, {"name": "vllm:num_requests_waiting"})).encode())
    assert [sample.value for sample in batch.samples] == [1.0]
    metrics = "line 1, resourceMetrics[0].scopeMetrics[0].metrics"
    assert [(r.position, r.reason.partition(":")[0]) for r in batch.rejects] == [
        (f"{metrics}[0].gauge.dataPoints[1]", "a data point without a time"),
        (f"{metrics}[0].gauge.dataPoints[2]", "no valid data point"),
        (f"{metrics}[0].gauge.dataPoints[3]", "no object"),
        (f"{metrics}[1]", "a metric without data points"),
    ]


def test_a_point_without_a_value_and_nan_are_not_known() -> None:
    points = [{**AT, "flags": 1}, {**AT, "asDouble": "NaN"}, {**AT, "asDouble": "Infinity"}]
    gauge = {"name": "vllm:num_requests_running", "gauge": {"dataPoints": points}}
    for batch in both(gauge):
        assert [sample.value for sample in batch.samples] == [None, None, None]


def test_snake_case_and_several_lines_are_read() -> None:
    snake = {
        "resource_metrics": [
            {
                "scope_metrics": [
                    {
                        "metrics": [
                            {
                                "name": "sglang:num_running_reqs",
                                "gauge": {
                                    "data_points": [{"time_unix_nano": NOON, "as_double": 3.0}]
                                },
                            }
                        ]
                    }
                ]
            }
        ]
    }
    line = json.dumps(snake).encode()
    batch = read(line + b"\n" + line + b"\n{\n")
    assert [sample.value for sample in batch.samples] == [3.0, 3.0]
    assert [reject.position for reject in batch.rejects] == ["line 3"]


def test_messages_after_their_length_are_read_and_a_cut_one_is_told() -> None:
    message = ParseDict(request(RUNNING), MetricsData()).SerializeToString()
    framed = len(message).to_bytes(4, "big") + message
    batch = read(framed + framed + framed[:-3])
    assert [sample.value for sample in batch.samples] == [2.5, 2.5]
    assert ["truncated" in reject.reason for reject in batch.rejects] == [True, True]


def test_metrics_of_other_programs_alone_are_ignored_and_counted() -> None:
    for batch in both(OTHER):
        assert (list(batch.samples), list(batch.rejects), batch.ignored_count) == ([], [], 3)


def test_ranks_that_say_the_same_are_counted_once() -> None:
    points = [
        {**AT, "asDouble": 4, "attributes": [attribute("tp_rank", rank)]} for rank in ("0", "1")
    ]
    gauge = {"name": "sglang:num_running_reqs", "gauge": {"dataPoints": points}}
    for batch in both(gauge):
        assert [sample.value for sample in batch.samples] == [4.0]
        assert batch.ignored_count == 1


def test_both_readers_are_asked_by_name() -> None:
    for name in ("otlp-metrics",):
        assert reader_named(name).name == name
    assert isinstance(read(json.dumps(request(RUNNING)).encode()).samples[0], Sample)


def test_metrics_among_traces_in_one_file_are_taken_too() -> None:
    traces = b'{"resourceSpans": []}\n'
    batch = read(traces + json.dumps(request(RUNNING, OTHER)).encode() + b"\n")
    assert [sample.value for sample in batch.samples] == [2.5]
    assert (batch.ignored_count, list(batch.rejects)) == (3, [])
