"""Sentences that come in many answers: which, in how many, and what it costs to write them."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import boilerplate as module
from analysis.bill import read_bill
from analysis.boilerplate import boilerplate, boilerplate_claims
from analysis.errors import NoDataError
from analysis.selection import selected
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()
ALL_TIME = Window()
CLOSING = "Please ask a doctor before you act."
# Please| ask| a| doctor| before| you| act|. are eight tokens.
CLOSING_TOKENS = 8
JAPANESE = "詳しくは担当の医師にご相談ください。"
COLOURS = (
    "red",
    "blue",
    "green",
    "white",
    "black",
    "brown",
    "pink",
    "grey",
    "gold",
    "lime",
    "teal",
)


def call(number: int, completion: str | None, **columns: Any) -> dict[str, Any]:
    """Alone on its replica, ten seconds of decode for twenty tokens."""
    begun = MIDNIGHT + number * 60 * S
    told = {
        "call_id": f"{number:03d}",
        "endpoint": "/chat",
        "model": "gpt-4o-mini",
        "pool": "a",
        "replica": f"r{number % 9}",
        "timing_source": "engine",
        "arrived_at": begun,
        "started_at": begun,
        "first_token_at": begun,
        "ended_at": begun + 10 * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 20,
        "prompt": f"Question {number}?",
        "completion": completion,
    }
    return told | columns


def closed(number: int, closing: str = CLOSING) -> str:
    """An answer of its own before `closing`."""
    return f"The {COLOURS[number % 10]} one costs {number} dollars today. {closing}"


def test_a_sentence_in_many_answers_is_found_with_its_share(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(n, closed(n)) for n in range(12)], CONFIGURATION)
    (found,) = boilerplate(ledger, CONFIGURATION).frame.rows(named=True)
    assert (found["sentence_tokens"], found["tokens"]) == (CLOSING_TOKENS, 12 * CLOSING_TOKENS)
    assert (found["call_count"], found["call_ratio"], found["answer_count"]) == (12, 1.0, 12)
    lengths = ledger.connection.sql("select sum(answer_tokens) from calls").fetchall()[0][0]
    assert found["output_ratio"] == pytest.approx(12 * CLOSING_TOKENS / lengths)
    assert (found["example_call_id"], found["text"]) == ("000", None)
    assert len(found["sentence_hash"]) == 16


def test_where_texts_are_stored_the_sentence_is_shown(ledger_of: LedgerOf) -> None:
    stored = Configuration(content="full", hash_key="k")
    ledger = ledger_of([call(n, closed(n, JAPANESE)) for n in range(12)], stored)
    assert boilerplate(ledger, stored).frame["text"].to_list() == [JAPANESE]


# Of each of twelve calls, eight of twenty tokens, of ten GPU-seconds.
def test_a_sentence_costs_its_share_of_the_decode(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(n, closed(n)) for n in range(12)], CONFIGURATION)
    (found,) = boilerplate(ledger, CONFIGURATION).frame.rows(named=True)
    assert found["decode_gpu_seconds"] == pytest.approx(12 * 10 * CLOSING_TOKENS / 20)
    bill = read_bill(ledger.connection, ALL_TIME, selected(None), CONFIGURATION)
    claims = boilerplate_claims(ledger, window=ALL_TIME)
    claimed = sum(bill.saving(bill.claim(claims)).gpu_ps.values()) / 1e12
    assert claimed == pytest.approx(found["decode_gpu_seconds"], abs=1e-9)


def test_what_is_claimed_of_one_user_is_judged_over_all(ledger_of: LedgerOf) -> None:
    calls = [call(n, closed(n), user_id=("u1", "u2")[n % 2]) for n in range(12)]
    claims = boilerplate_claims(
        ledger_of(calls, CONFIGURATION), window=ALL_TIME, where={"user_id": "u1"}
    )
    assert claims["decode_ratio"].to_list() == [CLOSING_TOKENS / 20] * 6


@pytest.mark.parametrize(
    "answers",
    [
        [closed(n, f"Number {n} is the last of them all.") for n in range(30)],
        [CLOSING] * 30,
        [f"It is so. {CLOSING}"] * 30,
        [closed(n) if n < 9 else closed(n, f"That was number {n} of them.") for n in range(30)],
        [closed(n, "Good luck!") for n in range(30)],
        ['{"note": "Please ask a doctor before you act."}'] * 30,
    ],
    ids=["varied", "one value", "equal answers", "too few", "short", "json"],
)
def test_what_varies_or_is_the_answer_itself_is_no_boilerplate(
    ledger_of: LedgerOf, answers: list[str]
) -> None:
    ledger = ledger_of([call(n, text) for n, text in enumerate(answers)], CONFIGURATION)
    answer = boilerplate(ledger, CONFIGURATION)
    assert answer.frame.is_empty()
    assert any("no sentence comes in many answers" in note for note in answer.notes)
    assert boilerplate_claims(ledger, window=ALL_TIME).is_empty()


def test_a_question_that_is_said_again_is_not_claimed_twice(ledger_of: LedgerOf) -> None:
    asked = "How do I reset my password?"
    told = "You asked how to reset your password."
    calls = [call(n, f"{told} {closed(n)}", prompt=asked) for n in range(12)]
    ledger = ledger_of(calls, CONFIGURATION)
    (found,) = boilerplate(ledger, CONFIGURATION).frame.rows(named=True)
    assert found["sentence_tokens"] == CLOSING_TOKENS


def test_endpoints_are_judged_apart(ledger_of: LedgerOf) -> None:
    ends = ("/a", "/b", "/c")
    calls = [call(n, closed(n), endpoint=ends[n % 3]) for n in range(24)]
    assert boilerplate(ledger_of(calls, CONFIGURATION), CONFIGURATION).frame.is_empty()


def test_a_sample_finds_what_all_answers_would(
    ledger_of: LedgerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_of([call(n, closed(n)) for n in range(400)], CONFIGURATION)
    whole = boilerplate(ledger, CONFIGURATION).frame
    monkeypatch.setattr(module, "SAMPLED_ANSWERS", 100)
    assert boilerplate(ledger, CONFIGURATION).frame.equals(whole)


@settings(max_examples=6, deadline=None)
@given(
    numbers=st.permutations(range(24)),
    by=st.sampled_from([("model",), ("hour",), ("user_id",), ("day", "model")]),
)
def test_groups_of_any_kind_add_up_to_the_whole(
    ledger_of: LedgerOf, numbers: list[int], by: tuple[str, ...]
) -> None:
    calls = [
        call(n, closed(n, CLOSING if n % 2 else JAPANESE), user_id=f"u{n % 4}", model=f"m{n % 3}")
        for n in numbers
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    sums = [pl.col("call_count", "tokens").sum(), pl.col("decode_gpu_seconds").sum().round(6)]
    whole = boilerplate(ledger, CONFIGURATION, by=()).frame
    assert whole["call_count"].to_list() == [12, 12]
    parts = boilerplate(ledger, CONFIGURATION, by=by).frame
    assert parts.select(sums).row(0) == whole.select(sums).row(0)


def test_what_is_missing_is_said(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, CLOSING)], Configuration(content="off"))
    with pytest.raises(NoDataError, match="no answer here was measured"):
        boilerplate(ledger, CONFIGURATION)
