"""Spans that no sender should send: their neighbours are taken, a reason is given, memory holds."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.config import Configuration
from ingest.receiver.intake import JSON, PROTOBUF, Intake
from ingest.receiver.signals import TRACES

AT = 1_790_000_000 * 10**9
PEAK = Path(__file__).with_name("peak_of_delivery.py")
RUN_S = 600
LEVELS = 1_000
BIG_BYTES = 10 * 2**20

ways = pytest.mark.parametrize("way", ["files", "receiver"])


def request_of(count: int) -> ExportTraceServiceRequest:
    """One trace: a root and calls below it."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(1, count + 1):
        span = scope.spans.add(
            trace_id=b"\1" * 16,
            span_id=number.to_bytes(8),
            parent_span_id=(1).to_bytes(8) if number > 1 else b"",
            name="chat llama",
            start_time_unix_nano=AT + number,
            end_time_unix_nano=AT + 10**9,
        )
        if number == 1:
            continue
        for key in ("gen_ai.operation.name", "gen_ai.request.model"):
            span.attributes.add(key=key).value.string_value = "chat"
        for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
            span.attributes.add(key=key).value.int_value = 9
    return request


def bodies(way: str, body: bytes, encoding: str, by_files: Any, by_receiver: Any) -> Any:
    """What a ledger holds of `body` after it came by `way`."""
    if way == "files":
        return by_files([(body, f"otlp-{encoding}")])
    return by_receiver(TRACES, [(body, encoding)], 1)


def peak_of(way: str, encoding: str, body: bytes, folder: Path) -> dict[str, Any]:
    """What a process of its own says that brought `body` into a new ledger."""
    file = folder / "body"
    file.write_bytes(body)
    command = [sys.executable, str(PEAK), way, encoding, str(file), str(folder / "l.duckdb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(
    ("way", "encoding"), [("files", PROTOBUF), ("receiver", JSON)], ids=lambda value: value
)
def test_a_trace_of_50_000_spans_is_taken_in_bounded_memory(
    tmp_path: Path, json_of: Callable[..., bytes], way: str, encoding: str
) -> None:
    request = request_of(50_000)
    body = request.SerializeToString() if encoding == PROTOBUF else json_of(request)
    told = peak_of(way, encoding, body, tmp_path)
    assert (told["error"], told["rejects"], told["counts"]) == (None, [], [50_000, 49_999])
    assert told["grown_mib"] < 1_024


@pytest.mark.parametrize(
    ("way", "encoding"), [("files", JSON), ("receiver", PROTOBUF)], ids=lambda value: value
)
def test_spans_of_10_mb_are_taken_in_bounded_memory(
    tmp_path: Path, json_of: Callable[..., bytes], way: str, encoding: str
) -> None:
    request = request_of(3)
    for span in request.resource_spans[0].scope_spans[0].spans:
        span.attributes.add(key="text").value.string_value = "word " * (BIG_BYTES // 5)
    body = request.SerializeToString() if encoding == PROTOBUF else json_of(request)
    told = peak_of(way, encoding, body, tmp_path)
    assert (told["error"], told["rejects"], told["counts"]) == (None, [], [3, 2])
    assert told["grown_mib"] < 1_024


def nested_in_json(body: bytes, kind: str) -> bytes:
    """The body with a value of 1,000 levels in the second span."""
    value = '{"arrayValue": {"values": [' * LEVELS + "]}}" * LEVELS
    if kind == "objects":
        value = '{"kvlistValue": {"values": [{"key": "k", "value": ' * LEVELS
        value += '{"boolValue": true}' + "}]}}" * LEVELS
    document = json.loads(body)
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"][0]["value"] = "HERE"
    return json.dumps(document).replace('"HERE"', value).encode()


def nested_in_protobuf(request: ExportTraceServiceRequest, levels: int) -> bytes:
    """The request with a list of `levels` levels in the second span, written level by level."""
    wire = b"\x12\x00" if levels == 0 else b""
    for _ in range(levels):
        listed = b"\x0a" + varint(len(wire)) + wire
        wire = b"\x2a" + varint(len(listed)) + listed
    pair = b"\x0a\x01k\x12" + varint(len(wire)) + wire
    spans = [s.SerializeToString() for s in request.resource_spans[0].scope_spans[0].spans]
    spans[1] += b"\x4a" + varint(len(pair)) + pair
    scope = b"".join(b"\x12" + varint(len(span)) + span for span in spans)
    resource = b"\x12" + varint(len(scope)) + scope
    return b"\x0a" + varint(len(resource)) + resource


def varint(number: int) -> bytes:
    written = b""
    while number > 0x7F:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])


