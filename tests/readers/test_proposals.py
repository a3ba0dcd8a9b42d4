"""A file of records that no reader takes gets a mapping proposed, by which it is read."""

import io
import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from ingest.errors import UnreadableSourceError
from ingest.files import Source
from ingest.readers import recognise
from ingest.readers.mapped_files import MappedFile
from ingest.readers.mapping_file import mapping_of

CSV = b"""when sent,timestamp,latency_ms,model,prompt_tokens,completion_tokens,cost_usd,zebra
x,1790841600500,1500,gpt-x,100,20,0.0045,1
"""
ROW = {"timestamp": 1790841600500, "latency_ms": 1500, "model": "gpt-x", "prompt_tokens": 100}
JSONL = json.dumps({**ROW, "completion_tokens": 20, "zebra": 1}).encode() + b"\n"


def as_parquet() -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([json.loads(JSONL)]), sink)
    return sink.getvalue()


def proposed(source: Source) -> str:
    with pytest.raises(UnreadableSourceError, match="no reader recognises it") as refused:
        recognise(source)
    advice, found, text = str(refused.value).partition("--map mapping.toml:\n\n")
    assert found, advice
    return text


@pytest.mark.parametrize("content", [CSV, JSONL, as_parquet()], ids=["csv", "jsonl", "parquet"])
def test_a_proposed_mapping_reads_the_file_that_it_was_proposed_for(
    source_of, content: bytes
) -> None:
    text = proposed(source_of(content))
    assert "# not mapped: " in text
    assert '"zebra"' in text
    mapping = mapping_of(tomllib.loads(text), "mapping.toml")
    (batch,) = MappedFile(mapping).read(source_of(content))
    (call,) = batch.calls
    assert list(batch.rejects) == []
    assert (call.arrived_at, call.ended_at) == (1790841600_500000000, 1790841602_000000000)
    assert (call.uncached_input_tokens, call.visible_output_tokens) == (100, 20)
    assert call.model == "gpt-x"


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,c\n1,2,3\n",
        b"timestamp,user,message\n1,2,3\n",
        b'{"timestamp": 1, "user": "x"}\n',
        b"num_model_requests,model,input_tokens,start_time\n1,m,5,1\n",
        b"PAR1 and nothing else",
        b"prose about a model",
    ],
)
def test_records_that_are_no_calls_get_no_proposal(source_of, content: bytes) -> None:
    with pytest.raises(UnreadableSourceError) as refused:
        recognise(source_of(content))
    assert "--map mapping.toml" not in str(refused.value)


def test_the_mapping_on_the_page_is_one() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    (text,) = [block for block in blocks if "[columns]" in block]
    mapping = mapping_of(tomllib.loads(text), "mapping.toml")
    assert mapping.table.identity == ("id",)
    assert mapping.columns["arrived_at"].unit == "ms"
