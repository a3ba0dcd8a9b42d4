"""Jaeger's JSON: microseconds, typed tags, processes, references."""

import json
from pathlib import Path

import pytest

from ingest.calls.timing import EARLIEST_AT, LATEST_AT
from ingest.records import Span, SpanEvent


def test_every_field_of_a_span_is_read(take_file) -> None:
    root, call = take_file("jaeger.json", "jaeger-json").spans
    assert (root.kind, root.parent_span_id, root.service) == ("server", None, "edge")
    assert (root.started_at, root.ended_at) == (1790000000000001000, 1790000003000001000)
    assert call == Span(
        trace_id="00000000000000000000a1b2c3d4e5f6",
        span_id="0000000000000002",
        parent_span_id="0000000000000001",
        name="chat m",
        started_at=1790000001000000000,
        ended_at=1790000002500000000,
        status="error",
        status_message="no luck",
        service="shop",
        scope="shop.chat",
        attributes={
            "gen_ai.usage.input_tokens": 40,
            "gen_ai.request.stream": True,
            "gen_ai.request.temperature": 0.5,
            "otel.status_code": "ERROR",
            "otel.status_description": "no luck",
            "otel.scope.name": "shop.chat",
        },
        resource={"k8s.namespace.name": "search", "service.name": "shop"},
        events=[SpanEvent(name="retry", at=1790000001200000000, attributes={"attempt": 2})],
    )


def test_a_trace_without_a_wrapper_is_the_same_trace(take, take_file, fixtures: Path) -> None:
    (trace,) = json.loads((fixtures / "jaeger.json").read_text())["data"]
    wrapped = take_file("jaeger.json", "jaeger-json")
    assert take(json.dumps(trace), "jaeger-json").spans == wrapped.spans


def trace_of(**span: object) -> str:
    spans = [{"traceID": "a", "spanID": "1", **span}, {"traceID": "a", "spanID": "2"}]
    return json.dumps({"traceID": "a", "spans": spans, "processes": {}}, indent=1)


@pytest.mark.parametrize(
    "bad",
    [
        {"traceID": "zebra"},
        {"spanID": "12345678901234567"},
        {"startTime": "noon"},
        {"duration": 0.5},
        {"tags": {"span.kind": "server"}},
        {"tags": [{"value": 1}]},
        {"logs": [None]},
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbour(take, bad: dict[str, object]) -> None:
    taken = take(trace_of(**bad), "jaeger-json")
    assert [span.span_id for span in taken.spans] == ["0000000000000002"]
    assert [reject.position for reject in taken.rejects] == ["the trace.spans[0]"]


def test_an_error_tag_is_an_error_and_an_old_parent_field_is_read(take) -> None:
    tags = [{"key": "error", "type": "bool", "value": True}]
    first, _ = take(trace_of(tags=tags, parentSpanID="2"), "jaeger-json").spans
    assert (first.status, first.parent_span_id) == ("error", "0000000000000002")


def test_numbers_that_no_column_holds_stay_text(take) -> None:
    tags = [
        {"key": "large", "type": "int64", "value": "99999999999999999999"},
        {"key": "none", "type": "float64", "value": "NaN"},
        {"key": "word", "type": "int64", "value": "many"},
    ]
    first, _ = take(trace_of(tags=tags), "jaeger-json").spans
    assert first.attributes == {"large": "99999999999999999999", "none": "NaN", "word": "many"}


def test_an_answer_without_traces_has_no_records(take) -> None:
    taken = take('{"data": null, "total": 0}', "jaeger-json")
    assert (taken.spans, taken.rejects) == ([], [])


def test_something_that_is_no_trace_is_rejected(take) -> None:
    taken = take('{"data": [1, {"spans": 2}]}', "jaeger-json")
    assert [reject.position for reject in taken.rejects] == ["line 1, data[0]", "line 1, data[1]"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"startTime": -62135596800000000}, (EARLIEST_AT, EARLIEST_AT)),
        ({"startTime": "-62135596800000000"}, (EARLIEST_AT, EARLIEST_AT)),
        ({"startTime": 253402300799000000}, (LATEST_AT, LATEST_AT)),
        ({"startTime": 1_000_000, "duration": 1e30}, (1_000_000_000, LATEST_AT)),
    ],
)
def test_a_time_that_the_ledger_cannot_hold_keeps_its_span(
    take, sent: dict[str, object], kept: tuple[int, int]
) -> None:
    taken = take(trace_of(**{"duration": 5, **sent}), "jaeger-json")
    assert (taken.spans[0].started_at, taken.spans[0].ended_at) == kept
    assert taken.rejects == []
