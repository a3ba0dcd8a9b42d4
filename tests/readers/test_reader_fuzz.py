"""No bytes make a reader fail otherwise than by naming the source, and no record gets lost."""

import io
import json
from functools import lru_cache
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.errors import UnreadableSourceError
from ingest.files import Source
from ingest.readers import READERS, reader_named, recognise
from ingest.readers.json_text import loads
from ingest.readers.reader import MAX_BATCH_RECORDS, Reader
from ingest.records import Batch

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"
SAMPLES = {
    "otlp-json": "otlp.json",
    "otlp-jsonl": "otlp.jsonl",
    "openinference-span": "openinference-span.json",
    "jaeger-json": "jaeger.json",
    "otel-console": "otel-console.json",
    "zipkin": "zipkin.json",
    "flat-spans": "flat-spans.json",
    "langfuse": "langfuse.json",
    "langsmith": "langsmith.json",
    "litellm": "litellm.jsonl",
    "openai": "openai.jsonl",
    "anthropic": "anthropic.jsonl",
    "lmcache-agent": "lmcache-agent.jsonl",
    "codex-turns": "codex-turns.json",
    "claude-code": "claude-code.jsonl",
    "claude-code-stream": "claude-code-stream.jsonl",
    "codex": "codex.jsonl",
    "gemini-cli": "gemini-cli.json",
    "gemini-responses": "gemini-responses.jsonl",
    "aider": "aider.jsonl",
    "swe-agent": "swe-agent.json",
    "inspect-ai": "inspect-ai.json",
    "vllm-lifecycle": "vllm/requests.jsonl",
    "llama-cpp": "llama-cpp.jsonl",
    "burstgpt": "burstgpt.csv",
    "azure-llm-trace": "azure.csv",
    "mooncake": "mooncake.jsonl",
    "aibrix": "aibrix.jsonl",
    "llmperf": "llmperf.json",
    "prometheus-text": "vllm-metrics.txt",
    "otlp-metrics": "otlp-metrics.json",
    "native": "native.jsonl",
}
JSON_FORMATS = sorted(SAMPLES.keys() - {"azure-llm-trace", "burstgpt", "prometheus-text"})
LINE_FORMATS = ("vllm-lifecycle", "mooncake", "native")

quietly = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def source_of(content: bytes) -> Source:
    return Source("fuzz", lambda: io.BytesIO(content), size_bytes=len(content))


def read(reader: Reader, content: bytes) -> list[Batch] | None:
    """What the reader gives; None where it names the source as unreadable."""
    try:
        return list(reader.read(source_of(content)))
    except UnreadableSourceError:
        return None


def assert_sound(batches: list[Batch] | None) -> None:
    """Batches are bounded, and what was taken can be stored."""
    for batch in batches or ():
        assert batch.read_count <= MAX_BATCH_RECORDS
        assert batch.read_count + batch.ignored_count > 0
        for span in batch.spans:
            assert (len(span.trace_id), len(span.span_id)) == (32, 16)
            orjson.dumps([span.attributes, span.resource, list(span.events), span.name])
            for at in (span.started_at, span.ended_at):
                assert at is None or -(2**63) <= at < 2**63
        for call in batch.calls:
            orjson.dumps([call.identity, call.endpoint, call.arrived_at, call.prefix_hashes])
        for reject in batch.rejects:
            assert reject.position
            assert reject.reason


@lru_cache
def sample(reader: Reader) -> bytes:
    if reader.name in SAMPLES:
        return (FIXTURES / SAMPLES[reader.name]).read_bytes()
    data = TracesData()
    resource_spans = data.resource_spans.add()
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "shop"
    for number in range(1, 4):
        span = resource_spans.scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
        span.name, span.start_time_unix_nano = f"span {number}", number
        span.attributes.add(key="a").value.int_value = number
    return data.SerializeToString()


@every_reader
@given(content=st.binary(max_size=300))
@quietly
def test_any_bytes_are_read_or_named(reader: Reader, content: bytes) -> None:
    assert_sound(read(reader, content))


@every_reader
@given(data=st.data())
@quietly
def test_a_damaged_file_is_read_or_named(reader: Reader, data: st.DataObject) -> None:
    content = bytearray(sample(reader))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        replacement = data.draw(st.binary(max_size=4))
        content[at : at + data.draw(st.integers(0, 4))] = replacement
    assert_sound(read(reader, bytes(content)))
    for other in READERS:
        other.recognise(bytes(content), source_of(bytes(content)))


@every_reader
@given(cut=st.integers(0, 10_000))
@quietly
def test_a_cut_file_is_read_or_named(reader: Reader, cut: int) -> None:
    content = sample(reader)
    assert_sound(read(reader, content[: cut % len(content)]))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn, value: object) -> object:
    """The value with some of its parts replaced by anything."""
    if draw(st.integers(0, 7)) == 0:
        return draw(json_values)
    if isinstance(value, dict):
        return {key: draw(mutated(item)) for key, item in value.items()}
    if isinstance(value, list):
        return [draw(mutated(item)) for item in value]
    return value


@pytest.mark.parametrize("name", JSON_FORMATS)
@given(data=st.data())
@quietly
def test_json_of_any_structure_is_read_or_named(name: str, data: st.DataObject) -> None:
    reader = reader_named(name)
    first = sample(reader).splitlines()[0]
    value = orjson.loads(sample(reader) if first in (b"{", b"[") else first)
    content = json.dumps(data.draw(mutated(value))).encode()
    assert_sound(read(reader, content))


@pytest.mark.parametrize("name", LINE_FORMATS)
@given(lines=st.lists(st.integers(0, 9), min_size=1, max_size=30))
@quietly
def test_each_line_is_one_record_taken_or_rejected(name: str, lines: list[int]) -> None:
    reader = reader_named(name)
    pool = [*sample(reader).splitlines(), b"{oops", b'{"a": NaN}', b"7", b'"x"', b"null"]
    content = b"\n".join(pool[index % len(pool)] for index in lines)
    batches = read(reader, content)
    if batches is None or not any(_is_container(line) for line in content.splitlines()):
        return
    assert sum(batch.read_count for batch in batches) == len(lines)


def _is_container(line: bytes) -> bool:
    try:
        return isinstance(loads(line), dict | list)
    except ValueError:
        return False


@given(content=st.binary(max_size=400))
@quietly
def test_recognition_of_any_bytes_is_a_reader_or_a_description(content: bytes) -> None:
    source = source_of(content)
    try:
        reader = recognise(source)
    except UnreadableSourceError:
        return
    assert reader.recognise(source.head, source)
