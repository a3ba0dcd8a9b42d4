"""A count of tokens of another type than the conventions want is read or unknown, never 0."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from ingest.receiver.intake import JSON, PROTOBUF
from ingest.receiver.signals import TRACES

AT = 1_790_000_000 * 10**9
NO_COUNT = "is no count"
UNREPORTED = "output tokens are unknown"


def list_of(number: int) -> AnyValue:
    value = AnyValue()
    value.array_value.values.add(int_value=number)
    return value


def object_of(number: int) -> AnyValue:
    value = AnyValue()
    value.kvlist_value.values.add(key="value").value.int_value = number
    return value


COUNTS: dict[str, tuple[AnyValue, int | None, str | None]] = {
    "integer": (AnyValue(int_value=12), 12, None),
    "zero": (AnyValue(int_value=0), 0, None),
    "string": (AnyValue(string_value="12"), 12, None),
    "string with blanks": (AnyValue(string_value=" 12 "), 12, None),
    "string of a double": (AnyValue(string_value="12.0"), 12, None),
    "double": (AnyValue(double_value=12.0), 12, None),
    "string of words": (AnyValue(string_value="twelve"), None, NO_COUNT),
    "grouped string": (AnyValue(string_value="1,200"), None, NO_COUNT),
    "empty string": (AnyValue(string_value=""), None, UNREPORTED),
    "fraction": (AnyValue(double_value=12.5), None, NO_COUNT),
    "NaN": (AnyValue(double_value=float("nan")), None, NO_COUNT),
    "infinity": (AnyValue(double_value=float("inf")), None, NO_COUNT),
    "negative": (AnyValue(int_value=-12), None, NO_COUNT),
    "beyond a double": (AnyValue(int_value=2**60), None, NO_COUNT),
    "true": (AnyValue(bool_value=True), None, NO_COUNT),
    "false": (AnyValue(bool_value=False), None, NO_COUNT),
    "list": (list_of(12), None, NO_COUNT),
    "object": (object_of(12), None, NO_COUNT),
    "bytes": (AnyValue(bytes_value=b"12"), None, NO_COUNT),
    "no value": (AnyValue(), None, UNREPORTED),
}
"""What was sent, the tokens that the call has then, and what its note says."""


def request_of_counts() -> ExportTraceServiceRequest:
    """A call for each entry of `COUNTS`, in its order."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number, (value, _, _) in enumerate(COUNTS.values(), 1):
        span = scope.spans.add(
            trace_id=number.to_bytes(16),
            span_id=number.to_bytes(8),
            name="chat llama",
            start_time_unix_nano=AT,
            end_time_unix_nano=AT + 10**9,
        )
        for key in ("gen_ai.operation.name", "gen_ai.request.model"):
            span.attributes.add(key=key).value.string_value = "chat"
        span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 5
        span.attributes.add(key="gen_ai.usage.output_tokens").value.CopyFrom(value)
    return request


@pytest.mark.parametrize("encoding", [PROTOBUF, JSON])
def test_a_count_of_any_type_is_read_or_unknown_with_a_note(
    live: Any, by_files: Any, json_of: Callable[..., bytes], encoding: str
) -> None:
    request = request_of_counts()
    body = request.SerializeToString() if encoding == PROTOBUF else json_of(request)
    live.acknowledge(TRACES, body, encoding)
    live.settle()
    assert by_files([(body, f"otlp-{encoding}")]) == live.held()
    with live.reading() as ledger:
        rows = ledger.connection.execute(
            "select input_tokens, output_tokens, tokens_note from calls order by trace_id"
        ).fetchall()
    found = dict(zip(COUNTS, rows, strict=True))
    expected = {name: (5, tokens) for name, (_, tokens, _) in COUNTS.items()}
    assert {name: row[:2] for name, row in found.items()} == expected
    for name, (_, _, note) in COUNTS.items():
        said = found[name][2]
        assert said is None if note is None else note in said, name


def _values(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of the attributes of the first span."""
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    return [attribute["value"] for attribute in span["attributes"]]


@pytest.mark.parametrize("written", ["12", '"12"', "12.0"], ids=["number", "text", "double"])
def test_an_integer_of_json_may_be_a_number_or_text(
    by_files: Any, json_of: Callable[..., bytes], written: str
) -> None:
    request = request_of_counts()
    del request.resource_spans[0].scope_spans[0].spans[1:]
    body = json_of(request).replace(b'{"intValue": "12"}', f'{{"intValue": {written}}}'.encode())
    assert json.loads(f'{{"intValue": {written}}}') in _values(json.loads(body))
    held = by_files([(body, "otlp-json")])
    assert '"gen_ai.usage.output_tokens":12' in held.spans[0][11]
