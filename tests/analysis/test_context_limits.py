"""The length of calls beside the longest that their engine takes, against literals."""

from collections.abc import Callable
from typing import Any

import pytest

from analysis.context_limits import context_limits, context_limits_verdicts
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration(pools=(Pool(name="a", max_model_len=8192),))


def call(number: int, prompt: int | None, answer: int | None, **columns: Any) -> dict[str, Any]:
    return {
        "call_id": str(number),
        "model": "m",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT,
        "started_at": MIDNIGHT,
        "first_token_at": MIDNIGHT + S,
        "ended_at": MIDNIGHT + 2 * S,
        "uncached_input_tokens": prompt,
        "visible_output_tokens": answer,
    } | columns


def test_each_limit_tells_the_calls_that_it_would_refuse(ledger_of: LedgerOf) -> None:
    # 998 calls of 300 tokens, one of 900, one of 3,000; one asked for 5,000.
    calls = [call(n, 200, 100) for n in range(997)]
    calls += [call(997, 200, 100, max_tokens=4_800), call(998, 800, 100), call(999, 2_900, 100)]
    answer = context_limits(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    first = answer.frame.row(0, named=True)
    # 0.999 * 999 = 998.001: a thousandth of the way from 900 to 3,000.
    assert [first[name] for name in ("call_count", "p50_tokens", "p99_tokens")] == [1000, 300, 300]
    assert first["p999_tokens"] == pytest.approx(902.1)
    assert (first["longest_tokens"], first["longest_asked_tokens"]) == (3_000, 5_000)
    assert answer.frame.select("limit_tokens", "refused_count", "refused_asked_count").rows() == [
        (512, 2, 1),
        (1024, 1, 1),
        (2048, 1, 1),
        (4096, 0, 1),
        (8192, 0, 0),
    ]


def test_a_refused_call_has_no_length(ledger_of: LedgerOf) -> None:
    calls = [call(1, 0, 0, http_status=429, max_tokens=90), call(2, 200, 100)]
    row = context_limits(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame.row(0, named=True)
    assert (row["call_count"], row["unknown_count"], row["p50_tokens"]) == (2, 1, 300)


def test_choices_share_a_prompt_and_not_an_answer(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 100, 400, n_choices=4)], CONFIGURATION)
    assert context_limits(ledger, CONFIGURATION).frame["longest_tokens"][0] == 200


def test_a_limit_far_above_need_can_be_lower(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 4_000, 96)], CONFIGURATION)
    verdict = context_limits_verdicts(ledger, CONFIGURATION).row(0, named=True)
    assert (verdict["lever"], verdict["pool"], verdict["applies"]) == (18, "a", True)
    # The 99.9th percentile of one call is that call.
    assert verdict["evidence"].startswith(
        "the longest call has 4,096 tokens; the engine takes 8,192, twice that or more; a "
        "candidate, no saving is attributed: "
    )


@pytest.mark.parametrize("columns", [{"visible_output_tokens": 97}, {"max_tokens": 4_097}])
def test_a_limit_near_what_is_used_or_asked_for_stays(
    ledger_of: LedgerOf, columns: dict[str, int]
) -> None:
    ledger = ledger_of([call(1, 4_000, 96) | columns], CONFIGURATION)
    assert context_limits_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [False]


def test_without_a_limit_or_tokens_it_says_what_is_missing(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, 100, 1)], Configuration())
    answer = context_limits(ledger, Configuration())
    assert answer.frame["max_model_len"].to_list() == [None]
    assert any("a: not told the longest call" in note for note in answer.notes)
    verdict = context_limits_verdicts(ledger, Configuration()).row(0, named=True)
    assert (verdict["applies"], "max_model_len" in verdict["missing"]) == (None, True)
    untold = context_limits(ledger_of([call(1, 100, None)], CONFIGURATION), CONFIGURATION)
    row = untold.frame.row(0, named=True)
    assert (row["unknown_count"], row["longest_tokens"]) == (1, None)
    assert "not told, hence in no length: the tokens of 1 call" in untold.notes


def test_groups_add_up_to_the_whole(ledger_of: LedgerOf) -> None:
    calls = [call(n, 2_000 if n < 3 else 90, 10, endpoint=f"/{n % 3}") for n in range(300)]
    ledger = ledger_of(calls, CONFIGURATION)
    parts = context_limits(ledger, CONFIGURATION, by=("endpoint",)).frame
    assert parts.unique("endpoint")["call_count"].sum() == 300
    assert any(
        "ask --by pool" in n for n in context_limits(ledger, CONFIGURATION, by=("endpoint",)).notes
    )
    whole = context_limits(ledger, CONFIGURATION, by=("pool",)).frame
    for limit, refused in ((256, 3), (1024, 3), (2048, 0)):
        for frame in (parts, whole):
            assert frame.filter(frame["limit_tokens"] == limit)["refused_count"].sum() == refused
