"""OTLP protobuf: the same spans as JSON, and what a damaged file still gives."""

import gzip
import struct

import pytest
import zstandard
from google.protobuf.json_format import MessageToJson, Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.calls.timing import EARLIEST_AT, LATEST_AT
from ingest.errors import UnreadableSourceError
from ingest.readers import recognise
from ingest.readers.otlp import spans_from_request
from ingest.records import Span

TRACE_ID = bytes.fromhex("0af7651916cd43dd8448eb211c80319c")
TAG_OF_RESOURCE_SPANS = b"\x0a"


def traces(*names: str) -> TracesData:
    data = TracesData()
    resource_spans = data.resource_spans.add()
    service = resource_spans.resource.attributes.add(key="service.name")
    service.value.string_value = "shop"
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "shop.chat"
    for number, name in enumerate(names, 1):
        span = scope_spans.spans.add(trace_id=TRACE_ID, span_id=number.to_bytes(8, "big"))
        span.name = name
        span.start_time_unix_nano = 1790000000000000000 + number
        span.end_time_unix_nano = 1790000001000000000 + number
        span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 100 * number
    return data


def names(taken) -> list[str]:
    return [span.name for span in taken.spans]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (-62135596800000000000 % 2**64, EARLIEST_AT),
        (2**64 - 1, -1),
        (2**63, EARLIEST_AT),
        (2**63 - 1, LATEST_AT),
        (0, None),
    ],
)
def test_an_unsigned_time_that_the_ledger_cannot_hold_keeps_its_span(
    take, sent: int, kept: int | None
) -> None:
    data = traces("one")
    data.resource_spans[0].scope_spans[0].spans[0].start_time_unix_nano = sent
    taken = take(data.SerializeToString(), "otlp-protobuf")
    assert ([span.started_at for span in taken.spans], taken.rejects) == ([kept], [])


def test_protobuf_and_json_of_the_same_request_are_the_same_spans(take) -> None:
    data = traces("one", "two")
    span = data.resource_spans[0].scope_spans[0].spans[1]
    span.kind, span.status.code, span.status.message = 3, 2, "no luck"
    span.parent_span_id = (1).to_bytes(8, "big")
    for key, field, value in (
        ("text", "string_value", "x"),
        ("double", "double_value", 1.0),
        ("nan", "double_value", float("nan")),
        ("flag", "bool_value", True),
        ("bytes", "bytes_value", b"\x00\x01"),
    ):
        setattr(span.attributes.add(key=key).value, field, value)
    items = span.attributes.add(key="list").value.array_value.values
    items.add().string_value = "a"
    items.add().kvlist_value.values.add(key="k").value.int_value = 7
    span.attributes.add(key="nothing")
    span.events.add(name="retry", time_unix_nano=5).attributes.add(key="n").value.int_value = 2
    as_protobuf = take(data.SerializeToString(), "otlp-protobuf").spans
    as_json = take(MessageToJson(data), "otlp-json").spans
    assert as_protobuf == as_json
    assert as_protobuf[1].attributes == {
        "gen_ai.usage.input_tokens": 200,
        "text": "x",
        "double": 1.0,
        "nan": "NaN",
        "flag": True,
        "bytes": "AAE=",
        "list": ["a", {"k": 7}],
        "nothing": None,
    }


def test_the_receiver_gets_the_spans_of_a_request_and_its_rejects() -> None:
    request = ExportTraceServiceRequest.FromString(traces("good", "bad").SerializeToString())
    request.resource_spans[0].scope_spans[0].spans[1].trace_id = b"\x01\x02"
    batch = spans_from_request(request)
    assert batch.spans == [
        Span(
            trace_id=TRACE_ID.hex(),
            span_id="0000000000000001",
            name="good",
            started_at=1790000000000000001,
            ended_at=1790000001000000001,
            service="shop",
            scope="shop.chat",
            attributes={"gen_ai.usage.input_tokens": 100},
            resource={"service.name": "shop"},
            events=[],
        )
    ]
    assert [(reject.position, reject.reason) for reject in batch.rejects] == [
        ("resourceSpans[0].scopeSpans[0].spans[1]", "an id of 2 bytes, not 16")
    ]


def uint32_delimited(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(message)) + message for message in messages)


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def varint_delimited(*messages: bytes) -> bytes:
    return b"".join(varint(len(message)) + message for message in messages)


ONE, TWO = traces("one").SerializeToString(), traces("two").SerializeToString()


