"""What engines say of their own size goes before the configuration, and is of one replica."""

from collections.abc import Callable
from typing import Any

from analysis.capacity.sizes import Size, told_sizes
from analysis.concurrency import concurrency
from analysis.engine import engine
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
NOON = 1_791_201_600 * S  # 2026-10-05T12:00:00Z
CONFIGURATION = Configuration(pools=(Pool(name="a", replicas=2, kv_cache_tokens=7),))


def call(replica: str, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": replica,
        "model": "m",
        "pool": "a",
        "replica": replica,
        "timing_source": "engine",
        "arrived_at": NOON,
        "started_at": NOON,
        "first_token_at": NOON + S,
        "ended_at": NOON + 9 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


def vllm(blocks: str, rank: int = 0) -> list[str]:
    return [
        f'vllm:num_requests_running{{model_name="m",engine="{rank}"}} 1',
        f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{blocks}",engine="{rank}"}} 1.0',
    ]


def test_blocks_times_their_tokens_are_the_memory_of_a_replica(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    scrapes = [
        text_of({0: vllm("1000"), 5: vllm("1000")}, NOON, " instance=r0"),
        text_of({0: [*vllm("500"), *vllm("600", 1)]}, NOON, " instance=r1"),
    ]
    ledger = ledger_of([call("r0"), call("r1")], scrapes, CONFIGURATION)
    assert told_sizes(ledger.connection) == {
        "a": {
            "r0": Size(kv_cache_tokens=16_000),
            "r1": Size(kv_cache_tokens=17_600),
            None: Size(kv_cache_tokens=16_000),
        }
    }
    frame = concurrency(ledger, CONFIGURATION, by=("replica",)).frame
    assert frame["kv_cache_tokens"].to_list() == [16_000, 17_600]


def test_a_size_is_no_engine_of_its_own(ledger_of: LedgerOf, text_of: Callable[..., str]) -> None:
    scrapes = [text_of({0: vllm("1000"), 5: vllm("1000")}, NOON, " instance=r0")]
    ledger = ledger_of([call("r0")], scrapes, CONFIGURATION)
    frame = engine(ledger, window=Window()).frame
    assert frame.select("pool", "replica", "model").rows() == [("a", "r0", "m")]


def test_sglang_tells_tokens_and_the_longest_context(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    lines = [
        'sglang:num_running_reqs{model_name="m"} 1',
        'sglang:max_total_num_tokens{model_name="m"} 50000',
        'sglang:context_len{model_name="m"} 8192',
    ]
    ledger = ledger_of([call("r0")], [text_of({0: lines}, NOON)], CONFIGURATION)
    told = told_sizes(ledger.connection)["a"]
    assert told[None] == Size(kv_cache_tokens=50_000, max_model_len=8_192)


def test_blocks_that_are_no_number_are_no_size(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    ledger = ledger_of([call("r0")], [text_of({0: vllm("None")}, NOON)], CONFIGURATION)
    assert told_sizes(ledger.connection) == {}
    assert concurrency(ledger, CONFIGURATION).frame["kv_cache_tokens"].to_list() == [7]
