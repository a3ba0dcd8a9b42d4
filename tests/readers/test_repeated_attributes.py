"""A span that gives one attribute several times: the last value counts, and it is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message

from analysis.check import check
from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import open_for_writing
from ingest.readers.otlp import span_of
from ingest.readers.otlp_json_spans import span_or_reject
from ingest.records import REPEATED_KEYS, Span

TOKENS = "gen_ai.usage.input_tokens"
IDS = {"traceId": "1" * 32, "spanId": "2" * 16}


def of_protobuf(*counts: int | None) -> Span:
    message = Message(trace_id=b"\x11" * 16, span_id=b"\x22" * 8)
    for count in counts:
        value = message.attributes.add(key=TOKENS).value
        if count is not None:
            value.int_value = count
    return span_of(message, {}, None)


def json_span(*counts: int | None) -> dict[str, Any]:
    values = [{} if count is None else {"intValue": str(count)} for count in counts]
    return {**IDS, "attributes": [{"key": TOKENS, "value": value} for value in values]}


def of_json(*counts: int | None) -> Span:
    span = span_or_reject(json_span(*counts), {}, None, "here")
    assert isinstance(span, Span)
    return span


@pytest.mark.parametrize("read", [of_protobuf, of_json])
@pytest.mark.parametrize(
    ("counts", "counted", "is_told"),
    [
        ((7,), 7, False),
        ((7, 7), 7, False),
        ((7, 9), 9, True),
        ((9, 7), 7, True),
        ((7, None), 7, False),
        ((None, 7), 7, False),
        ((7, 9, 7), 7, True),
    ],
)
def test_the_last_value_counts_and_a_disagreement_is_listed(
    read: Callable[..., Span], counts: tuple[int | None, ...], counted: int, is_told: bool
) -> None:
    told = {REPEATED_KEYS: [TOKENS]} if is_told else {}
    assert read(*counts).attributes == {TOKENS: counted, **told}


@pytest.mark.parametrize("content", ["full", "hash", "off"])
def test_a_call_says_that_its_count_disagrees_and_check_counts_it(
    tmp_path: Path, content: str
) -> None:
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    span = json_span(100, 300)
    span["attributes"].append(operation)
    file = tmp_path / "spans.json"
    file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    configuration = Configuration(content=content)
    with open_for_writing(tmp_path / "l.duckdb") as ledger:
        deliver_paths(ledger, [str(file)], configuration)
        found = ledger.connection.execute("select input_tokens, tokens_note from calls").fetchall()
        rows = dict(check(ledger, configuration).frame.select("check", "evidence").rows())
    [(tokens, note)] = found
    assert tokens == 300
    assert f"input_tokens: {TOKENS} is there several times, its last value counts" in note
    assert rows["a token count that one span gives several times"] == "1 call"
