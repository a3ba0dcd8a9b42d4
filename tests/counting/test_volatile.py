"""Text that looks volatile is found by its form or its label, and the rest is what stays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.counting.encodings import choice
from ingest.counting.leading import Leading, VolatileSpan
from ingest.counting.prompts import prompt_of
from ingest.counting.token_ids import tokenised
from ingest.counting.volatile import KINDS, MAX_CHARACTERS, volatile_texts

UUID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
FOUND = [
    ("Current time: 2026-10-13T09:15:02+09:00\nYou", "time", "2026-10-13T09:15:02+09:00"),
    ("It is 2026-10-13 09:15 JST now", "time", "2026-10-13 09:15 JST"),
    ("Mon, 13 Oct 2026 09:15:00 GMT", "time", "Mon, 13 Oct 2026 09:15:00 GMT"),
    ("Today is Tuesday, October 13, 2026. You", "time", "Tuesday, October 13, 2026"),
    ("run at 20261013T091500Z please", "time", "20261013T091500Z"),
    ("since 1791158400123 or so", "time", "1791158400123"),
    ("at 10:30 PM UTC", "time", "10:30 PM UTC"),
    ("現在時刻: 2026年10月13日(火) 午後3時05分\n規則", "time", "2026年10月13日(火) 午後3時05分"),
    ("令和8年10月13日 15時30分現在", "time", "令和8年10月13日 15時30分"),
    ("本日は２０２６年１０月１３日です", "time", "２０２６年１０月１３日"),
    (f"Request {UUID}: go", "id", UUID),
    ("run 01HZX3K9V6Q2W8R5T7Y1N4M0PB now", "id", "01HZX3K9V6Q2W8R5T7Y1N4M0PB"),
    ("sha 9f86d081884c7d65 of it", "id", "9f86d081884c7d65"),
    ("see chatcmpl-9aB3xYz12 for", "id", "chatcmpl-9aB3xYz12"),
    ("会員番号: 12345\n規則", "id", "12345"),
    ("Ticket #4211 is open", "number", "4211"),
    ("order 998877 is open", "number", "998877"),
    ("a sum of 1,234,567 yen", "number", "1,234,567"),
    ("受付第4211号について", "number", "4211"),
    ("Turn: 3\nYou", "number", "3"),
    ("mail bob.k@example.co.jp first", "user", "bob.k@example.co.jp"),
    ("User: Alice Smith\nYou are", "user", "Alice Smith"),
    ('{"name": "Bob", "role": "x"}', "user", "Bob"),
    ("Dear Taro Yamada,\nplease", "user", "Taro Yamada"),
    ("山田太郎様、以下の規則に", "user", "山田太郎"),
    ("ユーザー: 山田 太郎\n規則", "user", "山田 太郎"),
    ("Question: what is new?\nContext: docs", "other", "what is new?"),
    ("言語: 日本語\n規則", "other", "日本語"),
    ("Rules\\n2026-10-13 09:15\\nmore", "time", "2026-10-13 09:15"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "wanted"), FOUND)
def test_a_volatile_text_is_found_with_its_kind(text: str, kind: str, wanted: str) -> None:
    found = volatile_texts(text)
    assert [(each.kind, text[each.begin : each.end].lstrip()) for each in found] == [(kind, wanted)]


@pytest.mark.parametrize(
    "text",
    [
        "You are a helpful assistant. Answer in three sentences, and do not guess.",
        "Section 3.2.1 and version 1.2.3 say: within 24 hours, at most 5 items.",
        "あなたは社内規程に詳しい助手です。お客様には必ず根拠を示してください。",
        "Rules:\n- Format: JSON\n- Tone: friendly\nSee https://example.com/docs for more.",
        "回答は24時間以内に、3件まで。第3条を参照。",
        "就業規則第12条第2項と第4章によって答えること。",
        "",
    ],
)
def test_plain_instructions_are_not_volatile(text: str) -> None:
    assert volatile_texts(text) == []


def test_what_stands_beside_each_other_is_one_text() -> None:
    text = "2026-10-13 / 09:15:00, 3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b and more"
    assert [(e.kind, text[e.begin : e.end]) for e in volatile_texts(text)] == [
        ("time", "2026-10-13 / 09:15:00, 3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b")
    ]


def test_only_the_beginning_is_looked_at() -> None:
    assert volatile_texts("x " * (MAX_CHARACTERS // 2) + "2026-10-13") == []


PIECES = st.lists(
    st.sampled_from(
        [
            "You are a helper. ", "Answer in short\n", "今日は良い天気です。", "規則は次のとおり\n",
            "2026-10-13T09:15:02Z", " 3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "User: Bob\n", "\n\n",
            "at 10:15 PM, ", "山田様", "(#4211)", "  ", "«", "é", "🙂", "\t", "it's ",
            "order 998877",
        ]
    ),
    max_size=14,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(PIECES, st.sampled_from(["o200k_base", "cl100k_base"]))
def test_the_stable_tokens_are_those_of_the_text_without_what_was_found(
    pieces: list[str], encoding: str
) -> None:
    text = "".join(pieces)
    leading = Leading(encoding, finds_volatile=True)
    leading.add_text(text, tokenised(text, encoding))
    rest, at = "", 0
    for each in volatile_texts(text):
        rest, at = rest + text[at : each.begin], each.end
    assert leading.stable_ids.tolist() == tokenised(rest + text[at:], encoding).tolist()
    if leading.spans:
        begin = leading.spans[0].begin
        assert leading.ids[:begin].tolist() == leading.stable_ids[:begin].tolist()


def test_a_span_is_counted_in_tokens_of_the_whole_prompt() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "At 10:15 we met. " + "What then? " * 40},
    ]
    made = prompt_of(messages, None, choice("gpt-4o"), is_chat=True, finds_volatile=True)
    # <|system|> Be| brief|. <end> are 3 + 3 + 1; <|user|> are 3; At is 1.
    assert made.leading.spans == [VolatileSpan(11, 4, KINDS.index("time") + 1)]
    assert tokenised(" 10:15", "o200k_base").tolist() == made.leading.ids[11:15].tolist()
    assert len(made.leading.stable_ids) == len(made.leading.ids) - 4


def test_nothing_is_looked_for_where_no_hash_is_made() -> None:
    leading = Leading("o200k_base", finds_volatile=False)
    leading.add_text("2026-10-13", np.array([1, 2], dtype=np.uint32))
    assert (leading.spans, leading.stable_ids.tolist()) == ([], [1, 2])