@pytest.mark.parametrize(
    "content",
    [
        ONE + TWO,
        gzip.compress(ONE + TWO),
        uint32_delimited(ONE, TWO),
        uint32_delimited(zstandard.compress(ONE), zstandard.compress(TWO)),
        uint32_delimited(
            *(MessageToJson(traces(name), indent=None).encode() for name in ("one", "two"))
        ),
        varint_delimited(ONE, TWO),
    ],
    ids=["in a row", "gzip", "uint32", "uint32 and zstd", "uint32 and JSON", "varint"],
)
def test_several_messages_are_read_however_they_are_delimited(
    take, source_of, content: bytes
) -> None:
    assert recognise(source_of(content)).name == "otlp-protobuf"
    taken = take(content, "otlp-protobuf")
    assert (names(taken), taken.rejects) == (["one", "two"], [])


@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_large_first_message_hides_nothing_from_recognition(source_of, count: int) -> None:
    padding = "x" * 100_000
    data = traces(*(f"{n} {padding}" for n in range(count))).SerializeToString()
    for content in (data, uint32_delimited(data), varint_delimited(data)):
        assert recognise(source_of(content)).name == "otlp-protobuf"


def test_logs_and_metrics_have_readers_of_their_own(source_of) -> None:
    logs = Parse(
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"5","body":{"stringValue":"x"}}]}]}]}',
        LogsData(),
    )
    metrics = Parse(
        '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","sum":{"dataPoints":[{"asInt":"1"}]}}]}]}]}',
        MetricsData(),
    )
    assert recognise(source_of(logs.SerializeToString())).name == "otlp-logs"
    assert recognise(source_of(metrics.SerializeToString())).name == "otlp-metrics"


def test_a_span_that_is_no_valid_protobuf_costs_itself_alone(take) -> None:
    content = traces("before", "broken", "after").SerializeToString()
    content = content.replace(b"broken", b"brok\xff\xff")
    taken = take(content, "otlp-protobuf")
    assert names(taken) == ["before", "after"]
    (reject,) = taken.rejects
    assert reject.position == "resourceSpans[0].scopeSpans[0].spans[1]"
    assert reject.reason.startswith("no valid Span, ")
    assert [span.service for span in taken.spans] == ["shop", "shop"]


def test_a_truncated_file_keeps_the_spans_before_its_end(take) -> None:
    content = traces("one", "two", "three").SerializeToString()[:-20]
    taken = take(content, "otlp-protobuf")
    assert names(taken) == ["one", "two"]
    assert [(reject.position, reject.reason) for reject in taken.rejects] == [
        ("resourceSpans[0].scopeSpans[0].spans[2]", "truncated: its end is missing"),
        ("resourceSpans[0]", "truncated: 20 bytes are missing"),
    ]


def test_garbage_after_a_message_is_rejected_where_it_begins(take) -> None:
    taken = take(ONE + b"\xff\xff\xff", "otlp-protobuf")
    assert names(taken) == ["one"]
    assert [reject.position for reject in taken.rejects] == ["resourceSpans[1]"]


def test_a_file_that_is_no_protobuf_is_unreadable(take) -> None:
    with pytest.raises(UnreadableSourceError, match="no OTLP protobuf"):
        take(b"\xfd\xfe\xff" * 100, "otlp-protobuf")


def test_a_span_without_ids_has_the_ids_of_its_json_twin(take) -> None:
    data = traces("one")
    span = data.resource_spans[0].scope_spans[0].spans[0]
    span.trace_id, span.span_id = b"", b""
    (from_protobuf,) = take(data.SerializeToString(), "otlp-protobuf").spans
    (from_json,) = take(MessageToJson(data), "otlp-json").spans
    assert from_protobuf == from_json


def test_a_batch_ends_early_where_its_texts_are_long(
    source_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.readers.reader.MAX_BATCH_CHARACTERS", 1_000)
    data = traces("one", "two", "three")
    for span in data.resource_spans[0].scope_spans[0].spans:
        span.attributes.add(key="input.value").value.string_value = "x" * 600
    source = source_of(data.SerializeToString())
    assert [batch.read_count for batch in recognise(source).read(source)] == [2, 1]


def test_a_large_file_is_given_in_batches_of_5000(source_of) -> None:
    source = source_of(traces(*(str(number) for number in range(12_001))).SerializeToString())
    sizes = [batch.read_count for batch in recognise(source).read(source)]
    assert sizes == [5_000, 5_000, 2_001]
