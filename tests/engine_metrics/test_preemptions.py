"""Preemptions as engines count them, beside their finished calls and their KV memory."""

from collections.abc import Callable
from typing import Any

from analysis.engine import engine
from analysis.preemptions import preemptions, preemptions_verdicts
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
NOON = 1_791_201_600 * S  # 2026-10-05T12:00:00Z
CONFIGURATION = Configuration()


def call(replica: str) -> dict[str, Any]:
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
    }


def vllm(preempted: int, finished: int, kv: float) -> list[str]:
    return [
        'vllm:num_requests_running{model_name="m"} 1',
        f'vllm:num_preemptions_total{{model_name="m"}} {preempted}',
        f'vllm:request_success_total{{model_name="m",finished_reason="stop"}} {finished}',
        f'vllm:kv_cache_usage_perc{{model_name="m"}} {kv}',
    ]


def test_what_counters_grew_by_is_told_by_pool_and_replica(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    # The engine of r1 began again in between: 2 and then 3.
    texts = [
        text_of({0: vllm(5, 100, 0.5), 60: vllm(9, 300, 0.9)}, NOON, " instance=r0"),
        text_of({0: vllm(1, 10, 0), 30: vllm(3, 20, 0), 60: vllm(3, 7, 0.2)}, NOON, " instance=r1"),
    ]
    ledger = ledger_of([call("r0"), call("r1")], texts, CONFIGURATION)
    frame = preemptions(ledger, CONFIGURATION, by=("replica",)).frame
    assert frame.select("pool", "replica", "counted_s", "preemptions", "finished_calls").rows() == [
        ("a", "r0", 60, 4, 200),
        ("a", "r1", 60, 2, 17),
    ]
    assert frame["kv_use_ratio"].to_list() == [0.5, 0]
    whole = preemptions(ledger, CONFIGURATION).frame.row(0, named=True)
    assert (whole["preemptions"], whole["preemption_ratio"]) == (6, 6 / 217)
    assert whole["kv_use_peak_ratio"] == 0.5
    assert whole["preemptions"] == engine(ledger, window=Window()).frame["preemptions"].sum()
    verdicts = preemptions_verdicts(ledger, CONFIGURATION)
    assert verdicts.select("lever", "pool", "applies").rows() == [(17, "a", True), (32, "a", True)]
    assert "6 preemptions among 217 finished calls" in verdicts["evidence"][0]


def test_a_replica_is_chosen_also_where_rows_are_pools(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    texts = [
        text_of({0: vllm(5, 100, 0.5), 60: vllm(9, 300, 0.9)}, NOON, " instance=r0"),
        text_of({0: vllm(1, 10, 0), 60: vllm(3, 20, 0)}, NOON, " instance=r1"),
    ]
    ledger = ledger_of([call("r0"), call("r1")], texts, CONFIGURATION)
    frame = preemptions(ledger, CONFIGURATION, where={"replica": "r0"}).frame
    assert frame.select("pool", "counted_s", "preemptions", "finished_calls").rows() == [
        ("a", 60, 4, 200)
    ]
    other = preemptions(ledger, CONFIGURATION, where={"replica": "r2"})
    assert other.frame.is_empty()
    assert other.notes[1] == "no metrics of the engines that were asked for in this window"


def test_parts_of_the_time_add_up(ledger_of: LedgerOf, text_of: Callable[..., str]) -> None:
    text = text_of({0: vllm(0, 0, 0), 5400: vllm(30, 90, 0)}, NOON, " instance=r0")
    ledger = ledger_of([call("r0")], [text], CONFIGURATION)
    frame = preemptions(ledger, CONFIGURATION, by=("hour",)).frame
    assert frame["hour"].to_list() == ["2026-10-05T12:00+00:00", "2026-10-05T13:00+00:00"]
    assert frame["preemptions"].to_list() == [20, 10]


def test_an_engine_that_preempts_nobody_needs_no_memory(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    text = text_of({0: vllm(7, 0, 0.5), 60: vllm(7, 500, 0.5)}, NOON, " instance=r0")
    ledger = ledger_of([call("r0")], [text], CONFIGURATION)
    assert preemptions_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [False, False]


def test_sglang_tells_the_tokens_that_are_computed_again(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    def lines(count: int) -> list[str]:
        return [
            f'sglang:num_retracted_requests_total{{model_name="m"}} {count}',
            f'sglang:num_retracted_input_tokens_total{{model_name="m"}} {count * 100}',
            f'sglang:num_retracted_output_tokens_total{{model_name="m"}} {count * 7}',
        ]

    ledger = ledger_of(
        [call("r0")], [text_of({0: lines(1), 60: lines(4)}, NOON, " instance=r0")], CONFIGURATION
    )
    row = preemptions(ledger, CONFIGURATION).frame.row(0, named=True)
    assert (row["preemptions"], row["preempted_input_tokens"]) == (3, 300)
    assert (row["preempted_output_tokens"], row["finished_calls"]) == (21, None)


def test_without_metrics_it_says_how_to_get_some(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call("r0")], [], CONFIGURATION)
    answer = preemptions(ledger, CONFIGURATION)
    assert answer.frame.is_empty()
    assert any("the ledger has no metrics of engines" in note for note in answer.notes)
    assert preemptions_verdicts(ledger, CONFIGURATION).is_empty()


def test_an_engine_that_does_not_count_them_is_not_one_without(
    ledger_of: LedgerOf, text_of: Callable[..., str]
) -> None:
    lines = ['llamacpp:requests_processing{model="m"} 1', "llamacpp:tokens_predicted_total 5"]
    ledger = ledger_of(
        [call("r0")], [text_of({0: lines, 60: lines}, NOON, " instance=r0 pool=a")], CONFIGURATION
    )
    answer = preemptions(ledger, CONFIGURATION)
    verdicts = preemptions_verdicts(ledger, CONFIGURATION)
    assert answer.frame["preemptions"].to_list() == [None]
    assert any("a: not told how often calls were preempted" in note for note in answer.notes)
    assert verdicts["applies"].to_list() == [None, None]
