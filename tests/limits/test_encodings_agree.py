"""Any OTLP gives the same ledger in protobuf and in JSON, by file and by receiver, in any order."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.receiver.intake import JSON, PROTOBUF
from ingest.receiver.signals import LOG_RECORDS, TRACES

Held = Any
ByFiles = Callable[[Sequence[tuple[bytes, str]]], Held]
ByReceiver = Callable[..., Held]
JsonOf = Callable[..., bytes]

AT = 1_790_000_000 * 10**9
thoroughly = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
instants = st.sampled_from([0, 1, AT, AT + 1, AT + 10**9, 2**63 - 1, 2**63, 2**64 - 1]) | (
    st.integers(0, 2**64 - 1)
)
trace_ids = st.sampled_from(
    [
        b"",
        bytes(16),
        b"\1" * 16,
        b"\2" * 16,
        b"\xff" * 16,
        bytes(8) + b"\3" * 8,
        b"\3" * 8,
        b"five!",
    ]
)
span_ids = st.sampled_from([b"", bytes(8), *(bytes([n]) * 8 for n in range(1, 5)), b"\1" * 16])
integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 500)

Plain = Any
plain_values = st.recursive(
    st.none() | st.booleans() | integers | st.floats() | texts | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(texts, inner), max_size=3).map(tuple)
    ),
    max_leaves=6,
)
"""A tuple of pairs is a list of keys and values, in which a key may occur twice."""

KEYS = (
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.response.id",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.conversation.id",
    "gen_ai.prompt",
    "gen_ai.response.finish_reasons",
    "http.route",
    "service.name",
    "duration_ms",
    "model",
    "input_tokens",
    "output_tokens",
    "event.name",
)
plausible = st.sampled_from(["chat", "execute_tool", "llama", "a", 7, 100, 7.0, "12", True])
pairs = st.lists(
    st.tuples(st.sampled_from(KEYS), plausible)
    | st.tuples(st.sampled_from(KEYS) | texts, plain_values),
    max_size=7,
)


def any_value(plain: Plain) -> AnyValue:
    value = AnyValue()
    if isinstance(plain, tuple):
        value.kvlist_value.SetInParent()
        value.kvlist_value.values.extend(key_values(plain))
    elif isinstance(plain, list):
        value.array_value.SetInParent()
        value.array_value.values.extend(any_value(item) for item in plain)
    elif plain is not None:
        kinds = {bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes"}
        setattr(value, f"{kinds[type(plain)]}_value", plain)
    return value


def key_values(found: Sequence[tuple[str, Plain]]) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(plain)) for key, plain in found]


@st.composite
def spans(draw: st.DrawFn) -> Span:
    span = Span(
        trace_id=draw(trace_ids),
        span_id=draw(span_ids),
        parent_span_id=draw(span_ids),
        name=draw(texts),
        kind=draw(st.integers(0, 7)),
        start_time_unix_nano=draw(instants),
        end_time_unix_nano=draw(instants),
        attributes=key_values(draw(pairs)),
    )
    span.status.code = draw(st.integers(0, 4))
    span.status.message = draw(texts)
    for name in draw(st.lists(st.sampled_from(["gen_ai.choice", "exception", ""]), max_size=2)):
        attributes = key_values(draw(pairs))
        span.events.add(name=name, time_unix_nano=draw(instants), attributes=attributes)
    return span


@st.composite
def log_records(draw: st.DrawFn) -> LogRecord:
    names = ["claude_code.api_request", "codex.sse_event", "gen_ai.user.message", "other", ""]
    return LogRecord(
        trace_id=draw(trace_ids),
        span_id=draw(span_ids),
        event_name=draw(st.sampled_from(names)),
        time_unix_nano=draw(instants),
        observed_time_unix_nano=draw(instants),
        body=any_value(draw(plain_values)),
        attributes=key_values(draw(pairs)),
    )


resources = st.tuples(pairs, texts)
Resource = tuple[list[tuple[str, Plain]], str]


def traces_of(resource: Resource, found: Sequence[Span]) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    attributes, scope_name = resource
    given = request.resource_spans.add()
    given.resource.attributes.extend(key_values(attributes))
    scope = given.scope_spans.add(spans=found)
    scope.scope.name = scope_name
    return request


def logs_of(resource: Resource, found: Sequence[LogRecord]) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    attributes, scope_name = resource
    given = request.resource_logs.add()
    given.resource.attributes.extend(key_values(attributes))
    scope = given.scope_logs.add(log_records=found)
    scope.scope.name = scope_name
    return request


def placed(held: Held) -> Held:
    """What is held, rejects by their place in the request: each encoding words its reasons."""
    places = [position.removeprefix("line 1, ") for position, _ in held.rejects]
    return held.spans, held.calls, places


@given(resource=resources, found=st.lists(spans(), min_size=1, max_size=6))
@thoroughly
def test_traces_give_one_ledger_in_either_encoding_and_by_either_way(
    by_files: ByFiles,
    by_receiver: ByReceiver,
    json_of: JsonOf,
    resource: Resource,
    found: list[Span],
) -> None:
    request = traces_of(resource, found)
    body, text = request.SerializeToString(), json_of(request)
    first = by_files([(body, "otlp-protobuf")])
    assert len(first.spans) + len(first.rejects) <= len(found)
    assert placed(by_files([(text, "otlp-json")])) == placed(first)
    assert by_receiver(TRACES, [(body, PROTOBUF)], 1) == first
    assert placed(by_receiver(TRACES, [(text, JSON)], 1)) == placed(first)


@given(resource=resources, found=st.lists(log_records(), min_size=1, max_size=6))
@thoroughly
def test_logs_give_one_ledger_in_either_encoding_and_by_either_way(
    by_files: ByFiles,
    by_receiver: ByReceiver,
    json_of: JsonOf,
    resource: Resource,
    found: list[LogRecord],
) -> None:
    request = logs_of(resource, found)
    body, text = request.SerializeToString(), json_of(request)
    first = by_files([(text, "otlp-logs")])
    assert placed(by_receiver(LOG_RECORDS, [(body, PROTOBUF)], 1)) == placed(first)
    assert placed(by_receiver(LOG_RECORDS, [(text, JSON)], 1)) == placed(first)


@pytest.mark.parametrize("kind", ["traces", "logs"])
@given(data=st.data())
@thoroughly
def test_deliveries_permuted_split_and_repeated_give_one_ledger(
    by_files: ByFiles, by_receiver: ByReceiver, json_of: JsonOf, kind: str, data: st.DataObject
) -> None:
    is_traces = kind == "traces"
    signal = TRACES if is_traces else LOG_RECORDS
    request_of: Any = traces_of if is_traces else logs_of
    records: st.SearchStrategy[Any] = spans() if is_traces else log_records()
    found = data.draw(st.lists(records, min_size=1, max_size=6))
    resource = data.draw(resources)
    once = by_receiver(signal, [(request_of(resource, found).SerializeToString(), PROTOBUF)], 1)
    again = data.draw(st.permutations(found + data.draw(st.lists(st.sampled_from(found)))))
    requests = []
    while again:
        share, again = again[: (size := data.draw(st.integers(1, 4)))], again[size:]
        requests.append(request_of(resource, share))
    bodies = [
        (json_of(request), JSON)
        if data.draw(st.booleans())
        else (request.SerializeToString(), PROTOBUF)
        for request in requests
    ]
    received = by_receiver(signal, bodies, data.draw(st.integers(1, 4)))
    assert (received.spans, received.calls) == (once.spans, once.calls)
    file_format = "otlp-json" if is_traces else "otlp-logs"
    read = by_files([(json_of(request), file_format) for request in requests])
    assert (read.spans, read.calls) == (once.spans, once.calls)
