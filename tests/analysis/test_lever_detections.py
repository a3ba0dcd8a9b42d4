"""Levers that are told by queues, limits, idle time, batch and length: yes, no, or not known."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.levers import levers
from ingest.config import Configuration, Pool, Slo

S = 1_000_000_000
T0 = 1_794_304_800 * S  # 2026-11-10T10:00:00Z
POOL = Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.6"), replicas=2)
CONFIGURATION = Configuration(pools=(POOL,))


def call(number: int, begin_s: float, *, queue_s: float = 0, **columns: Any) -> dict[str, Any]:
    """A call of ten seconds, nine of which decode, on one of two replicas."""
    start = T0 + round(begin_s * S)
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/ask",
        "replica": f"r{number % 2}",
        "timing_source": "engine",
        "prompt_hash": f"p{number}",
        "arrived_at": start - round(queue_s * S),
        "started_at": start,
        "first_token_at": start + S,
        "ended_at": start + 10 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
        **columns,
    }


def row(ledger: Any, number: int, configuration: Configuration = CONFIGURATION) -> dict[str, Any]:
    frame = levers(ledger, configuration).frame
    found: dict[str, Any] = frame.row(by_predicate=pl.col("number") == number, named=True)
    return found


@pytest.fixture(scope="module")
def quiet(ledger_of: Any) -> Any:
    """Calls one after the other: no queue, no tail, half of the time idle."""
    return ledger_of([call(n, n * 10) for n in range(4)], CONFIGURATION)


def test_idle_time_is_evidence_for_other_sizes(quiet: Any) -> None:
    line = row(quiet, 44)
    assert line["applies"] == "yes"
    assert line["evidence"] == (
        "gpus is idle for 50% of 80 provisioned GPU-seconds, 0.040000 USD; of another line of the "
        "bill than the savings here"
    )
    assert line["attributed_gpu_seconds"] is None
    assert line["missing"].startswith("needs the model to say how few replicas")


def test_what_is_told_of_pools_says_so_where_calls_are_chosen(quiet: Any) -> None:
    chosen = levers(quiet, CONFIGURATION, where={"endpoint": "/ask"}).frame
    line = chosen.row(by_predicate=pl.col("number") == 39, named=True)
    assert line["evidence"] == (
        "no queue stands while calls run; of whole pools, whatever calls were asked for"
    )


def test_a_pool_that_is_busy_needs_no_other_size(ledger_of: Any) -> None:
    busy = Configuration(pools=(Pool(name="gpus", models=("m",), replicas=1),))
    ledger = ledger_of([call(n, n * 10, replica="r") for n in range(4)], busy)
    assert row(ledger, 44, busy)["evidence"] == (
        "gpus is idle for 0% of 40 provisioned GPU-seconds"
    )
    assert row(ledger, 44, busy)["applies"] == "no"


def test_decode_with_few_calls_at_once_is_bound_by_memory(ledger_of: Any) -> None:
    calls = [call(n, n * 1_000) for n in range(4)]
    long = [one | {"ended_at": one["started_at"] + 1_000 * S} for one in calls]
    ledger = ledger_of(long, CONFIGURATION)
    for number in (31, 33):
        line = row(ledger, number)
        assert line["applies"] == "yes"
        assert line["evidence"].startswith(
            "m on gpus: B 1.0, 100% of 4,000 GPU-seconds are decode; a candidate by its small B, "
            "no saving is attributed: "
        )
        assert line["missing"].startswith("needs ")
        assert line["attributed_gpu_seconds"] is None


def test_less_decode_than_a_gpu_hour_is_no_candidate(quiet: Any) -> None:
    for number in (31, 33):
        line = row(quiet, number)
        assert line["applies"] == "no"
        assert line["evidence"].endswith(
            "is less than a GPU-hour, or many calls run at once: m on gpus: B 1.0, 90% of 40 "
            "GPU-seconds are decode"
        )


def test_many_calls_at_once_leave_nothing_to_speculate_with(ledger_of: Any) -> None:
    ledger = ledger_of([call(n, 0, replica="r") for n in range(20)], CONFIGURATION)
    assert [row(ledger, number)["applies"] for number in (31, 33)] == ["no", "no"]
    assert "B 20.0" in row(ledger, 33)["evidence"]


def test_calls_without_phases_do_not_tell_what_decode_waits_for(ledger_of: Any) -> None:
    rented = Configuration()
    calls = [call(n, n * 10, replica=None, timing_source="span") for n in range(3)]
    line = row(ledger_of(calls, rented), 31, rented)
    assert (line["applies"], line["evidence"]) == ("unknown", None)
    assert line["missing"].startswith("needs calls that are charged by GPU-seconds")


def test_a_loop_that_serves_one_at_a_time_while_others_wait(ledger_of: Any) -> None:
    one = Configuration(pools=(Pool(name="gpus", models=("m",), replicas=1),))
    calls = [call(n, n * 10, queue_s=n * 10, replica="r") for n in range(4)]
    line = row(ledger_of(calls, one), 39, one)
    assert line["applies"] == "yes"
    assert line["evidence"] == "1.0 calls run at once while others wait (gpus)"


def test_what_takes_calls_beside_others_or_makes_them_wait_alone_is_no_loop(ledger_of: Any) -> None:
    one = Configuration(pools=(Pool(name="gpus", models=("m",), replicas=1),))
    joined = [call(n, n * 8, queue_s=4, replica="r") for n in range(4)]
    line = row(ledger_of(joined, one), 39, one)
    assert line["applies"] == "no"
    assert line["evidence"].endswith("; 75.0% of calls start while others decode (gpus)")
    alone = [call(n, n * 20, queue_s=4, replica="r") for n in range(4)]
    line = row(ledger_of(alone, one), 39, one)
    assert (line["applies"], line["evidence"]) == (
        "no", "0.0 calls run at once while others wait (gpus)",
    )  # fmt: skip


def test_without_a_queue_no_engine_is_too_plain(quiet: Any) -> None:
    line = row(quiet, 39)
    assert (line["applies"], line["evidence"]) == ("no", "no queue stands while calls run")


def test_the_size_of_kv_memory_decides_whether_it_is_the_limit(ledger_of: Any) -> None:
    calls = [call(n, n * 10) for n in range(4)]
    unsized = row(ledger_of(calls, CONFIGURATION), 32)
    assert unsized["applies"] == "unknown"
    assert unsized["missing"].startswith("needs how many tokens its KV memory has room for")
    pool = Pool(name="gpus", models=("m",), replicas=2, kv_cache_tokens=1000)
    sized = Configuration(pools=(pool,))
    assert row(ledger_of(calls, sized), 32, sized)["applies"] == "no"


def test_a_promise_that_is_broken_asks_for_other_batches(quiet: Any) -> None:
    strict = Configuration(pools=(POOL,), slos=(Slo(endpoint="/ask", ttft_p95_s=0.5),))
    line = row(quiet, 20, strict)
    assert line["applies"] == "yes"
    assert line["evidence"] == "/ask meets its limits in 0.0% of 4 calls"
    assert row(quiet, 20)["missing"].startswith("needs SLOs in the configuration")
    assert "\n" not in row(quiet, 20)["missing"]


def test_answers_beyond_the_p99_are_claimed_for_the_tokens_beyond_it(ledger_of: Any) -> None:
    usual = [call(n, n * 10) for n in range(200)]
    # The p99 of 200 lengths is the second longest but two: 10 tokens. Two have 20.
    tail = [call(200 + n, 2000 + n * 10, visible_output_tokens=20) for n in range(2)]
    line = row(ledger_of([*usual, *tail], CONFIGURATION), 22)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "2 answers beyond the p99 of the endpoint, most at /ask (p99 10 tokens, longest 20): 9 "
        "GPU-seconds"
    )
    # Half of nine seconds of decode, of two calls.
    assert line["attributed_gpu_seconds"] == pytest.approx(9.0)


def test_where_all_answers_have_one_length_there_is_no_tail(ledger_of: Any) -> None:
    ledger = ledger_of([call(n, n * 10) for n in range(120)], CONFIGURATION)
    assert row(ledger, 22)["applies"] == "no"
    assert row(ledger, 42)["applies"] == "no"


def test_a_long_tail_is_evidence_for_limits(ledger_of: Any) -> None:
    lengths = [100] * 110 + [5000] * 10
    calls = [call(n, n * 10, uncached_input_tokens=tokens) for n, tokens in enumerate(lengths)]
    line = row(ledger_of(calls, CONFIGURATION), 42)
    assert line["applies"] == "yes"
    assert line["evidence"] == (
        "input of /ask has p99 5,000 tokens, 50.0 times the median, the longest 5,000"
    )


def test_switches_between_adapters_are_counted_by_replica(ledger_of: Any) -> None:
    calls = [call(n, n * 10, adapter="ab"[n // 2 % 2]) for n in range(8)]
    line = row(ledger_of(calls, CONFIGURATION), 43)
    assert line["applies"] == "yes"
    # Each of two replicas serves a, b, a, b.
    assert line["evidence"] == (
        "0 regions, 2 adapters; 6 of 8 calls with an adapter follow one with another adapter on "
        "their replica"
    )
    alone = [call(n, n * 10, adapter="a") for n in range(4)]
    assert row(ledger_of(alone, CONFIGURATION), 43)["applies"] == "no"


def test_what_takes_an_engine_is_not_guessed(quiet: Any) -> None:
    for number in (34, 35):
        line = row(quiet, number)
        assert line["applies"] == "unknown"
        assert line["missing"].startswith("needs ")
        assert line["evidence"] == "most is m on gpus: 4 calls, 40 GPU-seconds"


def test_few_answers_to_many_prompts_are_claimed(ledger_of: Any) -> None:
    calls = [call(n, n * 10, output_hash=f"o{n % 2}") for n in range(60)]
    line = row(ledger_of(calls, CONFIGURATION), 6)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "/ask is answered with 2 values, ten of which cover 100.0% of 60 calls: 600 GPU-seconds"
    )
    assert line["attributed_gpu_seconds"] == pytest.approx(600.0)


def test_a_cheaper_type_of_gpu_is_evidence_beside_idle_time(ledger_of: Any) -> None:
    pools = (
        Pool(name="dear", gpu="H100", price_per_gpu_hour=Decimal("3.6")),
        Pool(name="cheap", gpu="L4", price_per_gpu_hour=Decimal("1.8")),
    )
    both = Configuration(pools=pools)
    calls = [call(n, n * 10, pool=("dear", "cheap")[n % 2], replica="r") for n in range(4)]
    line = row(ledger_of(calls, both), 44, both)
    assert line["applies"] == "yes"
    assert "m on L4 costs 50% of what it costs on H100" in line["evidence"]


def test_with_one_type_of_gpu_another_is_missing(ledger_of: Any) -> None:
    typed = Configuration(
        pools=(Pool(name="gpus", models=("m",), gpu="H100", price_per_gpu_hour=Decimal(1)),)
    )
    line = row(ledger_of([call(n, n * 10) for n in range(4)], typed), 44, typed)
    assert "needs what another type of GPU does with m: the ledger has one" in line["missing"]


def test_tools_of_one_answer_could_run_side_by_side(ledger_of: Any) -> None:
    ledger = ledger_of([call(1, 0, trace_id="t", span_id="call")], CONFIGURATION)
    spans = [("root", None, 0, 30), ("call", "root", 0, 10), ("a", "root", 10, 15),
             ("b", "root", 15, 22)]  # fmt: skip
    for name, parent, begin, end in spans:
        times = (T0 + begin * S, T0 + end * S)
        ledger.connection.execute(
            "insert into spans values ('t', ?, ?, ?, 'internal', ?, ?, 'ok', null, 'app', null, "
            "'{}', '{}', '[]', 1, '', 1)",
            [name, parent, name, *times],
        )
        if name in "ab":
            ledger.connection.execute(
                "insert into tool_runs values ('t', ?, ?, 'x', ?, ?, 'ok', null, null, 1)",
                [name, parent, *times],
            )
    line = row(ledger, 7)
    assert line["applies"] == "yes"
    assert line["evidence"] == (
        "5.0 s of /ask by tool steps side by side, told by one answer; waiting time on the "
        "critical path, no GPU time"
    )


def test_without_spans_it_is_not_known_what_could_run_side_by_side(quiet: Any) -> None:
    assert row(quiet, 7)["missing"].startswith("needs traces with their tool runs")


def test_a_prompt_that_begins_with_the_answer_before_it_could_be_one_call(ledger_of: Any) -> None:
    hashes = list(range(40))
    told: dict[str, Any] = {"trace_id": "t", "endpoint": "/write", "prefix_block_tokens": 16}
    calls = [
        call(1, 0, **told, prefix_hashes=hashes[:20], uncached_input_tokens=320,
             visible_output_tokens=80),
        call(2, 10.5, **told, prefix_hashes=hashes[:31], uncached_input_tokens=500),
    ]  # fmt: skip
    line = row(ledger_of(calls, CONFIGURATION), 5)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "1 call right after another one, whose prompts begin with its prompt and answer: 1 "
        "GPU-seconds"
    )
    # 400 of the 500 tokens of the second prompt were there: 4/5 of its second of prefill. Of these
    # 320 were held by the other replica, and lever 13 comes before.
    assert line["alone_gpu_seconds"] == pytest.approx(0.8)
    assert line["attributed_gpu_seconds"] == pytest.approx(0.8 - 0.64)


def test_calls_without_a_trace_do_not_tell_chains(quiet: Any) -> None:
    assert row(quiet, 5)["missing"] == "needs traces or conversations around calls"


def test_where_nothing_is_told_it_is_not_known_what_repeats(ledger_of: Any) -> None:
    silent: dict[str, Any] = {"trace_id": "t", "span_id": "s", "prompt_hash": None, "replica": "r0"}
    ledger = ledger_of([call(1, 0, **silent, status="error"), call(2, 20, **silent)], CONFIGURATION)
    ledger.connection.execute(
        "insert into spans values ('t', 's', null, 's', 'internal', ?, ?, 'ok', null, 'app', null, "
        "'{}', '{}', '[]', 1, '', 1)",
        [T0, T0 + 10 * S],
    )
    retrying, looping, code, parallel = (row(ledger, number) for number in (3, 4, 6, 7))
    assert [line["applies"] for line in (retrying, looping, code, parallel)] == ["unknown"] * 4
    assert retrying["missing"].startswith("not compared: 1 of 1 failed calls tell no prompt; send")
    assert looping["missing"].startswith("needs runs of tools or hashes of answers")
    assert code["missing"].startswith("needs hashes or texts of answers: no answer here has a hash")
    assert parallel["missing"].startswith("not compared: 2 of 2 calls tell no prompt; send prompts")


def test_failed_attempts_are_claimed_and_truncated_answers_are_not(ledger_of: Any) -> None:
    again: dict[str, Any] = {"trace_id": "t", "input_hash": "p", "replica": "r0"}
    calls = [
        call(1, 0, status="error", attempt=1, retry_of="9" * 32, replica="r0"),
        call(2, 20, status="error", attempt=2, retry_of="9" * 32, replica="r0"),
        call(3, 40, attempt=3, retry_of="9" * 32, replica="r0"),
        call(4, 60, finish_reason="length", **again),
        call(5, 80, finish_reason="stop", **again),
    ]
    line = row(ledger_of(calls, CONFIGURATION), 3)
    assert line["alone_gpu_seconds"] == pytest.approx(20.0)
    assert line["evidence"] == (
        "2 attempts in vain: 2 error: 20 GPU-seconds (40.0%), 0.020000 USD, all of it at /ask; at "
        "most: 1 of these, 10.000 GPU-seconds, is the first attempt of an operation that "
        "recovered, which no cap avoids; 1 truncated answer asked for again: see lever 22"
    )
    alone = row(ledger_of(calls[3:], CONFIGURATION), 3)
    assert (alone["applies"], alone["evidence"]) == (
        "no", "no failed attempt was made again; 1 truncated answer asked for again: see lever 22",
    )  # fmt: skip
