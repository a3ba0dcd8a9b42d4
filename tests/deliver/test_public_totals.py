"""Public files give the totals that are known of them, and nothing more the second time."""

from pathlib import Path

import pytest

from ingest.config import Configuration
from ingest.deliver import DeliveryCounts, deliver_paths
from ingest.ledger import Ledger

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.exists(), reason="the public files are not here"),
]

TOTALS = {
    "A_azure_llm_2023/AzureLLMInferenceTrace_code.csv": (8_819, 18_059_974, 245_896),
    "A_llmservingsim_vllm/rtx4090_llama31_8b/requests.jsonl": (300, 257_239, 195_753),
    "A_mooncake/synthetic_trace.jsonl": (3_993, 61_194_628, 595_432),
}


@pytest.mark.parametrize("path", TOTALS)
def test_a_trace_has_its_known_totals_once(ledger: Ledger, path: str) -> None:
    call_count, input_tokens, output_tokens = TOTALS[path]
    expected = [(call_count, 0), (0, call_count)]
    for new, duplicate in expected:
        (result,) = deliver_paths(ledger, [str(SHARED / path)], Configuration())
        assert result.counts == DeliveryCounts(
            read=call_count, new=new, duplicate=duplicate, rejected=0, conflict=0
        )
    found = ledger.connection.execute(
        "select count(*), sum(input_tokens), sum(output_tokens) from calls"
    ).fetchall()
    assert found == [(call_count, input_tokens, output_tokens)]


def test_spans_of_a_cpu_server_count_once_in_json_and_in_protobuf(ledger: Ledger) -> None:
    results = deliver_paths(ledger, [str(SHARED / "vllm_cpu" / "traces-*")], Configuration())
    assert all(result.counts for result in results)
    assert sum(result.counts.conflict for result in results if result.counts) == 0
    found = ledger.connection.execute(
        "select count(*), sum(reported_input_tokens), sum(reported_output_tokens) from calls"
    ).fetchall()
    assert found == [(59, 11_182, 1_496)]


def test_the_envoy_recordings_have_their_known_totals(ledger: Ledger) -> None:
    deliver_paths(ledger, [str(SHARED / "B_envoy_aigw_openinference")], Configuration())
    found = ledger.connection.execute(
        "select count(*), sum(input_tokens), sum(output_tokens), sum(reasoning_tokens) from calls"
    ).fetchall()
    assert found == [(8, 295, 1_582, 1_380)]
