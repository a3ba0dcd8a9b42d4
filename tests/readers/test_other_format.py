"""A file read as another format than its own is refused as a whole; bad records stay rejects."""

import re
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.files import RefusedSourceError, Source, open_sources
from ingest.readers import READERS, reader_named
from ingest.readers.other_format import read_as
from ingest.records import Batch

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file())


def traces() -> bytes:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16)
    span.span_id, span.name, span.start_time_unix_nano = b"s" * 8, "chat", 1
    return data.SerializeToString()


def logs() -> bytes:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano, record.body.string_value = 1, "x"
    return data.SerializeToString()


OTHERS = {
    "traces.pb": traces(),
    "logs.pb": logs(),
    "metrics.json": b'{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", '
    b'"gauge": {"dataPoints": [{}]}}]}]}]}',
    "langfuse.json": b'{"trace": {"id": "t"}, "observations": [{"id": "o", "type": "GENERATION"}]}',
    "answer.json": b'{"data": [{"id": "batch_1", "object": "batch"}], "object": "list"}',
    "litellm.jsonl": b'{"request_id": "a", "spend": 0.1, "startTime": "2026-01-01T00:00:00Z"}\n'
    * 3,
    "numbers.json": b"[1, 2, 3]",
    "notes.csv": b"a,b\n1,2\n",
    "prose.txt": b"dear diary\n",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every fixture of a reader, and files that no reader takes."""
    folder = tmp_path_factory.mktemp("other")
    for name, content in OTHERS.items():
        (folder / name).write_bytes(content)
    return [*FILES, *sorted(folder.iterdir())]


def read(path: Path, format_name: str) -> list[Batch]:
    (source,) = open_sources([str(path)])
    assert isinstance(source, Source)
    return list(read_as(reader_named(format_name), source))


def counts(path: Path, format_name: str) -> tuple[int, int]:
    """Calls and rejects."""
    batches = read(path, format_name)
    return sum(len(b.calls) for b in batches), sum(len(b.rejects) for b in batches)


def own_format(path: Path) -> str | None:
    (source,) = open_sources([str(path)])
    assert isinstance(source, Source)
    names = [reader.name for reader in READERS if reader.recognise(source.head, source)]
    return names[0] if names else None


BOTH = {
    ("otlp-json", "otlp-jsonl"),
    ("otlp-jsonl", "otlp-json"),
    ("otlp-jsonl", "otlp-metrics"),
}
"""What a file is, and what it may be read as besides: its lines may be of traces and of metrics."""


@pytest.mark.parametrize("name", [reader.name for reader in READERS])
def test_a_reader_refuses_every_file_of_another_format(name: str, files: list[Path]) -> None:
    for path in files:
        own = own_format(path)
        if own == name or (own, name) in BOTH:
            assert sum(b.read_count + b.ignored_count for b in read(path, name)) > 0
            continue
        with pytest.raises(RefusedSourceError) as refused:
            read(path, name)
        assert own is None or f"; it looks like {own} (" in refused.value.found


@pytest.mark.parametrize(
    ("format_name", "content", "said"),
    [
        ("mooncake", b'{"resourceMetrics": []}', "it looks like otlp-metrics (OTLP"),
        ("mooncake", b"dear diary\n", "data: no JSON but text beginning 'dear diary'"),
        ("native", b'{"zebra": 1}', "it is JSON with the keys zebra"),
        ("azure-llm-trace", b"a,b\n1,2\n", "a CSV file without the column TIMESTAMP; it is text"),
    ],
)
def test_the_error_says_what_was_found(
    tmp_path: Path, format_name: str, content: bytes, said: str
) -> None:
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(RefusedSourceError, match=re.escape(said)):
        read(tmp_path / "data", format_name)


def test_the_error_says_what_was_expected_and_where_it_fails(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b'{"resourceMetrics": []}\n' * 2)
    said = (
        "not in the format mooncake, JSON lines with timestamp, input_length and output_length "
        "(line 1: timestamp is missing); it looks like otlp-metrics (OTLP metrics"
    )
    with pytest.raises(RefusedSourceError, match=re.escape(said)):
        read(tmp_path / "data", "mooncake")


def test_a_file_with_bad_records_only_is_of_its_format_and_keeps_its_rejects(
    tmp_path: Path,
) -> None:
    bad = b'{"timestamp": -1, "input_length": -2, "output_length": 3}\n'
    (tmp_path / "data").write_bytes(bad * 2)
    assert counts(tmp_path / "data", "mooncake") == (0, 2)


def test_a_good_record_after_foreign_ones_keeps_the_file_and_its_rejects(tmp_path: Path) -> None:
    good = b'{"timestamp": 1, "input_length": 2, "output_length": 3}\n'
    (tmp_path / "data").write_bytes(b'{"resourceLogs": []}\n' * 3 + good + b"{broken\n")
    assert counts(tmp_path / "data", "mooncake") == (1, 4)
