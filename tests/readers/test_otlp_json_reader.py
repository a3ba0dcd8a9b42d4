"""OTLP JSON in the forms that exporters write: ids, numbers, enums, case."""

import json

import pytest

from ingest.calls.timing import EARLIEST_AT, LATEST_AT
from ingest.records import Span, SpanEvent

SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "chat m",
}


def request(*spans: object, **resource: object) -> str:
    scope_spans = {"scopeSpans": [{"spans": list(spans)}], **resource}
    return json.dumps({"resourceSpans": [scope_spans]}, indent=1)


def test_every_field_of_a_span_is_read(take_file) -> None:
    root, call = take_file("otlp.json", "otlp-json").spans
    assert root == Span(
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        name="POST /chat",
        kind="server",
        started_at=1790000000000000001,
        ended_at=1790000002000000002,
        status="ok",
        service="shop",
        scope="shop.chat",
        resource={"service.name": "shop"},
        events=[],
    )
    assert call == Span(
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="00bad8924f18a40d",
        parent_span_id="b7ad6b7169203331",
        name="chat m",
        kind="client",
        started_at=1790000000500000000,
        ended_at=1790000001500000000,
        status="error",
        status_message="out of luck",
        service="shop",
        scope="shop.chat",
        attributes={
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.request.temperature": 0.0,
            "gen_ai.request.stream": True,
            "gen_ai.response.finish_reasons": ["stop"],
            "nested": {"a": 1},
            "nothing": None,
        },
        resource={"service.name": "shop"},
        events=[
            SpanEvent(name="exception", at=1790000001000000000, attributes={"exception.type": "E"}),
            SpanEvent(name="without a time"),
        ],
    )


def test_lines_are_read_one_by_one_and_only_the_bad_ones_are_rejected(take_file) -> None:
    taken = take_file("otlp.jsonl", "otlp-jsonl")
    assert [span.name for span in taken.spans] == ["first", "second", "fourth"]
    assert [(reject.position, reject.reason.split(":")[0]) for reject in taken.rejects] == [
        (
            "line 2, resourceSpans[0].scopeSpans[0].spans[1]",
            "id 'xyz' is neither 32 hex digits nor base64 of 16 bytes",
        ),
        ("line 3", "no valid JSON"),
    ]


@pytest.mark.parametrize("parent", ["", None, "0000000000000000", "AAAAAAAAAAA="])
def test_a_parent_id_that_is_empty_or_zero_makes_a_root(take, parent: object) -> None:
    (span,) = take(request({**SPAN, "parentSpanId": parent}), "otlp-json").spans
    assert span.parent_span_id is None


def test_a_trace_id_of_64_bits_gets_leading_zeros(take) -> None:
    (span,) = take(request({**SPAN, "traceId": "8448EB211C80319C"}), "otlp-json").spans
    assert span.trace_id == "00000000000000008448eb211c80319c"


