"""Spans as plain objects: ids that are names, naive instants, attributes alone."""

import json

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.readers import recognise
from ingest.records import SpanEvent
from ingest.redact import Redaction

BARE = {
    "input": "my secret",
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "m",
    "gen_ai.usage.input_tokens": 97,
    "gen_ai.usage.output_tokens": 52,
}


def test_every_field_of_a_span_is_read(take_file) -> None:
    taken = take_file("flat-spans.json", "flat-spans")
    chat, tool = taken.spans
    assert taken.rejects == []
    assert (chat.name, chat.kind, chat.parent_span_id) == ("chat m", "client", None)
    assert (chat.started_at, chat.ended_at) == (1790841600_000000000, 1790841602_500000000)
    assert (chat.status, chat.status_message, chat.service) == ("error", "no luck", "shop")
    assert chat.events == [
        SpanEvent(name="retry", at=1790841601_000000000, attributes={"attempt": 2})
    ]
    assert (tool.trace_id, tool.span_id) == (chat.trace_id, "00000000000000aa")
    assert (tool.parent_span_id, tool.started_at) == (chat.span_id, None)


def test_a_name_in_the_place_of_an_id_is_always_the_same_id(take) -> None:
    def span(name: str) -> dict[str, object]:
        return {"trace_id": "t", "span_id": name, "attributes": {}}

    first, second, again = take(json.dumps([span("a"), span("b"), span("a")]), "flat-spans").spans
    assert first.span_id == again.span_id
    assert first.span_id != second.span_id
    assert {len(first.trace_id), len(first.span_id) * 2} == {32}


def test_bare_attributes_are_a_call_without_a_time(take, source_of) -> None:
    assert recognise(source_of(json.dumps(BARE).encode())).name == "flat-spans"
    (span,) = take(json.dumps(BARE), "flat-spans").spans
    (call,) = derive_trace([span], Configuration()).calls
    assert (call.model, call.uncached_input_tokens, call.visible_output_tokens) == ("m", 97, 52)
    assert (call.arrived_at, call.ended_at) == (None, None)
    assert "secret" not in str(Redaction(Configuration()).spans([span]))


def test_a_count_that_is_no_number_is_named(take) -> None:
    text = json.dumps({**BARE, "gen_ai.usage.input_tokens": float("nan")})
    (call,) = derive_trace(take(text, "flat-spans").spans, Configuration()).calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (9, 52)
    assert "input 'NaN' is no count; input estimated with" in (call.tokens_note or "")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"a": 1}, "no span: no trace_id, span_id and attributes"),
        ({"start_time": 7}, "start_time '7' is no instant as text"),
        ({"start_time": "noon"}, "'noon' is no instant"),
        ({"attributes": [1]}, "attributes '[1]' is no object"),
        ({"events": 7}, "events is no list but '7'"),
        ({"events": [7]}, "no JSON object but '7'"),
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbour(
    take, bad: dict[str, object], reason: str
) -> None:
    good = {"trace_id": "t", "span_id": "00000000000000aa", "attributes": {}}
    broken = bad if "a" in bad else {**good, **bad}
    taken = take(json.dumps({"trace_id": "t", "spans": [broken, good]}), "flat-spans")
    assert [span.span_id for span in taken.spans] == ["00000000000000aa"]
    (reject,) = taken.rejects
    assert reject.position == "line 1, spans[0]"
    assert reason in reject.reason
