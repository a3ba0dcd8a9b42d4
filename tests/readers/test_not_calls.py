"""What is about calls and holds none is refused by its name, and no call is made of a sum."""

import json

import pytest

from ingest.errors import UnreadableSourceError
from ingest.readers import READERS, recognise
from ingest.readers.not_calls import not_calls

BUCKET = {
    "object": "bucket",
    "start_time": 1790812800,
    "end_time": 1790899200,
    "results": [
        {
            "object": "organization.usage.completions.result",
            "input_tokens": 100,
            "output_tokens": 10,
            "num_model_requests": 7,
        }
    ],
}
SUMS = "sums over many calls, of which no call can be made"


@pytest.mark.parametrize(
    "document",
    [
        BUCKET,
        [BUCKET, BUCKET],
        {"object": "page", "data": [BUCKET], "has_more": False},
        {"starting_at": "2026-10-01T00:00:00Z", "ending_at": "x", "results": []},
        {"data": [{"starting_at": "2026-10-01T00:00:00Z", "results": []}], "has_more": False},
    ],
)
def test_usage_in_buckets_is_refused_by_name(source_of, document: object) -> None:
    source = source_of(json.dumps(document, indent=1).encode())
    assert [reader.name for reader in READERS if reader.recognise(source.head, source)] == []
    with pytest.raises(UnreadableSourceError, match="usage of a provider in buckets of time") as e:
        recognise(source)
    assert SUMS in str(e.value)


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ("start_time,end_time,project_id,num_model_requests,model,input_tokens", SUMS),
        ("usage_date_utc,model_version,usage_input_tokens_no_cache", SUMS),
        ("start_time;end_time;amount_value;amount_currency;line_item", "costs of a provider"),
        ("t,prompt_throughput,gen_throughput,running", "throughput of an engine over time"),
        ("Cloud,GPU Type,On-demand", "a list of prices of GPUs"),
        ("interactions:", "a cassette of recorded HTTP in YAML"),
        ("EncodingName: r50k_base", "test plans of a tokenizer"),
    ],
)
def test_other_files_about_calls_are_refused_by_name(source_of, header: str, what: str) -> None:
    with pytest.raises(UnreadableSourceError, match=what):
        recognise(source_of(f"{header}\n1,2,3\n".encode()))


def test_a_catalogue_of_prices_is_refused_by_name(source_of) -> None:
    for document in (
        {"gpt-x": {"input_cost_per_token": 1e-6, "litellm_provider": "openai"}},
        [{"id": "a", "pricing_urls": [], "models": []}],
    ):
        with pytest.raises(UnreadableSourceError, match="a catalogue of prices, not calls"):
            recognise(source_of(json.dumps(document).encode()))


def test_requests_of_a_batch_are_refused_by_name(source_of) -> None:
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {}}
    with pytest.raises(UnreadableSourceError, match="requests of a batch without their answers"):
        recognise(source_of(json.dumps(line).encode()))


def test_calls_are_not_taken_for_sums() -> None:
    assert not_calls(b'{"start_time": 1, "model": "m"}') is None
    assert not_calls(b"timestamp,model,input_tokens\n") is None
