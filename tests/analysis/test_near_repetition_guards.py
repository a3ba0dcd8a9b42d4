"""Guards of texts: what two questions must share before the answer of one may serve the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.near_repetition.guards import TEXT_GUARDS, meaning_of, text_conflicts
from analysis.near_repetition.labelled import labelled_pairs

WORDS = st.sampled_from(
    [
        *(word for pair in labelled_pairs()[::7] for word in pair.a.split(" ")),
        *(pair.b for pair in labelled_pairs()[::11]),
        "don't", "５", "五", "2024年", "A", "not", "を", "ない", "?", "。", "US", "-3", "7 am",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=8).map(" ".join))


@settings(deadline=None)
@given(TEXTS)
def test_a_text_never_conflicts_with_itself(text: str) -> None:
    assert text_conflicts(text, text) == ()


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_guards_are_symmetric_and_told_in_their_order(one: str, other: str) -> None:
    found = text_conflicts(one, other)
    assert found == text_conflicts(other, one)
    assert list(found) == [guard for guard in TEXT_GUARDS if guard in found]


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_texts_of_other_content_words_always_conflict(one: str, other: str) -> None:
    if meaning_of(one).key != meaning_of(other).key:
        assert text_conflicts(one, other) != ()


@settings(deadline=None)
@given(TEXTS, st.sampled_from(["not", "42", "Osaka", "without", "only"]))
def test_a_word_more_is_a_conflict(text: str, word: str) -> None:
    asked = f"Show the {text} orders"
    assert text_conflicts(asked, f"{asked} {word}") != ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Give me five ideas", "Give me 5 ideas."),
        ("Aを５つ", "Aを五つ"),
        ("二千二十四年の価格は", "2024年の価格は"),
        ("1,000,000 yen", "1 million yen"),
        ("Sum 1,500 and 1.5 million", "Sum 1500 and 1,500,000"),
        ("Set an alarm for 7 am.", "Set an alarm for 7:00 AM."),
        ("10万円の税", "100000円の税"),
        ("Turn on the light", "Please turn the light on"),
        ("I don’t get it", "I do not get it"),
        ("東京の明日の天気は？", "明日の東京の天気を教えてください"),
        ("更新する方法", "更新するにはどうすればいいですか"),
        ("解約したい", "解約したいです"),
        ("消さないでください", "消さないで"),
    ],
)
def test_the_same_question_in_other_words_passes(one: str, other: str) -> None:
    assert text_conflicts(one, other) == ()


@pytest.mark.parametrize(
    ("one", "other", "guards"),
    [
        ("The plan renews", "The plan does not renew", ("negation",)),
        ("行く", "行かぬ", ("negation",)),
        ("行きます", "行きません", ("negation",)),
        ("行きたい", "行きたくない", ("negation",)),
        ("消す", "消すな", ("word",)),
        ("5 km", "5 miles", ("unit",)),
        ("Sort it up", "Sort it down", ("antonym",)),
        ("All users", "Some users", ("quantifier",)),
        ("US visa", "us visa", ("name",)),
        ("x > 5", "x < 5", ("word",)),
        ("a == b", "a != b", ("word",)),
        ("Version 1.10", "Version 1.1", ("number",)),
        ("Sum 1,2,3", "Sum 12,3", ("number",)),
        ("Is that Polish?", "Is that polish?", ("name", "word")),
        ("(2+3)*4", "2+(3*4)", ("order",)),
        ("犬が人を噛む", "人が犬を噛む", ("order",)),
        ("AからBまで", "BからAまで", ("order",)),
        ("Pay Ana", "Pay for Ana", ("order",)),
        ("What is a refund?", "I want a refund", ("modal",)),
        ("hello", "thanks", ("word",)),
        ("天気は", "weather", ("written in", "word")),
        ("Der Preis für Öl steigt", "Der Preis für Öl fällt", ("word",)),
    ],
)
def test_a_difference_is_told_by_its_guard(one: str, other: str, guards: tuple[str, ...]) -> None:
    assert text_conflicts(one, other) == guards
