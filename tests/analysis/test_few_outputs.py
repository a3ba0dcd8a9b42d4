"""Few distinct answers: how many, how even, and what the calls cost that gave one of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import log2
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.bill import read_bill
from analysis.errors import NoDataError
from analysis.few_outputs import few_outputs, few_outputs_claims
from analysis.selection import selected
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(
    pools=(Pool(name="a", replicas=100, price_per_gpu_hour=Decimal("3.6")),)
)


def call(number: int, output: str | None, **columns: Any) -> dict[str, Any]:
    """Two GPU-seconds, alone on its replica; every prompt is another."""
    begin = MIDNIGHT + number * 10 * S
    return {
        "call_id": str(number),
        "endpoint": "/classify",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": begin,
        "started_at": begin,
        "first_token_at": begin + S,
        "ended_at": begin + 2 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 3,
        "prompt_hash": f"v2:{number}",
        "output_hash": None if output is None else f"v1:{output}",
    } | columns


def of(outputs: Sequence[str | None], **columns: Any) -> list[dict[str, Any]]:
    return [call(number, output, **columns) for number, output in enumerate(outputs)]


def only(ledger: Ledger, **asked: Any) -> dict[str, Any]:
    frame = few_outputs(ledger, CONFIGURATION, **asked).frame
    assert frame.height == 1
    return frame.row(0, named=True)


def test_two_values_are_a_bit_and_their_calls_are_counted(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(of(["spam", "ham"] * 50), CONFIGURATION)
    row = only(ledger)
    assert (row["is_few"], row["told_count"], row["prompt_count"]) == (True, 100, 100)
    assert (row["distinct_count"], row["top_1_ratio"], row["top_10_ratio"]) == (2, 0.5, 1.0)
    assert row["entropy_bits"] == pytest.approx(1)
    assert row["output_p95_tokens"] == 3
    assert (row["covered_count"], row["covered_gpu_seconds"]) == (100, 200.0)
    assert (float(row["covered_cost"]), row["currency"]) == (0.2, "USD")


def test_rare_values_are_left_to_the_model(ledger_of: LedgerOf) -> None:
    rare = [f"rare {n}" for n in range(4)]
    ledger = ledger_of(of([f"value {n % 10}" for n in range(96)] + rare), CONFIGURATION)
    row = only(ledger)
    assert (row["is_few"], row["distinct_count"], row["top_10_ratio"]) == (True, 14, 0.96)
    assert row["covered_count"] == 96


def test_answers_that_all_differ_are_none(ledger_of: LedgerOf) -> None:
    answer = few_outputs(
        ledger_of(of([f"text {n}" for n in range(200)]), CONFIGURATION), CONFIGURATION
    )
    row = answer.frame.row(0, named=True)
    assert (row["is_few"], row["distinct_count"], row["top_10_ratio"]) == (False, 200, 0.05)
    assert row["entropy_bits"] == pytest.approx(log2(200))
    assert row["covered_gpu_seconds"] is None
    assert any(note.startswith("no group of 50 answers or more") for note in answer.notes)


def test_where_prompts_repeat_as_well_a_cache_and_no_rule_is_meant(ledger_of: LedgerOf) -> None:
    calls = [call(n, f"answer {n % 5}", prompt_hash=f"v2:{n % 5}") for n in range(100)]
    assert only(ledger_of(calls, CONFIGURATION))["is_few"] is False


def test_it_takes_fifty_answers(ledger_of: LedgerOf) -> None:
    assert only(ledger_of(of(["yes"] * 49), CONFIGURATION))["is_few"] is False
    assert only(ledger_of(of(["yes"] * 50), CONFIGURATION))["is_few"] is True


def test_what_failed_and_embeddings_are_no_answers(ledger_of: LedgerOf) -> None:
    calls = [
        *of(["yes"] * 3),
        call(10, "no", status="error"),
        call(11, "v", operation="embeddings"),
    ]
    assert only(ledger_of(calls, CONFIGURATION), by=())["answered_count"] == 3


def test_an_answer_without_a_hash_is_counted_and_not_compared(ledger_of: LedgerOf) -> None:
    answer = few_outputs(ledger_of(of(["yes", None]), CONFIGURATION), CONFIGURATION)
    row = answer.frame.row(0, named=True)
    assert (row["told_count"], row["untold_count"], row["top_1_ratio"]) == (1, 1, 1.0)
    assert any(n.startswith("not compared: 1 answer without a hash; send") for n in answer.notes)


def test_without_prompts_few_is_not_known(ledger_of: LedgerOf) -> None:
    answer = few_outputs(
        ledger_of(of(["yes"] * 60, prompt_hash=None), CONFIGURATION), CONFIGURATION
    )
    assert answer.frame["is_few"].to_list() == [None]
    assert any(note.startswith("is_few is not known") for note in answer.notes)


def test_a_group_that_tells_no_answer_is_unknown_and_has_no_entropy(ledger_of: LedgerOf) -> None:
    calls = [*of(["yes"] * 60), *[call(n, None, endpoint="/other") for n in range(100, 103)]]
    frame = few_outputs(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame
    assert frame.select("endpoint", "is_few", "entropy_bits", "top_10_ratio").rows() == [
        ("/classify", True, 0.0, 1.0),
        ("/other", None, None, None),
    ]


def test_without_any_hash_it_is_said_what_to_send(ledger_of: LedgerOf) -> None:
    with pytest.raises(NoDataError, match="no answer here has a hash: send answers"):
        few_outputs(ledger_of(of([None]), CONFIGURATION), CONFIGURATION)


def test_claims_come_to_what_is_covered(ledger_of: LedgerOf) -> None:
    calls = of(["spam", "ham"] * 40)
    calls += [call(n, f"text {n}", endpoint="/chat") for n in range(100, 160)]
    ledger = ledger_of(calls, CONFIGURATION)
    claims = few_outputs_claims(ledger, CONFIGURATION)
    assert (claims.height, claims["call_no"].n_unique()) == (80, 80)
    bill = read_bill(ledger.connection, Window(), selected(None))
    saving = bill.saving(bill.claim(claims))
    covered = few_outputs(ledger, CONFIGURATION).frame["covered_gpu_seconds"].sum()
    assert sum(saving.gpu_ps.values()) == covered * 10**12 == 160 * 10**12


def test_nothing_is_claimed_where_nothing_is_few(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(of([f"text {n}" for n in range(60)]), CONFIGURATION)
    assert few_outputs_claims(ledger, CONFIGURATION).is_empty()


@settings(max_examples=12, deadline=None)
@given(
    drawn=st.lists(
        st.tuples(st.sampled_from(["/a", "/b"]), st.integers(0, 25), st.integers(0, 3)),
        min_size=1,
        max_size=80,
    )
)
def test_figures_are_those_of_a_count(
    ledger_of: LedgerOf, drawn: list[tuple[str, int, int]]
) -> None:
    calls = [
        call(n, str(value), endpoint=endpoint, user_id=f"u{user}")
        for n, (endpoint, value, user) in enumerate(drawn)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    for row in few_outputs(ledger, CONFIGURATION).frame.to_dicts():
        values = Counter(value for endpoint, value, _ in drawn if endpoint == row["endpoint"])
        total = values.total()
        assert (row["told_count"], row["distinct_count"]) == (total, len(values))
        assert row["top_10_ratio"] == pytest.approx(
            sum(count for _, count in values.most_common(10)) / total
        )
        bits = -sum(count / total * log2(count / total) for count in values.values())
        assert row["entropy_bits"] == pytest.approx(bits, abs=1e-9)
    for by in (("user_id",), ("hour", "endpoint"), ("endpoint", "user_id")):
        frame = few_outputs(ledger, CONFIGURATION, by=by).frame
        assert frame["told_count"].sum() == len(drawn)
        assert frame.select(pl.col("top_10_ratio").max()).item() <= 1
