"""Zipkin's JSON: microseconds, tags as text, and two halves of one span."""

import json
from pathlib import Path

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.readers import recognise
from ingest.records import SpanEvent

TRACE = "0000000000000000a1b2c3d4e5f60718"
CLIENT = "0000000000000001"


def test_every_field_of_a_span_is_read(take_file) -> None:
    taken = take_file("zipkin.json", "zipkin")
    call = taken.spans[2]
    assert taken.rejects == []
    assert (call.trace_id, call.span_id, call.kind) == (TRACE, "0000000000000002", "client")
    assert (call.started_at, call.ended_at) == (1790000000_020000000, 1790000000_720000000)
    assert (call.status, call.status_message) == ("error", "no luck")
    assert (call.service, call.resource) == ("gateway", {"service.name": "gateway"})
    assert call.events == [SpanEvent(name="first token", at=1790000000_120000000)]
    assert call.attributes["gen_ai.usage.input_tokens"] == "40"


def test_the_halves_of_a_shared_span_stand_one_below_the_other(take_file) -> None:
    client, server, call = take_file("zipkin.json", "zipkin").spans
    assert (client.span_id, client.parent_span_id) == (CLIENT, None)
    assert server.span_id != CLIENT
    assert (server.parent_span_id, call.parent_span_id) == (CLIENT, server.span_id)
    (derived,) = derive_trace([client, server, call], Configuration()).calls
    assert (derived.endpoint, derived.model) == ("/chat", "m")
    assert (derived.uncached_input_tokens, derived.visible_output_tokens) == (40, 7)


def test_a_span_a_line_a_trace_and_a_list_of_traces_are_the_same_spans(
    take, take_file, fixtures: Path
) -> None:
    spans = json.loads((fixtures / "zipkin.json").read_text())
    expected = take_file("zipkin.json", "zipkin").spans
    lines = "\n".join(json.dumps(span) for span in spans)
    assert take(lines, "zipkin").spans == expected
    assert take(json.dumps([spans]), "zipkin").spans == expected
    assert take(json.dumps([spans[:1], spans[1:]]), "zipkin").spans == expected


def test_a_list_of_traces_is_recognised(source_of, fixtures: Path) -> None:
    traces = json.dumps([json.loads((fixtures / "zipkin.json").read_text())]).encode()
    assert recognise(source_of(traces)).name == "zipkin"
    assert recognise(source_of(b"\xef\xbb\xbf" + traces)).name == "zipkin"


def test_a_server_half_without_a_client_half_keeps_its_id(take) -> None:
    spans = [
        {"traceId": "a", "id": "1", "shared": True, "localEndpoint": {"serviceName": "edge"}},
        {"traceId": "a", "id": "2", "parentId": "1", "localEndpoint": {"serviceName": "edge"}},
    ]
    root, child = take(json.dumps(spans), "zipkin").spans
    assert (root.span_id, child.parent_span_id) == (CLIENT, CLIENT)
    assert (root.kind, root.started_at, root.ended_at) == ("internal", None, None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"traceId": "zebra"}, "id 'zebra'"),
        ({"timestamp": "noon"}, "timestamp 'noon' is no count of microseconds"),
        ({"duration": 0.5}, "duration '0.5' is no count"),
        ({"tags": [1]}, "tags '[1]' is no object"),
        ({"annotations": {"a": 1}}, "is no list"),
        ({"annotations": [1]}, "no JSON object"),
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbour(
    take, bad: dict[str, object], reason: str
) -> None:
    spans = [{"traceId": "a", "id": "1", **bad}, {"traceId": "a", "id": "2"}]
    taken = take(json.dumps(spans), "zipkin")
    assert [span.span_id for span in taken.spans] == ["0000000000000002"]
    (reject,) = taken.rejects
    assert reject.position == "line 1, [0]"
    assert reason in reject.reason


def test_the_error_tag_and_the_code_of_an_exporter_tell_the_status(take) -> None:
    tags = [{"error": ""}, {"error": "false"}, {"otel.status_code": "OK"}, {}]
    spans = [{"traceId": "a", "id": str(n), "tags": each} for n, each in enumerate(tags, 1)]
    statuses = [span.status for span in take(json.dumps(spans), "zipkin").spans]
    assert statuses == ["error", "unset", "ok", "unset"]
