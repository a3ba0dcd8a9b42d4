"""Bare spans in OTLP's JSON, which may lack ids and times."""

import json


def test_a_bare_span_is_read_without_a_resource_and_with_derived_ids(take_file) -> None:
    (span,) = take_file("openinference-span.json", "openinference-span").spans
    (again,) = take_file("openinference-span.json", "openinference-span").spans
    assert span == again
    assert (span.name, span.kind, span.status) == ("ChatCompletion", "internal", "ok")
    assert (span.started_at, span.ended_at, span.service) == (None, None, None)
    assert span.attributes == {"openinference.span.kind": "LLM", "llm.token_count.prompt": 8}
    assert (len(span.trace_id), len(span.span_id)) == (32, 16)


def test_a_list_of_spans_and_spans_a_line_are_read_one_by_one(take, fixtures) -> None:
    span = json.loads((fixtures / "openinference-span.json").read_text())
    spans = [span, {"name": "no attributes"}, {**span, "name": "second"}]
    as_list = take(json.dumps(spans, indent=1), "openinference-span")
    as_lines = take("\n".join(json.dumps(item) for item in spans), "openinference-span")
    assert as_list.spans == as_lines.spans
    assert [item.name for item in as_list.spans] == ["ChatCompletion", "second"]
    assert [reject.position for reject in as_list.rejects] == ["[1]"]
    assert [reject.position for reject in as_lines.rejects] == ["line 2"]
