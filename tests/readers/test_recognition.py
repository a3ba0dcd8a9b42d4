"""Each format is recognised by its content, and by one reader only."""

import gzip
import json
from pathlib import Path

import pytest

from ingest.errors import LedgerError, UnreadableSourceError
from ingest.files import RefusedSourceError, open_sources
from ingest.readers import READERS, reader_named, recognise
from ingest.readers.foreign import companion

FORMAT_OF = {
    "otlp.json": "otlp-json",
    "otlp.jsonl": "otlp-jsonl",
    "openinference-span.json": "openinference-span",
    "jaeger.json": "jaeger-json",
    "otel-console.json": "otel-console",
    "otel-console-js.json": "otel-console",
    "zipkin.json": "zipkin",
    "flat-spans.json": "flat-spans",
    "langfuse.json": "langfuse",
    "langfuse.csv": "langfuse",
    "langfuse-observations.jsonl": "langfuse",
    "langsmith.json": "langsmith",
    "langsmith-runs.jsonl": "langsmith",
    "litellm.jsonl": "litellm",
    "litellm.csv": "litellm",
    "litellm-payload.jsonl": "litellm",
    "openai.jsonl": "openai",
    "openai-batch.jsonl": "openai",
    "openai-stream.txt": "openai",
    "anthropic.jsonl": "anthropic",
    "anthropic-stream.txt": "anthropic",
    "lmcache-agent.jsonl": "lmcache-agent",
    "codex-turns.json": "codex-turns",
    "claude-code.jsonl": "claude-code",
    "claude-code-stream.jsonl": "claude-code-stream",
    "codex.jsonl": "codex",
    "gemini-cli.json": "gemini-cli",
    "gemini-responses.jsonl": "gemini-responses",
    "aider.jsonl": "aider",
    "swe-agent.json": "swe-agent",
    "inspect-ai.json": "inspect-ai",
    "vllm/requests.jsonl": "vllm-lifecycle",
    "llama-cpp.jsonl": "llama-cpp",
    "burstgpt.csv": "burstgpt",
    "azure.csv": "azure-llm-trace",
    "mooncake.jsonl": "mooncake",
    "aibrix.jsonl": "aibrix",
    "llmperf.json": "llmperf",
    "vllm-metrics.txt": "prometheus-text",
    "otlp-metrics.json": "otlp-metrics",
    "native.jsonl": "native",
}


@pytest.mark.parametrize(("name", "format_name"), FORMAT_OF.items())
def test_a_format_is_recognised_whatever_the_file_is_called(
    fixtures: Path, source_of, name: str, format_name: str
) -> None:
    content = (fixtures / name).read_bytes()
    for packed in (content, gzip.compress(content), b"\xef\xbb\xbf" + content):
        assert recognise(source_of(packed, "data.bin")).name == format_name


def test_only_otlp_json_lines_are_recognised_by_a_second_reader(fixtures: Path) -> None:
    for name, format_name in FORMAT_OF.items():
        (source,) = open_sources([str(fixtures / name)])
        assert not isinstance(source, RefusedSourceError)
        takers = [reader.name for reader in READERS if reader.recognise(source.head, source)]
        allowed = {"otlp-jsonl": ["otlp-jsonl", "otlp-json"]}
        assert takers == allowed.get(format_name, [format_name])


def test_a_first_line_longer_than_the_head_still_tells_one_document_from_several(
    source_of,
) -> None:
    request = json.dumps({"resourceSpans": [], "padding": "x" * 200_000}).encode()
    assert recognise(source_of(request)).name == "otlp-json"
    assert recognise(source_of(request + b"\n")).name == "otlp-json"
    assert recognise(source_of(request + b"\n" + request)).name == "otlp-jsonl"


def test_documents_over_many_lines_in_a_row_are_json_lines_too(source_of) -> None:
    pretty = b'{\n  "resourceSpans": []\n}\n'
    assert recognise(source_of(pretty)).name == "otlp-json"
    assert recognise(source_of(pretty + pretty)).name == "otlp-jsonl"


def test_traces_after_logs_in_one_file_are_recognised(source_of) -> None:
    lines = b'{"resourceLogs":[]}\n{ "resourceSpans": [] }\n'
    assert recognise(source_of(lines)).name == "otlp-jsonl"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"zebra": 1, "ape": {"inner": 2}}', "JSON with the keys ape, zebra"),
        (b"a,b,c\n1,2,3\n", "text beginning 'a,b,c'"),
        (b"\x01\x02\x03\xff\xfe\xfd", "binary data beginning 01 02 03 ff fe fd"),
    ],
)
def test_what_no_reader_takes_is_described(source_of, content: bytes, what: str) -> None:
    with pytest.raises(UnreadableSourceError, match="no reader recognises it") as caught:
        recognise(source_of(content))
    assert what in str(caught.value)


def test_keys_inside_of_other_objects_do_not_count(source_of) -> None:
    with pytest.raises(UnreadableSourceError, match="JSON with the keys body"):
        recognise(source_of(b'{"body": {"resourceSpans": [], "traceID": 1, "spans": 2}}'))


def test_an_unknown_format_name_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(LedgerError, match="unknown format 'otlp-jsn'; did you mean 'otlp-json'"):
        reader_named("otlp-jsn")
    with pytest.raises(LedgerError, match=r"'\?\?\?'; known: otlp-jsonl, otlp-json"):
        reader_named("???")


def test_each_reader_is_found_by_its_name_and_says_how_it_recognises() -> None:
    for reader in READERS:
        assert reader_named(reader.name) is reader
        assert reader.title
        assert len(reader.recognised_by) > 20


def test_what_describes_another_file_is_a_companion() -> None:
    told = companion(b'{"vllm_version": "0.19.0", "engine_kwargs": {}}')
    assert told is not None
    assert told.startswith("the description of a vLLM run")
    assert companion(b'{"vllm_version": "0.19.0"}') is None
