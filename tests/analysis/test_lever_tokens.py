"""Levers of tokens that were computed again, and of tokens that need not be written."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analysis.levers import levers
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
POOL = Pool(name="a", models=("m",), replicas=2, price_per_gpu_hour=Decimal(36))
CONFIGURATION = Configuration(pools=(POOL,))
WRAPPED = (
    "Here is the JSON:\n```json\n"
    '{"label":"spam","reason":"It offers a lot of money for nothing to all who answer it today"}'
    "\n```\nLet me know if you need more."
)
QUESTION = "How do I reset my password?"
PROSE = "Open the settings first. Then choose what you want to see, and save it. Done."
RESTATING = "You asked how to reset your password. Open Settings. Then choose Security."


def call(number: int, hashes: list[int] | None = None, **columns: Any) -> dict[str, Any]:
    """A second of prefill and one of decode; blocks of 16 tokens, and 4 tokens more."""
    at = MIDNIGHT + number * 10 * S
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "model": "m",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": at,
        "started_at": at,
        "first_token_at": at + S,
        "ended_at": at + 2 * S,
        "uncached_input_tokens": 16 * len(hashes or []) + 4 - columns.get("cache_read_tokens", 0),
        "visible_output_tokens": 24,
        "prefix_hashes": hashes,
        "prefix_block_tokens": 16,
    } | columns


def row(
    ledger: Ledger, number: int, configuration: Configuration = CONFIGURATION
) -> dict[str, Any]:
    frame = levers(ledger, configuration).frame
    found: dict[str, Any] = frame.row(by_predicate=pl.col("number") == number, named=True)
    return found


def test_a_cache_that_is_off_loses_the_prefill_of_what_is_shared(ledger_of: LedgerOf) -> None:
    calls = [call(n, [1, 2], cache_read_tokens=0) for n in range(3)]
    line = row(ledger_of(calls, CONFIGURATION), 11)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "64 of 108 computed tokens of prompts would be held by a cache of their replica, in 2 calls"
    )
    # 32 of 36 tokens of two calls, a second each.
    assert line["attributed_gpu_seconds"] == pytest.approx(2 * 32 / 36)


def test_a_cache_that_is_on_has_nothing_to_gain(ledger_of: LedgerOf) -> None:
    calls = [call(n, [1, 2], cache_read_tokens=32 * (n > 0)) for n in range(3)]
    ledger = ledger_of(calls, CONFIGURATION)
    assert row(ledger, 11)["applies"] == "no"
    assert row(ledger, 13)["evidence"] == (
        "0 of 44 computed tokens of prompts were held by another replica"
    )


def test_what_was_read_from_caches_has_to_be_told(ledger_of: LedgerOf) -> None:
    line = row(ledger_of([call(n, [1, 2]) for n in range(2)], CONFIGURATION), 11)
    assert line["missing"].startswith("needs what calls read from a cache")
    unhashed = row(ledger_of([call(1)], CONFIGURATION), 11)
    assert unhashed["missing"].startswith("needs prompts or prefix hashes")


def test_a_time_before_long_text_keeps_it_out_of_caches(ledger_of: LedgerOf) -> None:
    rules = "Answer in two sentences and cite the source of each. " * 20
    said = [f'[{{"role": "system", "content": "It is 10:0{n} now. {rules}"}}]' for n in range(3)]
    calls = [call(n, prompt=text, uncached_input_tokens=250) for n, text in enumerate(said)]
    line = row(ledger_of(calls, CONFIGURATION), 12)
    assert (line["applies"], line["tier"]) == ("yes", 2)
    assert "(2 by time): 448 of 750 computed tokens" in line["evidence"]
    assert line["attributed_gpu_seconds"] == pytest.approx(2 * 224 / 250)
    alike = [one | {"prompt": said[0]} for one in calls]
    assert row(ledger_of(alike, CONFIGURATION), 12)["applies"] == "no"


def test_another_replica_held_it(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, [1, 2], replica="r1")]
    line = row(ledger_of(calls, CONFIGURATION), 13)
    assert line["applies"] == "yes"
    assert line["attributed_gpu_seconds"] == pytest.approx(32 / 36)


def test_a_cache_that_is_too_small_has_to_be_told(ledger_of: LedgerOf) -> None:
    calls = [call(1, [1, 2]), call(2, list(range(100, 110))), call(3, [1, 2])]
    assert row(ledger_of(calls, CONFIGURATION), 14)["missing"] == (
        "needs the room of caches: take the metrics of engines, or set kv_cache_tokens of [[pools]]"
    )
    pool = Pool(name="a", models=("m",), replicas=1, kv_cache_tokens=160)
    small = Configuration(pools=(pool,))
    line = row(ledger_of(calls, small), 14, small)
    assert line["applies"] == "yes"
    assert line["attributed_gpu_seconds"] == pytest.approx(32 / 36)
    assert line["attributed_cost"] is None


def test_sentences_of_many_answers_are_claimed_once(ledger_of: LedgerOf) -> None:
    closing = "Please ask a doctor before you act."
    calls = [
        call(n, prompt="What now?", completion=f"Case {n} is like no other one. {closing}")
        for n in range(12)
    ]
    line = row(ledger_of(calls, CONFIGURATION), 26)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "0 answers with the question said again, 0 tokens; 12 answers with sentences of many others"
    )
    # The sentence has 8 tokens of the 24 that are reported; a second of decode each.
    assert line["attributed_gpu_seconds"] == pytest.approx(12 * 8 / 24)


def test_prose_with_a_long_tail_may_be_brief(ledger_of: LedgerOf) -> None:
    lengths = [20] * 110 + [900] * 10
    calls = [
        call(n, prompt="Tell me.", completion=PROSE, visible_output_tokens=tokens)
        for n, tokens in enumerate(lengths)
    ]
    line = row(ledger_of(calls, CONFIGURATION), 24)
    assert line["applies"] == "yes"
    assert line["evidence"] == "prose of /chat has p99 900 tokens, 45.0 times the median"
    assert line["missing"] == "needs a replay with a concise instruction"
    assert row(ledger_of(calls[:110], CONFIGURATION), 24)["applies"] == "no"


def test_text_around_json_need_not_be_written(ledger_of: LedgerOf) -> None:
    calls = [call(n, prompt=QUESTION, completion=WRAPPED) for n in range(4)]
    ledger = ledger_of(calls, CONFIGURATION)
    stop, structured, restated = (row(ledger, number) for number in (23, 25, 26))
    # Of 40 tokens 8 stand before the JSON and 10 behind it, a second of decode each call.
    assert stop["evidence"].startswith(
        "4 answers with text after the end of the JSON, 40 tokens: 1 GPU-seconds"
    )
    assert stop["attributed_gpu_seconds"] == pytest.approx(4 * 10 / 40)
    # Parts of one answer are on different tokens: none takes from the other.
    assert structured["attributed_gpu_seconds"] == pytest.approx(4 * 8 / 40)
    assert structured["alone_gpu_seconds"] == structured["attributed_gpu_seconds"]
    assert restated["applies"] == "no"


def test_what_saves_next_to_nothing_does_not_apply(ledger_of: LedgerOf) -> None:
    """Half a second of decode (2 x 10 of 40 tokens), of some 4,900 or 5,100 in all."""
    long = call(9, endpoint="/other", completion=PROSE)
    wrapped = [call(n, prompt=QUESTION, completion=WRAPPED) for n in range(2)]
    for seconds, applies in ((4_900, "yes"), (5_100, "no")):
        long["ended_at"] = long["started_at"] + seconds * S
        line = row(ledger_of([*wrapped, long], CONFIGURATION), 23)
        assert line["applies"] == applies
    assert line["evidence"] == (
        "2 answers with text after the end of the JSON, 20 tokens; that saves less than 0.01% of "
        "the bill"
    )
    assert line["attributed_gpu_seconds"] is None


def test_names_of_keys_alone_are_no_saving(ledger_of: LedgerOf) -> None:
    calls = [call(n, prompt=QUESTION, completion='{"customer_identifier":1}') for n in range(2)]
    line = row(ledger_of(calls, CONFIGURATION), 25)
    assert line["applies"] == "no"
    assert line["evidence"].startswith(
        "0 tokens before JSON, 0 of blanks in it; names of keys are "
    )


def test_a_question_said_again_need_not_be(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(
        [call(1, prompt=QUESTION, completion=RESTATING, visible_output_tokens=15)], CONFIGURATION
    )
    line = row(ledger, 26)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith("1 answer with the question said again, ")
    # 8 of 15 tokens, a second of decode.
    assert line["attributed_gpu_seconds"] == pytest.approx(8 / 15)
    assert row(ledger, 25)["evidence"] == "no endpoint answers in JSON"


def test_answers_that_were_not_measured_are_said_to_be_missing(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1)], CONFIGURATION)
    for number in (23, 25, 26):
        assert "no answer here was measured" in row(ledger, number)["missing"]


def work(number: int, model: str, **columns: Any) -> dict[str, Any]:
    """A call of two GPU-seconds on the pool of its model."""
    told = {"pool": model, "replica": model, "completion": ("spam", "ham")[number % 2]}
    return call(number, model=model, uncached_input_tokens=100, visible_output_tokens=2,
                **told | columns)  # fmt: skip


def test_simple_work_is_claimed_for_what_the_cheapest_other_model_does_not_cost(
    ledger_of: LedgerOf,
) -> None:
    pools = (
        Pool(name="large", replicas=1, price_per_gpu_hour=Decimal("3.6")),
        Pool(name="small", replicas=1, price_per_gpu_hour=Decimal("0.36")),
    )
    both = Configuration(pools=pools)
    simple = [work(n, "large", endpoint="/classify") for n in range(20)]
    other = [
        work(n, "small", endpoint="/talk", completion=f"{PROSE} {n}.") | {"call_id": f"s{n}"}
        for n in range(20)
    ]
    line = row(ledger_of([*simple, *other], both), 37, both)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith(
        "20 simple calls of /classify on large, small costs less: 36 GPU-seconds"
    )
    # 20 calls of two GPU-seconds are 0.04; the small model costs a tenth.
    assert line["attributed_cost"] == Decimal("0.036")
    alone = row(ledger_of(simple, both), 37, both)
    assert (alone["applies"], alone["attributed_cost"]) == ("unknown", None)
    assert alone["missing"].startswith("no other model of the ledger has a lower price")


def test_a_narrow_endpoint_with_volume_may_have_a_model_of_its_own(ledger_of: LedgerOf) -> None:
    calls = [work(n, "m", replica="r0", pool=None) for n in range(1_000)]
    line = row(ledger_of(calls, CONFIGURATION), 38)
    assert line["applies"] == "yes"
    assert line["evidence"] == "100% of 1,000 answers of /chat are JSON or a label"
    few = row(ledger_of(calls[:999], CONFIGURATION), 38)
    assert (few["applies"], few["evidence"]) == (
        "unknown", "no endpoint on GPUs has more than 999 answers that were measured",
    )  # fmt: skip
    assert few["missing"].startswith("needs 1,000 answers or more of an endpoint")