@pytest.mark.parametrize(
    "bad",
    [
        {"traceId": "0af7"},
        {"traceId": 12},
        {"spanId": "b7ad6b716920333z"},
        {"parentSpanId": "None"},
        {"startTimeUnixNano": "yesterday"},
        {"startTimeUnixNano": 0.5},
        {"endTimeUnixNano": "1" * 41},
        {"attributes": "none"},
        {"attributes": [{"value": {"stringValue": "without a key"}}]},
        {"events": [1]},
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbours(take, bad: dict[str, object]) -> None:
    good = {**SPAN, "spanId": "0000000000000002"}
    taken = take(request({**SPAN, **bad}, good), "otlp-json")
    assert [span.span_id for span in taken.spans] == ["0000000000000002"]
    assert [reject.position for reject in taken.rejects] == [
        "resourceSpans[0].scopeSpans[0].spans[0]"
    ]


def test_a_count_is_kept_in_the_type_in_which_it_was_sent(take) -> None:
    sent = [
        {"key": "a", "value": {"stringValue": "120"}},
        {"key": "b", "value": {"doubleValue": 120.0}},
        {"key": "c", "value": {"intValue": 120}},
        {"key": "d", "value": {"intValue": "many"}},
        {"key": "e", "value": {"doubleValue": "NaN"}},
        {"key": "f", "value": {"intValue": "99999999999999999999"}},
        {"key": "g", "value": {"bytesValue": "AAE="}},
        {"key": "h", "value": 120},
    ]
    (span,) = take(request({**SPAN, "attributes": sent}), "otlp-json").spans
    assert span.attributes == {
        "a": "120",
        "b": 120.0,
        "c": 120,
        "d": "many",
        "e": "NaN",
        "f": "99999999999999999999",
        "g": "AAE=",
        "h": 120,
    }


@pytest.mark.parametrize(
    ("sent", "kept"), [(3, "client"), ("3", "client"), ("CLIENT", "client"), (9, "unspecified")]
)
def test_a_kind_is_a_number_or_a_name(take, sent: object, kept: str) -> None:
    (span,) = take(request({**SPAN, "kind": sent}), "otlp-json").spans
    assert span.kind == kept


def test_a_clock_that_was_never_set_is_kept_as_the_earliest_instant(take) -> None:
    year_one = {"startTimeUnixNano": "11651379494838206464", "endTimeUnixNano": "0"}
    (span,) = take(request({**SPAN, **year_one}), "otlp-json").spans
    assert (span.started_at, span.ended_at) == (EARLIEST_AT, None)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (-1, -1),
        ("-62135596800000000000", EARLIEST_AT),
        (-62135596800000000000, EARLIEST_AT),
        ("253402300799000000000", LATEST_AT),
        (253402300799000000000, LATEST_AT),
        ("99999999999999999999", LATEST_AT),
    ],
)
def test_an_instant_that_the_ledger_cannot_hold_keeps_its_span(
    take, sent: object, kept: int
) -> None:
    times = {"startTimeUnixNano": sent, "events": [{"name": "e", "timeUnixNano": sent}]}
    taken = take(request({**SPAN, **times}), "otlp-json")
    (span,) = taken.spans
    assert (span.started_at, span.events[0].at, taken.rejects) == (kept, kept, [])


def test_a_span_without_ids_gets_the_same_ids_each_time(take) -> None:
    nameless = {"name": "chat m", "traceId": "0" * 32, "spanId": "0" * 16}
    other = {**nameless, "name": "chat n"}
    first, again, different = take(request(nameless, nameless, other), "otlp-json").spans
    assert (first.trace_id, first.span_id) == (again.trace_id, again.span_id)
    assert first.trace_id != different.trace_id
    assert (len(first.trace_id), len(first.span_id)) == (32, 16)


def test_a_span_nested_without_a_bound_is_rejected_and_its_neighbour_is_read(take) -> None:
    value: object = {"stringValue": "x"}
    for _ in range(100):
        value = {"arrayValue": {"values": [value]}}
    deep = {**SPAN, "attributes": [{"key": "deep", "value": value}]}
    taken = take(request(deep, {**SPAN, "spanId": "0000000000000002"}), "otlp-json")
    assert len(taken.spans) == 1
    assert taken.rejects[0].reason == "a value is nested deeper than 64 levels"


@pytest.mark.parametrize(
    ("document", "position"),
    [
        ({"resourceSpans": 1}, "resourceSpans"),
        ({"resourceSpans": [1]}, "resourceSpans[0]"),
        ({"resourceSpans": [{"scopeSpans": [None]}]}, "resourceSpans[0].scopeSpans[0]"),
        (
            {"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]},
            "resourceSpans[0].scopeSpans[0].spans",
        ),
    ],
)
def test_a_structure_of_another_kind_is_rejected_where_it_stands(
    take, document: object, position: str
) -> None:
    taken = take(json.dumps(document, indent=1), "otlp-json")
    assert (taken.spans, [reject.position for reject in taken.rejects]) == ([], [position])


def test_a_resource_that_cannot_be_read_costs_the_resource_alone(take) -> None:
    taken = take(request(SPAN, resource={"attributes": 1}), "otlp-json")
    assert [span.resource for span in taken.spans] == [{}]
    assert [reject.position for reject in taken.rejects] == ["resourceSpans[0].resource"]


def test_an_empty_request_has_no_records(take) -> None:
    taken = take('{"resourceSpans": []}\n{}\n', "otlp-jsonl")
    assert (taken.spans, taken.rejects) == ([], [])
