"""Cases about the wire: ids in every form, large spans, and what must not be stored."""

import json
from typing import Any

TRACE = "5b8efff798038103d269b633813fc60c"


def otlp(*spans: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


def wire(**fields: Any) -> dict[str, Any]:
    """A span as a collector writes it, with the fields of a case."""
    return {
        "traceId": TRACE,
        "spanId": "eee19b7ec3c1b174",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "1794304800000000000",
        "endTimeUnixNano": "1794304810000000000",
        **fields,
    }


def test_case_34_ids_numbers_and_kinds_are_read_in_every_form(case: Any) -> None:
    results = case.take_text(
        otlp(
            wire(parentSpanId=""),
            wire(spanId="eee19b7ec3c1b175", parentSpanId="0" * 16, kind="SPAN_KIND_SERVER"),
            {
                "trace_id": TRACE.upper(),
                "span_id": "EEE19B7EC3C1B176",
                "parent_span_id": "eee19b7ec3c1b174",
                "name": "x",
                "kind": 1,
                "start_time_unix_nano": 1794304800000000000,
                "end_time_unix_nano": "1794304810000000000",
            },
            wire(spanId="zz"),
        )
    )
    counts = results[0].counts
    assert (counts.read, counts.new, counts.rejected) == (4, 3, 1)
    assert case.rows("span_id, parent_span_id, kind, started_at, trace_id", "spans") == [
        ("eee19b7ec3c1b174", None, "client", 1794304800000000000, TRACE),
        ("eee19b7ec3c1b175", None, "server", 1794304800000000000, TRACE),
        ("eee19b7ec3c1b176", "eee19b7ec3c1b174", "internal", 1794304800000000000, TRACE),
    ]


def test_case_37_secrets_are_masked_before_anything_is_stored(case: Any, make_chat: Any) -> None:
    session = "12345678-9012-4345-8678-901234567890"
    secret = "sk-" + "Ab3dE6gH9jK2mN5pQ8rS" * 2
    more = {
        "http.request.header.authorization": f"Bearer {secret}",
        "app.request": json.dumps({"user": {"password": "open-sesame-42"}}),
        "session.id": session,
    }
    results = [
        *case.take(make_chat("1", more=more, name="mail ada@example.org")),
        *case.take(make_chat("1", more=more, name="mail ada@example.org")),
    ]
    stored = str(case.rows("name, attributes, resource, events, status_message", "spans"))
    for leak in (secret, "open-sesame-42", "ada@example.org"):
        assert leak not in stored
    assert case.call("conversation_id") == (session,)
    assert [result.counts.new for result in results] == [1, 0]
    assert results[1].counts.conflict == 0
