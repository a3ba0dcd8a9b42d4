"""What the privacy setting leaves, and that hashing a text early or late gives the same calls."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from ingest.calls.derive import derive_trace
from ingest.calls.fingerprints import fingerprint
from ingest.config import Configuration
from ingest.files import RefusedSourceError, open_sources
from ingest.readers import recognise
from ingest.records import Call, Reject, Span, SpanEvent
from ingest.redact import Redaction

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
TRACED = ("B_envoy_aigw_openinference", "B_jaeger_ui", "B_otel_proto_examples", "vllm_cpu")
WORDS = "the secret recipe"


def span(attributes: dict[str, Any], **fields: Any) -> Span:
    ids = {"trace_id": "a" * 32, "span_id": "1" * 16}
    return Span(**ids, name="chat", started_at=1, ended_at=9, attributes=attributes, **fields)


WRITTEN = {
    "semantic conventions": span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.system_instructions": f'[{{"type":"text","content":"{WORDS}"}}]',
            "gen_ai.input.messages": f'[{{"role":"user","content":"{WORDS}"}}]',
            "gen_ai.output.messages": f'[{{"role":"assistant","finish_reason":"length",'
            f'"parts":[{{"type":"text","content":"{WORDS}"}}]}}]',
            "gen_ai.tool.definitions": f'[{{"name":"{WORDS}"}}]',
        }
    ),
    "OpenInference": span(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": WORDS,
            "llm.output_messages.0.message.content": WORDS,
            "llm.tools.0.tool.json_schema": f'{{"name":"{WORDS}"}}',
            "input.value": WORDS,
        }
    ),
    "OpenInference completion": span(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m",
            "llm.prompts.0.prompt.text": WORDS,
            "llm.choices.0.completion.text": WORDS,
        }
    ),
    "OpenLLMetry": span(
        {
            "llm.request.type": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": WORDS,
            "gen_ai.completion.0.content": WORDS,
            "gen_ai.completion.0.finish_reason": "stop",
        }
    ),
    "events": span(
        {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
        events=[
            SpanEvent(name="gen_ai.user.message", attributes={"content": WORDS}),
            SpanEvent(name="gen_ai.choice", attributes={"finish_reason": "stop", "message": WORDS}),
        ],
    ),
    "tool": span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": f'{{"q": "{WORDS}"}}',
            "output.value": WORDS,
        }
    ),
    "retrieval": span(
        {
            "openinference.span.kind": "RETRIEVER",
            "input.value": WORDS,
            "retrieval.documents.0.document.id": "7",
            "retrieval.documents.0.document.content": WORDS,
        }
    ),
}


def text_of(span: Span) -> str:
    events = [dict(event.attributes) for event in span.events]
    return orjson.dumps([dict(span.attributes), events]).decode()


@pytest.mark.parametrize("content", ["hash", "off"])
@pytest.mark.parametrize("form", WRITTEN)
def test_no_text_is_left_however_it_was_sent(form: str, content: Any) -> None:
    (clean,) = Redaction(Configuration(content=content)).spans([WRITTEN[form]])
    assert WORDS in text_of(WRITTEN[form])
    assert WORDS not in text_of(clean)


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("form", WRITTEN)
def test_a_text_hashed_before_it_is_stored_gives_the_same_call(form: str, key: str | None) -> None:
    configuration = Configuration(content="hash", hash_key=key)
    clean = Redaction(configuration).spans([WRITTEN[form]])
    assert derive_trace(clean, configuration) == derive_trace([WRITTEN[form]], configuration)


def test_full_content_leaves_the_span_as_it_is() -> None:
    given = [WRITTEN["OpenInference"]]
    assert Redaction(Configuration(content="full")).spans(given) is given


def test_a_span_without_text_is_passed_on_untouched() -> None:
    given = span({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3})
    (clean,) = Redaction(Configuration()).spans([given])
    assert clean is given


def test_a_record_keeps_a_hash_for_its_text_and_nothing_where_content_is_off() -> None:
    given = Call(identity="1", timing_source="engine", prompt=WORDS)
    hashed = Redaction(Configuration()).call(given)
    assert (hashed.prompt, hashed.input_hash) == (None, fingerprint(WORDS, Configuration()))
    full = Redaction(Configuration(content="full")).call(given)
    assert (full.prompt, full.input_hash) == (WORDS, hashed.input_hash)
    off = Redaction(Configuration(content="off")).call(given)
    assert (off.prompt, off.input_hash) == (None, None)


def test_a_reject_keeps_its_record_as_the_setting_says() -> None:
    given = Reject(position="line 1", reason="no JSON", record=WORDS)
    kept = {
        content: Redaction(Configuration(content=content)).rejects([given])[0].record
        for content in ("full", "hash", "off")
    }
    digest = fingerprint(WORDS, Configuration())
    assert kept == {"full": WORDS, "hash": digest, "off": None}


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the public files are not here")
def test_spans_of_real_exporters_give_the_same_calls_hashed_early_or_late() -> None:
    configuration = Configuration()
    traces: dict[str, list[Span]] = defaultdict(list)
    for source in open_sources([str(SHARED / folder) for folder in TRACED]):
        if isinstance(source, RefusedSourceError) or source.name.endswith(("logs.json", ".txt")):
            continue
        for batch in recognise(source).read(source):
            for one in batch.spans:
                traces[one.trace_id].append(one)
    assert len(traces) > 50
    for spans in traces.values():
        clean = Redaction(configuration).spans(spans)
        assert derive_trace(clean, configuration) == derive_trace(spans, configuration)
