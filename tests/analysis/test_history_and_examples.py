"""History by turn, and few-shot examples that come again: their tokens and their prefill."""

from collections.abc import Callable
from typing import Any

import pytest

from analysis.errors import NoDataError
from analysis.examples import examples
from analysis.history import history
from analysis.law import law
from ingest.ledger import Ledger
from tests.analysis.prompt_ledgers import CONFIGURATION, call, chunks, sections

LedgerOf = Callable[..., Ledger]


def turn(number: int, turns: int | None, history_tokens: int, **columns: Any) -> dict[str, Any]:
    told = {} if turns is None else chunks(user_turns=turns)
    return call(number, **sections(history=history_tokens, user=100), **told, **columns)


def test_history_is_told_by_turn(ledger_of: LedgerOf) -> None:
    calls = [turn(1, 1, 0), turn(2, 2, 300), turn(3, 2, 500), turn(4, 25, 900)]
    answer = history(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    columns = ["turn", "call_count", "history_tokens", "history_ratio", "history_gpu_seconds"]
    assert answer.frame.select(columns).rows() == [
        (1, 1, 0, 0.0, 0.0),
        (2, 2, 800, 0.4, 8.0),
        (20, 1, 900, 0.9, 9.0),
    ]
    assert "turn 20 stands for itself and all later ones" in answer.notes


def test_history_that_a_cache_held_costs_nothing(ledger_of: LedgerOf) -> None:
    cached = {"uncached_input_tokens": 200, "cache_read_tokens": 800}
    ledger = ledger_of([turn(1, 3, 600, **cached)], CONFIGURATION)
    # four fifths of the 700 tokens that are told were held: 40 of history are among the 200 read
    assert history(ledger, CONFIGURATION).frame["history_gpu_seconds"].to_list() == [2.0]


def test_unknown_turns_have_a_row_of_their_own_and_all_add_up(ledger_of: LedgerOf) -> None:
    calls = [turn(1, 1, 0), turn(2, None, 300), call(3)]
    ledger = ledger_of(calls, CONFIGURATION)
    answer = history(ledger, CONFIGURATION)
    assert answer.frame.select("turn", "call_count", "known_count").rows() == [
        (1, 1, 1),
        (None, 2, 1),
    ]
    assert any(note.startswith("not measured: 2 calls") for note in answer.notes)
    whole = law(ledger, CONFIGURATION).frame["prefill_gpu_seconds"].sum()
    assert answer.frame["prefill_gpu_seconds"].sum() == pytest.approx(whole)


def shot(number: int, block: int | None, tokens: int | None, **columns: Any) -> dict[str, Any]:
    told = sections(system=50, examples=tokens, user=100)
    return call(number, **told, **chunks(examples_hash=block), **columns)


def test_examples_that_come_again_are_a_block_and_others_are_not(ledger_of: LedgerOf) -> None:
    calls = [
        shot(1, 7, 400),
        shot(2, 7, 400),
        shot(3, 8, 300),
        shot(4, None, None),
        shot(5, 7, 400, endpoint="/other"),
    ]
    answer = examples(ledger_of(calls, CONFIGURATION), CONFIGURATION)
    columns = ["endpoint", "examples_hash", "call_count", "shown_count", "examples_tokens"]
    assert sorted(answer.frame.select(columns).rows(), key=str) == [
        ("/chat", 7, 2, 2, 800),
        ("/chat", None, 2, 1, 300),
        ("/other", None, 1, 1, 400),
    ]
    block = answer.frame.row(0, named=True)
    assert (block["examples_ratio"], block["examples_gpu_seconds"]) == (0.4, 8.0)


def test_without_repeated_examples_it_says_how_they_are_known(ledger_of: LedgerOf) -> None:
    answer = examples(ledger_of([shot(1, None, None)], CONFIGURATION), CONFIGURATION)
    assert answer.frame["examples_hash"].to_list() == [None]
    assert any("<examples>" in note for note in answer.notes)


@pytest.mark.parametrize("question", [history, examples])
def test_a_ledger_from_before_the_measures_says_what_to_do(
    ledger_of: LedgerOf, question: Callable[..., Any]
) -> None:
    with pytest.raises(NoDataError, match="before prompts were measured into a new ledger"):
        question(ledger_of([call(1, **sections(user=5))], CONFIGURATION), CONFIGURATION)


@pytest.mark.parametrize("question", [history, examples])
@pytest.mark.parametrize("by", [(), ("endpoint",), ("hour",), ("user_id",)])
def test_groups_add_up_to_the_law(
    ledger_of: LedgerOf, question: Callable[..., Any], by: tuple[str, ...]
) -> None:
    calls = [
        {**shot(n, n % 3 or None, 30 * n), "endpoint": f"/{n % 2}", "user_id": f"u{n % 4}"}
        for n in range(20)
    ]
    ledger = ledger_of(calls, CONFIGURATION)
    frame = question(ledger, CONFIGURATION, by=by).frame
    assert frame["call_count"].sum() == 20
    whole = law(ledger, CONFIGURATION).frame["prefill_gpu_seconds"].sum()
    assert frame["prefill_gpu_seconds"].sum() == pytest.approx(whole)
