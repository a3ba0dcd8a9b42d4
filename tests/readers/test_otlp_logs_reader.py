"""Log records of GenAI events become what they tell of: parts of a span, or an agent's requests."""

import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # has no types
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.config import Configuration
from ingest.deliver import DeliveryResult, deliver_paths
from ingest.ledger import Ledger, open_for_writing
from ingest.readers.documents import Document
from ingest.readers.otlp_logs import OtlpLogs, told_by_document, told_by_message

AT = 1_790_000_000_000_000_000
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def value(of: Any) -> dict[str, Any]:
    if isinstance(of, bool):
        return {"boolValue": of}
    if isinstance(of, int):
        return {"intValue": str(of)}
    if isinstance(of, float):
        return {"doubleValue": of}
    if isinstance(of, dict):
        return {"kvlistValue": {"values": attributes(of)}}
    return {"stringValue": of}


def attributes(of: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(each)} for key, each in of.items()]


def log(name: str, body: Any = None, **given: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"timeUnixNano": str(AT), "eventName": name, **given}
    if body is not None:
        record["body"] = value(body)
    return record


def of_span(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "traceId": TRACE, "spanId": SPAN}


def request(*records: dict[str, Any]) -> dict[str, Any]:
    service = attributes({"service.name": "agent"})
    scope = {"scope": {"name": "events"}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": service}, "scopeLogs": [scope]}]}


def chat_span(**more: Any) -> dict[str, Any]:
    """An export request of one call, of which the messages are told by log records."""
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "llama", **more}
    span = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "chat llama",
        "startTimeUnixNano": str(AT - 10**9),
        "endTimeUnixNano": str(AT),
        "attributes": attributes(said),
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def delivered(
    ledger: Ledger, folder: Path, documents: Sequence[Any], content: str = "full"
) -> list[DeliveryResult]:
    paths = []
    for number, document in enumerate(documents):
        path = folder / f"{number}.json"
        path.write_bytes(orjson.dumps(document))
        paths.append(str(path))
    return deliver_paths(ledger, paths, Configuration(content=content))  # type: ignore[arg-type]


