"""Case 29: what is near in meaning and must not share an answer, and what may."""

from typing import Any

import pytest

from analysis.near_repetition.guards import text_conflicts
from analysis.semantic_cache import semantic_cache
from analysis.window import Window
from ingest.config import Configuration, Pool

KEEPING = Configuration(
    content="full",
    pools=(Pool(name="gpus", models=("m",)),),
    map={"tenant": ("attribute.app.tenant",), "endpoint": ("resource.service.name",)},
)
"""Texts are kept, and the tenant is told by an attribute."""

LOOK_ALIKES = [
    ("What is the weather in Tokyo?", "What is the weather in Osaka?", "name"),
    ("東京の天気を教えて", "大阪の天気を教えて", "word"),
    ("Does my contract renew?", "Does my contract not renew?", "negation"),
    ("契約は更新されますか", "契約は更新されませんか", "negation"),
    ("What is the price in 2024?", "What is the price in 2025?", "number"),
    ("2024年の価格は", "2025年の価格は", "number"),
    ("一九九八年の価格は", "１９９９年の価格は", "number"),
    ("Turn on the light", "Turn off the light", "antonym"),
    ("電気をつけて", "電気を消して", "antonym"),
    ("Delete A", "Do not delete A", "negation"),
    ("Aを削除して", "Aを削除しないで", "negation"),
    ("Team A beats team B", "Team B beats team A", "order"),
    ("Translate it to French", "Translate it to Spanish", "language"),
]
PARAPHRASES = [
    ("How do I reset my password?", "Please tell me how to reset my password."),
    ("パスワードの再設定方法は", "パスワードの再設定方法を教えて"),
]


def spans(make_chat: Any, *questions: str, **changed: Any) -> list[Any]:
    """A call for each question, one after the other; `changed` are attributes of the last."""
    found = []
    for number, question in enumerate(questions):
        told = {
            "gen_ai.input.messages": f'[{{"role":"user","content":"{question}"}}]',
            "gen_ai.output.messages": '[{"role":"assistant","content":"yes"}]',
            "gen_ai.request.temperature": 0.0,
            "gen_ai.system_instructions": "be brief",
            "gen_ai.tool.definitions": '[{"name":"search"}]',
            "user.id": "u1",
            "app.tenant": "t1",
        }
        more = changed if number == len(questions) - 1 else {}
        at_s = (number * 20, number * 20 + 10)
        named = f"{number + 1:x}"
        found.append(make_chat(named, (10, 5), told | more, at_s=at_s, trace=named.rjust(32, "a")))
    return found


def answer_of(case: Any, by: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = semantic_cache(
        case.ledger, window=Window(), by=by
    ).frame.to_dicts()
    return found


def test_case_29_look_alikes_are_stopped_by_their_guards(case: Any, make_chat: Any) -> None:
    questions = [text for one, other, _ in LOOK_ALIKES for text in (one, other)]
    case.take(*spans(make_chat, *questions), configuration=KEEPING)
    (row,) = answer_of(case, "endpoint")
    assert (row["question_count"], row["compared_count"]) == (len(questions), len(questions))
    assert row["hit_count"] == 0
    assert row["rejected_pair_count"] == row["near_pair_count"] > 5
    stopped = {row["guard"] for row in answer_of(case, "guard")}
    assert {"negation", "number", "antonym", "order"} <= stopped
    assert (row["false_hit_ratio"], row["threshold"]) == (0.0, 0.95)
    assert row["false_hit_upper_ratio"] == pytest.approx(0.0131, abs=1e-4)


def test_case_29_paraphrases_are_answered_by_the_first_of_them(case: Any, make_chat: Any) -> None:
    questions = [text for pair in PARAPHRASES for text in pair]
    case.take(*spans(make_chat, *questions), configuration=KEEPING)
    (row,) = answer_of(case, "endpoint")
    assert (row["group_count"], row["hit_count"]) == (2, 2)
    assert row["gpu_seconds"] == pytest.approx(20.0)
    firsts = {number.rjust(16, "0") for number in ("1", "3")}
    kept = {pair["kept_call_id"] for pair in answer_of(case, "pair")}
    named = dict(case.rows("call_id, span_id"))
    assert {named[call_id] for call_id in kept} == firsts


@pytest.mark.parametrize(
    ("attribute", "value", "guard"),
    [
        ("gen_ai.system_instructions", "answer at length", "system prompt"),
        ("gen_ai.tool.definitions", '[{"name":"delete"}]', "tools"),
        ("user.id", "u2", "user"),
        ("app.tenant", "t2", "tenant"),
        ("gen_ai.request.temperature", 0.7, "temperature"),
        ("gen_ai.request.temperature", None, "temperature"),
        ("gen_ai.request.max_tokens", 5, "parameters"),
        ("gen_ai.request.model", "n", "model"),
    ],
)
def test_case_29_another_scope_is_no_hit(
    case: Any, make_chat: Any, attribute: str, value: Any, guard: str
) -> None:
    case.take(*spans(make_chat, *PARAPHRASES[0], **{attribute: value}), configuration=KEEPING)
    (row,) = answer_of(case, "endpoint")
    assert (row["hit_count"], row["rejected_by"]) == (0, f"{guard} 1")


def test_case_29_the_same_scope_is_a_hit(case: Any, make_chat: Any) -> None:
    case.take(*spans(make_chat, *PARAPHRASES[0]), configuration=KEEPING)
    (row,) = answer_of(case, "endpoint")
    assert (row["hit_count"], row["rejected_by"]) == (1, None)


@pytest.mark.parametrize(("one", "other", "guard"), LOOK_ALIKES)
def test_case_29_each_look_alike_is_no_hit_however_near(one: str, other: str, guard: str) -> None:
    assert guard in text_conflicts(one, other)