@ways
@pytest.mark.parametrize("form", ["lists", "objects", "protobuf", "indented"])
def test_1_000_levels_of_nesting_cost_their_own_span_and_no_other(
    by_files: Any, by_receiver: Any, json_of: Callable[..., bytes], way: str, form: str
) -> None:
    request = request_of(3)
    if form == "protobuf":
        body = nested_in_protobuf(request, LEVELS)
    else:
        body = nested_in_json(json_of(request), form)
    if form == "indented":
        body = body.replace(b"{", b"{\n ", 3)
    encoding = PROTOBUF if form == "protobuf" else JSON
    held = bodies(way, body, encoding, by_files, by_receiver)
    [(position, reason)] = held.rejects
    assert position.endswith("spans[1]")
    assert "nested" in reason
    assert [row[1] for row in held.spans] == [f"{1:016x}", f"{3:016x}"]


@pytest.mark.parametrize(
    ("levels", "accepted"),
    [(30, {PROTOBUF: 2, JSON: 2}), (64, {PROTOBUF: 1, JSON: 2}), (66, {PROTOBUF: 1, JSON: 1})],
    ids=["30", "64", "66"],
)
def test_30_levels_are_taken_in_both_encodings_and_64_in_json(
    json_of: Callable[..., bytes], levels: int, accepted: dict[str, int]
) -> None:
    request = request_of(2)
    value = request.resource_spans[0].scope_spans[0].spans[1].attributes[0].value
    value.Clear()
    for _ in range(levels // 2):
        value = value.kvlist_value.values.add(key="k").value
        value = value.array_value.values.add()
    value.string_value = "deep"
    intake = Intake(Configuration(), lambda: AT)
    taken = [
        intake.take(TRACES, body, encoding, "a door")
        for body, encoding in ((request.SerializeToString(), PROTOBUF), (json_of(request), JSON))
    ]
    found = {PROTOBUF: taken[0].accepted, JSON: taken[1].accepted}
    assert found == accepted
    assert ["nested" in t.message for t in taken] == [count == 1 for count in found.values()]


@ways
def test_nan_is_kept_as_what_it_is_and_counts_no_token(
    by_files: Any, by_receiver: Any, json_of: Callable[..., bytes], way: str
) -> None:
    request = request_of(3)
    value = request.resource_spans[0].scope_spans[0].spans[1].attributes[2].value
    value.double_value = float("nan")
    held = [
        bodies(way, body, encoding, by_files, by_receiver)
        for body, encoding in (
            (request.SerializeToString(), PROTOBUF),
            (json_of(request), JSON),
            (json_of(request).replace(b"NaN", b'"NaN"'), JSON),
        )
    ]
    assert b"NaN," in json_of(request) or b"NaN}" in json_of(request)
    assert '"gen_ai.usage.input_tokens":"NaN"' in held[0].spans[1][11]
    assert held[0] == held[1] == held[2]
    assert (len(held[0].spans), len(held[0].calls)) == (3, 2)


@ways
def test_a_lone_surrogate_is_replaced_and_repeated_keys_count_once(
    by_files: Any, by_receiver: Any, json_of: Callable[..., bytes], way: str
) -> None:
    body = json_of(request_of(3)).replace(b'"name": "chat llama"', b'"name": "\\ud83d."', 1)
    body = body.replace(b'"kind": 0', b'"kind": 1, "kind": 3', 1)
    held = bodies(way, body, JSON, by_files, by_receiver)
    assert [(row[3], row[4]) for row in held.spans] == [
        ("\ufffd.", "client"),
        ("chat llama", "unspecified"),
        ("chat llama", "unspecified"),
    ]
    assert held.rejects == []


@ways
def test_bytes_that_are_no_text_cost_their_own_span_in_protobuf(
    by_files: Any, by_receiver: Any, way: str
) -> None:
    body = request_of(3).SerializeToString().replace(b"chat llama", b"chat \xed\xa0\x80ma", 1)
    held = bodies(way, body, PROTOBUF, by_files, by_receiver)
    [(position, reason)] = held.rejects
    assert position.endswith("spans[0]")
    assert "no valid Span" in reason
    assert len(held.spans) == 2
    assert len(held.calls) == 2


@ways
def test_a_repeated_attribute_counts_once_and_its_last_value(
    by_files: Any, by_receiver: Any, json_of: Callable[..., bytes], way: str
) -> None:
    request = request_of(2)
    span = request.resource_spans[0].scope_spans[0].spans[1]
    span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 4
    found = [
        bodies(way, body, encoding, by_files, by_receiver)
        for body, encoding in ((request.SerializeToString(), PROTOBUF), (json_of(request), JSON))
    ]
    assert '"gen_ai.usage.output_tokens":4' in found[0].spans[1][11]
    assert found[0] == found[1]