def rows(ledger: Ledger, columns: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(f"select {columns} from calls order by call_id").fetchall()


QUESTION = of_span(log("gen_ai.user.message", {"content": "Why is the sky blue?"}))
ANSWER = of_span(
    log("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "Light."}})
)
DETAILS = of_span(
    log(
        "gen_ai.client.inference.operation.details",
        attributes=attributes(
            {
                "gen_ai.usage.input_tokens": 12,
                "gen_ai.usage.output_tokens": 3,
                "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", '
                '"content": "Why is the sky blue?"}]}]',
            }
        ),
    )
)


def test_messages_in_log_records_are_those_of_their_span_in_any_order(tmp_path: Path) -> None:
    found = []
    for order in itertools.permutations([chat_span(), request(QUESTION), request(ANSWER)]):
        with open_for_writing(None) as ledger:
            delivered(ledger, tmp_path, order)
            (texts,) = ledger.connection.execute(
                "select prompt, completion from contents"
            ).fetchall()
            found.append((rows(ledger, "call_id, input_hash, output_hash, finish_reason"), texts))
    assert all(each == found[0] for each in found)
    ((_, input_hash, output_hash, reason),), (prompt, completion) = found[0]
    assert (input_hash is not None, output_hash is not None, reason) == (True, True, "stop")
    assert ("sky blue" in prompt, "Light." in completion) == (True, True)


@pytest.mark.parametrize("content", ["full", "hash"])
def test_the_event_with_the_details_of_a_call_gives_what_its_span_lacks(
    tmp_path: Path, content: str
) -> None:
    with open_for_writing(None) as ledger:
        delivered(ledger, tmp_path, [chat_span(), request(DETAILS)], content)
        ((tokens_in, tokens_out, digest),) = rows(ledger, "input_tokens, output_tokens, input_hash")
    with open_for_writing(None) as ledger:
        text = '[{"role": "user", "parts": [{"type": "text", "content": "Why is the sky blue?"}]}]'
        delivered(ledger, tmp_path, [chat_span(**{"gen_ai.input.messages": text})], content)
        ((of_span_itself,),) = rows(ledger, "input_hash")
    assert (tokens_in, tokens_out) == (12, 3)
    assert digest is not None
    assert digest == of_span_itself


def test_a_span_is_not_overruled(tmp_path: Path) -> None:
    with open_for_writing(None) as ledger:
        known = chat_span(**{"gen_ai.usage.input_tokens": 99})
        delivered(ledger, tmp_path, [request(DETAILS), known])
        assert rows(ledger, "input_tokens, output_tokens") == [(99, 3)]


def test_no_text_of_a_log_record_is_kept_where_only_hashes_are(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with open_for_writing(path) as ledger:
        delivered(ledger, tmp_path, [chat_span(), request(QUESTION, ANSWER, DETAILS)], "hash")
        kept = str(ledger.connection.execute("select * from spans").fetchall())
    assert "sky" not in kept
    assert "Light." not in kept


AGENTS = [
    (
        "claude_code.api_request",
        {
            "model": "claude-sonnet-4-5",
            "input_tokens": "100",
            "cache_read_tokens": 2_000,
            "cache_creation_tokens": 300,
            "output_tokens": 50,
            "cost_usd": 0.0123,
            "duration_ms": "2500",
            "session.id": "s1",
        },
        ("anthropic", "claude-sonnet-4-5", 100, 2_000, 300, 50, None, "s1", 2_500_000_000),
    ),
    (
        "codex.sse_event",
        {
            "event.kind": "response.completed",
            "model": "gpt-5-codex",
            "input_token_count": 500,
            "cached_token_count": 400,
            "output_token_count": 80,
            "reasoning_token_count": 60,
            "duration_ms": 1000,
            "conversation.id": "c1",
        },
        ("openai", "gpt-5-codex", 100, 400, None, 20, 60, "c1", 1_000_000_000),
    ),
    (
        "gemini_cli.api_response",
        {
            "model": "gemini-2.5-pro",
            "input_token_count": 700,
            "cached_content_token_count": 200,
            "output_token_count": 30,
            "thoughts_token_count": 10,
            "duration_ms": 800,
            "session.id": "g1",
        },
        ("gcp.gemini", "gemini-2.5-pro", 500, 200, None, 30, 10, "g1", 800_000_000),
    ),
]


@pytest.mark.parametrize(("name", "given", "expected"), AGENTS, ids=[name for name, *_ in AGENTS])
def test_an_agents_answered_request_is_a_call_once(
    tmp_path: Path, name: str, given: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    told = request(log(name, attributes=attributes(given)))
    with open_for_writing(None) as ledger:
        first, again = delivered(ledger, tmp_path, [told, told])
        assert first.counts is not None
        assert again.counts is not None
        assert (first.counts.new, again.counts.new) == (1, 0)
        assert rows(
            ledger,
            "provider, model_requested, uncached_input_tokens, cache_read_tokens, "
            "cache_write_tokens, visible_output_tokens, reasoning_tokens, conversation_id, "
            "ended_at - arrived_at",
        ) == [expected]


def test_the_cost_and_the_failure_of_an_agents_request_are_kept(tmp_path: Path) -> None:
    failure = {"model": "m", "error": "overloaded", "status_code": 529, "duration_ms": 10}
    cost = {"model": "m", "cost_usd": 0.0123, "input_tokens": 1, "output_tokens": 1}
    documents = [
        request(
            log("claude_code.api_error", attributes=attributes(failure)),
            log("claude_code.api_request", attributes=attributes(cost)),
        )
    ]
    with open_for_writing(None) as ledger:
        delivered(ledger, tmp_path, documents)
        found = set(rows(ledger, "status, http_status, cast(reported_cost as varchar)"))
    assert found == {("error", 529, None), ("ok", None, "0.012300000")}


def test_records_of_other_programs_are_counted_and_a_damaged_one_is_rejected_alone(
    tmp_path: Path,
) -> None:
    documents = [
        request(
            log("", "GET /health 200"),
            log("codex.sse_event", attributes=attributes({"event.kind": "response.created"})),
            {**QUESTION, "traceId": "short"},
            QUESTION,
        )
    ]
    with open_for_writing(None) as ledger:
        (result,) = delivered(ledger, tmp_path, documents)
    assert result.counts is not None
    assert (result.counts.read, result.counts.rejected, result.counts.ignored) == (2, 1, 2)
    assert "logRecords[2]" in result.reject_reasons[0].first_position


def test_protobuf_tells_what_json_tells() -> None:
    message = ExportLogsServiceRequest()
    resource = message.resource_logs.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "agent"
    scope = resource.scope_logs.add()
    scope.scope.name = "events"
    record = scope.log_records.add(
        time_unix_nano=AT,
        event_name="gen_ai.user.message",
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
    )
    content = record.body.kvlist_value.values.add(key="content")
    content.value.string_value = "Why is the sky blue?"
    by_message = list(told_by_message(io.BytesIO(message.SerializeToString())))
    assert by_message == list(told_by_document(Document("", request(QUESTION))))
    assert by_message != [None]


def test_a_cut_between_the_resources_of_a_framed_message_is_told(source_of) -> None:
    whole = ParseDict(request(log("claude_code.api_request")), ExportLogsServiceRequest())
    first = whole.SerializeToString()
    cut = (2 * len(first)).to_bytes(4, "big") + first
    batches = list(OtlpLogs().read(source_of(cut)))
    assert [span.name for batch in batches for span in batch.spans] == ["claude_code.api_request"]
    (reject,) = [reject for batch in batches for reject in batch.rejects]
    assert reject.position == "message 1"
    assert reject.reason == f"truncated: {len(first)} bytes are missing"
