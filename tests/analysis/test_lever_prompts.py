"""Levers of what prompts carry, and of work that nobody waits for: yes, no, or not known."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from analysis.levers import levers
from ingest.ledger import Ledger
from tests.analysis.prompt_ledgers import CONFIGURATION, call, chunks, sections

LedgerOf = Callable[..., Ledger]
A, B = (11, 0x1111111111111111), (22, 0x2222222222222222)


def row(ledger: Ledger, number: int) -> dict[str, Any]:
    frame = levers(ledger, CONFIGURATION).frame
    found: dict[str, Any] = frame.row(by_predicate=pl.col("number") == number, named=True)
    return found


def test_chunks_that_stand_twice_are_claimed_of_the_prefill(ledger_of: LedgerOf) -> None:
    told = sections(system=100, context=700, user=200)
    twice = chunks((*A, 100, 100, 20), (*B, 200, 100, 0), (*A, 300, 100, 20))
    line = row(ledger_of([call(1, **told, **twice), call(2)], CONFIGURATION), 27)
    # 100 duplicate and 20 markup tokens of 1,000 that took 10 s.
    assert line["attributed_gpu_seconds"] == pytest.approx(1.2)
    assert line["evidence"].startswith(
        "of 300 tokens of chunks 100 stand twice in their prompt, 20 are markup: 1 GPU-seconds"
    )
    assert line["missing"] == "not measured: the prompt of 1 call"


def test_prompts_without_chunks_do_not_tell_the_retrieval_budget(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, **sections(user=100), **chunks())], CONFIGURATION)
    assert row(ledger, 27)["missing"].startswith("needs prompts that show their chunks")
    assert row(ledger_of([call(1)], CONFIGURATION), 28)["missing"].startswith(
        "needs conversation ids, and tokens by section: no prompt here was measured"
    )


def test_history_has_a_bound_and_no_claim(ledger_of: LedgerOf) -> None:
    calls = [
        call(turn, **sections(history=tokens, user=100), **chunks(user_turns=turn))
        for turn, tokens in ((1, 0), (2, 300), (3, 500))
    ]
    line = row(ledger_of(calls, CONFIGURATION), 28)
    assert line["applies"] == "yes"
    assert line["evidence"] == (
        "800 tokens of history at /chat, 40% of the input of these turns; at most 8 GPU-seconds of "
        "prefill"
    )
    assert line["attributed_gpu_seconds"] is None
    assert line["missing"].startswith("needs a replay with a shorter history")
    first = row(ledger_of(calls[:1], CONFIGURATION), 28)
    assert (first["applies"], first["evidence"]) == (
        "no",
        "no call that tells its turns has a history",
    )


def test_examples_that_come_again_apply_and_others_do_not(ledger_of: LedgerOf) -> None:
    told = sections(system=50, examples=400, user=100)
    same = [call(n, **told, **chunks(examples_hash=7)) for n in range(3)]
    line = row(ledger_of(same, CONFIGURATION), 29)
    assert line["applies"] == "yes"
    assert line["evidence"].startswith("1 block of examples, 1,200 tokens, most at /chat: 40%")
    other = [call(n, **told, **chunks(examples_hash=n)) for n in range(3)]
    assert row(ledger_of(other, CONFIGURATION), 29)["applies"] == "no"


def test_long_context_may_be_compressed(ledger_of: LedgerOf) -> None:
    calls = [call(n, **sections(system=100, context=800, user=100)) for n in range(2)]
    line = row(ledger_of(calls, CONFIGURATION), 30)
    assert line["applies"] == "yes"
    assert line["evidence"] == (
        "context and history are 1,600 tokens, 16 of 20 GPU-seconds of prefill"
    )
    short = [call(n, **sections(system=900, user=100)) for n in range(2)]
    assert row(ledger_of(short, CONFIGURATION), 30)["applies"] == "no"


def test_work_that_nobody_waits_for_is_told_by_its_hours(ledger_of: LedgerOf) -> None:
    hour = 3_600 * 1_000_000_000
    names = ("arrived_at", "started_at", "first_token_at", "ended_at")
    nights = [
        call(n) | {name: call(n)[name] + n % 3 * 24 * hour for name in names} for n in range(60)
    ]
    night = row(ledger_of(nights, CONFIGURATION), 21)
    assert night["applies"] == "yes"
    assert night["evidence"].startswith("nobody waits for /chat: 60 calls, ")
    assert "told by hours" in night["evidence"]
    one = row(ledger_of([call(1)], CONFIGURATION), 21)
    assert one["applies"] == "unknown"
    spread = [call(n) | {name: call(n)[name] + n * 2 * hour for name in names} for n in range(12)]
    line = row(ledger_of(spread, CONFIGURATION), 21)
    assert line["applies"] == "unknown"
    assert line["missing"] == "needs traces: not told who waits for 12 calls: send their traces"
