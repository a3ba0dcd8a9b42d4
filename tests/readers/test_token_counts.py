"""A count of tokens of any type: read where it plainly is a number, else unknown and said why."""

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.calls.derive import derive_trace
from ingest.config import Configuration

ATTRIBUTES = (
    '{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, '
    '{"key": "gen_ai.usage.output_tokens", "value": {"intValue": "3"}}, '
    '{"key": "gen_ai.usage.input_tokens", "value": {"%s": %%s}}'
)
OTLP = (
    '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "00000000000000000000000000000001",'
    ' "spanId": "0000000000000001", "name": "chat m", "startTimeUnixNano": "1794304800000000000",'
    ' "endTimeUnixNano": "1794304800000000005", "attributes": [' + ATTRIBUTES + "]}]}]}]}"
)
SPANS = {
    "otlp-json": OTLP % "intValue",
    "otlp-json, doubles": OTLP % "doubleValue",
    "otlp-json, texts": OTLP % "stringValue",
    "openinference-span": '{"name": "chat", "attributes": [' + ATTRIBUTES % "intValue" + "]}",
    "jaeger-json": (
        '{"traceID": "1", "spans": [{"traceID": "1", "spanID": "1", "operationName": "chat m",'
        ' "startTime": 1794304800000000, "duration": 5, "tags": ['
        '{"key": "gen_ai.operation.name", "type": "string", "value": "chat"},'
        '{"key": "gen_ai.usage.output_tokens", "type": "int64", "value": 3},'
        '{"key": "gen_ai.usage.input_tokens", "type": "int64", "value": %s}]}]}'
    ),
    "otel-console": (
        '{"name": "chat m", "context": {"trace_id": "0x00000000000000000000000000000001",'
        ' "span_id": "0x0000000000000001"}, "parent_id": null,'
        ' "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z",'
        ' "attributes": {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 3,'
        ' "gen_ai.usage.input_tokens": %s}}'
    ),
}
RECORDS = {
    "mooncake": '{"timestamp": 0, "input_length": %s, "output_length": 3}',
    "vllm-lifecycle": (
        '{"input_toks": %s, "output_toks": 3, "arrival_time": 1.0, "queued_ts": 1.0,'
        ' "scheduled_ts": 1.1, "first_token_ts": 1.2, "last_token_ts": 1.3}'
    ),
    "native": '{"call_id": "a", "started_at": 1, "ended_at": 5, "input_tokens": %s}',
    "azure-llm-trace": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,%s,3",
}
NUMBERS = ("12", "12.0", '"12"', '"12.0"', '" 12 "')
OTHERS = (
    '"NaN"', "-5", "1.5", "true", "1e30", "99999999999999999999", '"many"', '"1_000"',
    '"\u0661\u0662"', "[12]", "1000000001", "9223372036854775807",
)  # fmt: skip
BEYOND_64_BITS = ("1e30", "99999999999999999999")
NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def cell_of(written: str) -> str:
    return written.strip('"')


@pytest.mark.parametrize("written", [*NUMBERS, *OTHERS, *NOT_FINITE])
@pytest.mark.parametrize("form", SPANS)
def test_a_count_of_a_span_is_read_or_unknown_with_a_note(take, form: str, written: str) -> None:
    taken = take(SPANS[form] % written, form.partition(",")[0])
    if form == "openinference-span" and written in BEYOND_64_BITS:
        assert "64-bit" in taken.rejects[0].reason
        return
    (span,) = taken.spans
    (call,) = derive_trace([span], Configuration()).calls
    assert call.visible_output_tokens == 3
    if written in NUMBERS:
        assert (call.uncached_input_tokens, call.tokens_note) == (12, None)
    else:
        assert call.uncached_input_tokens is None
        assert call.tokens_note is not None
        assert call.tokens_note.startswith("input ")
        assert "is no count" in call.tokens_note


@pytest.mark.parametrize("written", [*NUMBERS, *OTHERS, *NOT_FINITE])
@pytest.mark.parametrize("form", RECORDS)
def test_a_count_of_a_record_is_read_or_the_record_is_rejected(
    take, form: str, written: str
) -> None:
    cell = cell_of(written) if form == "azure-llm-trace" else written
    taken = take(RECORDS[form] % cell, form)
    if written in NUMBERS:
        assert [call.uncached_input_tokens for call in taken.calls] == [12]
    elif form == "native" and cell_of(written) in NOT_FINITE:
        (call,) = taken.calls
        assert call.uncached_input_tokens is None
        assert f"input_tokens {cell_of(written)} is no count" in str(call.tokens_note)
    else:
        assert taken.calls == []
        (reject,) = taken.rejects
        assert "is missing" not in reject.reason
        assert "12" not in reject.reason or "12" in written


def test_a_double_that_is_no_number_keeps_its_name_from_protobuf_to_the_note(take) -> None:
    data = TracesData()
    message = data.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16)
    message.span_id, message.name, message.start_time_unix_nano = b"s" * 8, "chat m", 1
    message.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    message.attributes.add(key="gen_ai.usage.input_tokens").value.double_value = float("nan")
    (span,) = take(data.SerializeToString(), "otlp-protobuf").spans
    (call,) = derive_trace([span], Configuration()).calls
    assert call.uncached_input_tokens is None
    assert str(call.tokens_note).startswith("input 'NaN' is no count")
