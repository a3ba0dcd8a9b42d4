"""SDK consoles: ids with 0x, instants in three forms, enums with numbers of their own."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.records import Span, SpanEvent
from ingest.redact import Redaction

TRACE = "0000000000000000000000000000a1b2"


def test_every_field_of_a_python_span_is_read(take_file) -> None:
    taken = take_file("otel-console.json", "otel-console")
    call, root = taken.spans
    assert taken.rejects == []
    assert (root.trace_id, root.parent_span_id, root.kind) == (TRACE, None, "server")
    assert (root.started_at, root.ended_at, root.status) == (1790841600_000000000, None, "unset")
    assert call == Span(
        trace_id=TRACE,
        span_id="0000000000000002",
        parent_span_id="0000000000000001",
        name="chat m",
        kind="client",
        started_at=1790841600_250000000,
        ended_at=1790841601_750000000,
        status="error",
        status_message="no luck",
        service="shop",
        attributes={"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 40},
        resource={"service.name": "shop"},
        events=[SpanEvent(name="retry", at=1790841601_000000000, attributes={"attempt": 2})],
    )


def test_objects_over_many_lines_in_a_row_are_the_same_spans(
    take, take_file, fixtures: Path
) -> None:
    spans = json.loads((fixtures / "otel-console.json").read_text())
    printed_by_the_console = "\n".join(json.dumps(span, indent=4) for span in spans)
    expected = take_file("otel-console.json", "otel-console")
    assert take(printed_by_the_console, "otel-console") == expected


def test_a_javascript_span_has_times_in_pairs(take_file) -> None:
    (span,) = take_file("otel-console-js.json", "otel-console").spans
    assert (span.trace_id, span.span_id) == ("000000000000000000000000000000c3", "0" * 15 + "5")
    assert (span.parent_span_id, span.kind, span.scope) == ("0" * 15 + "4", "client", "ai")
    assert (span.started_at, span.ended_at) == (1790000000_250000000, 1790000001_984307375)
    assert (span.status, span.status_message, span.service) == ("error", "no luck", "shop")
    assert span.events == [SpanEvent(name="ai.stream.firstChunk", at=1790000000_500000000)]


def printed(**changed: object) -> str:
    """A span as the JavaScript console prints it, in one line."""
    span = {
        "resource": {"attributes": {"service.name": "shop"}},
        "instrumentationScope": {"name": "ai"},
        "traceId": "c3",
        "parentId": "4",
        "name": "chat",
        "id": "5",
        "kind": 0,
        "timestamp": 1790000000250000.5,
        "duration": 1500000.25,
        "attributes": {"a": 1},
        "status": {"code": 0},
        "events": [],
    }
    return json.dumps({**span, **changed})


def test_what_the_javascript_console_prints_has_microseconds_and_a_duration(take) -> None:
    (span,) = take(printed(), "otel-console").spans
    assert (span.kind, span.status, span.parent_span_id) == ("internal", "unset", "0" * 15 + "4")
    assert (span.started_at, span.ended_at) == (1790000000_250000500, 1790000001_750000750)
    (open_span,) = take(printed(duration=None), "otel-console").spans
    assert (open_span.started_at, open_span.ended_at) == (1790000000_250000500, None)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"traceId": "zebra"}, "id 'zebra' is neither 32 hex digits"),
        ({"timestamp": "noon"}, "timestamp 'noon' is no count of microseconds"),
        ({"attributes": [1]}, "attributes '[1]' is no object"),
        ({"events": [None]}, "event 'None' is no object"),
        ({"events": [{"time": 7}]}, "time '7' is no pair of seconds and nanoseconds"),
    ],
)
def test_a_bad_span_is_rejected_without_its_neighbour(
    take, changed: dict[str, object], reason: str
) -> None:
    taken = take(printed(**changed) + "\n" + printed(id="6"), "otel-console")
    assert [span.span_id for span in taken.spans] == ["0" * 15 + "6"]
    (reject,) = taken.rejects
    assert reject.position == "line 1"
    assert reason in reject.reason


def monocle(kind: str, span_id: str, parent: object, **more: Any) -> dict[str, Any]:
    return {
        "name": kind,
        "context": {"trace_id": "0xb1", "span_id": f"0x{span_id}"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": parent,
        "start_time": "2026-10-01T08:00:00Z",
        "end_time": "2026-10-01T08:00:02Z",
        "status": {"status_code": "OK"},
        "attributes": {
            "monocle_apptrace.version": "0.6.0",
            "span.type": kind,
            **more.get("attributes", {}),
        },
        "events": more.get("events", []),
        "resource": {"attributes": {"service.name": "travel"}},
    }


INFERENCE = {
    "entity.1.type": "inference.openai",
    "entity.1.provider_name": "api.openai.com",
    "entity.2.name": "gpt-4o",
    "entity.2.type": "model.llm.gpt-4o",
}
USAGE = {
    "name": "metadata",
    "timestamp": "2026-10-01T08:00:02Z",
    "attributes": {"prompt_tokens": 45, "completion_tokens": 60, "total_tokens": 105},
}


def test_usage_that_is_only_in_an_event_is_that_of_the_call(take) -> None:
    spans = [
        monocle("workflow", "1", "None", attributes=INFERENCE),
        monocle("inference", "2", "0x1", attributes=INFERENCE, events=[USAGE]),
        monocle("inference", "2", "0x1", attributes=INFERENCE, events=[USAGE]),
    ]
    taken = take(json.dumps(spans), "otel-console")
    assert [span.parent_span_id for span in taken.spans] == [None, "0" * 15 + "1", "0" * 15 + "1"]
    (call,) = derive_trace(taken.spans, Configuration()).calls
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (45, 60)
    assert (call.model, call.provider, call.operation) == ("gpt-4o", "api.openai.com", "chat")


def test_texts_stand_where_the_privacy_setting_finds_them(take) -> None:
    asked = {"name": "data.input", "attributes": {"input": ['{"user": "my secret"}']}}
    answered = {
        "name": "data.output",
        "attributes": {"response": '{"assistant": "is safe"}', "finish_reason": "stop"},
    }
    spans = [
        monocle("inference", "2", None, attributes=INFERENCE, events=[asked, answered]),
        monocle("agentic.turn", "3", None, events=[asked, answered]),
    ]
    inference, turn = take(json.dumps(spans), "otel-console").spans
    assert inference.attributes["gen_ai.input.messages"] == [
        {"role": "user", "content": "my secret"}
    ]
    assert [dict(event.attributes) for event in inference.events] == [{}, {"finish_reason": "stop"}]
    stored = Redaction(Configuration()).spans([inference, turn])
    assert "secret" not in str(stored)
    assert "safe" not in str(stored)


def test_a_tool_of_an_agent_is_a_tool_run(take) -> None:
    tool = {"entity.1.name": "get_weather", "entity.1.type": "tool.mcp"}
    span = monocle("agentic.tool.invocation", "3", "0x2", attributes=tool)
    (taken,) = take(json.dumps([span]), "otel-console").spans
    (run,) = derive_trace([taken], Configuration()).tool_runs
    assert (run.tool, run.status) == ("get_weather", "ok")


def test_what_a_span_says_itself_is_not_overruled(take) -> None:
    own = {**INFERENCE, "gen_ai.usage.input_tokens": 7, "gen_ai.request.model": "m"}
    span = monocle("inference", "2", None, attributes=own, events=[USAGE])
    (taken,) = take(json.dumps([span]), "otel-console").spans
    assert taken.attributes["gen_ai.usage.input_tokens"] == 7
    assert taken.attributes["gen_ai.request.model"] == "m"
    assert taken.attributes["gen_ai.usage.output_tokens"] == 60
