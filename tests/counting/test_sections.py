"""Each stretch of a prompt is in one section, by role, place and the marks around it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.content import Message
from ingest.counting.encodings import choice
from ingest.counting.parts import parts_of
from ingest.counting.prompts import prompt_of
from ingest.counting.sections import section_of_messages, stretches
from ingest.counting.token_ids import tokenised

GPT = choice("gpt-4o")


def said(role: str, content: str, **more: Any) -> Message:
    return {"role": role, "content": content, **more}


def tokens(text: str) -> int:
    return len(tokenised(text, "o200k_base"))


def cut(text: str, section: str = "user") -> list[tuple[str, str]]:
    return [(each.section, text[each.begin : each.end]) for each in stretches(text, section)]


def test_the_last_run_of_questions_is_the_user_s_and_all_around_it_is_history() -> None:
    roles = ["system", "user", "assistant", "user", "user", "assistant", "tool"]
    assert section_of_messages([said(role, "x") for role in roles]) == [
        "system",
        "history",
        "history",
        "user",
        "user",
        "history",
        "history",
    ]


def test_a_message_whose_speaker_is_named_an_example_is_one() -> None:
    messages = [
        said("system", "a"),
        said("system", "b", name="example_user"),
        said("system", "c", name="example_assistant"),
        said("user", "d", name="Ada"),
    ]
    assert section_of_messages(messages) == ["system", "examples", "examples", "user"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Read this.<documents><document>A</document><document>B</document></documents> What?",
            [
                ("user", "Read this."),
                (
                    "context",
                    "<documents><document>A</document><document>B</document></documents>",
                ),
                ("user", " What?"),
            ],
        ),
        (
            'Be brief. <example id="1">Q: 1+1 A: 2</example>',
            [("user", "Be brief. "), ("examples", '<example id="1">Q: 1+1 A: 2</example>')],
        ),
        (
            "Use what follows.\n\nContext:\nParis is in France.\n\nQuestion: Where is Paris?",
            [
                ("user", "Use what follows.\n\n"),
                ("context", "Context:\nParis is in France.\n\n"),
                ("user", "Question: Where is Paris?"),
            ],
        ),
        ("## Documents:\nA\nB", [("context", "## Documents:\nA\nB")]),
        ("In the context: of a sentence", [("user", "In the context: of a sentence")]),
        ("<context>never closed", [("user", "<context>never closed")]),
        ("</context>closed alone", [("user", "</context>closed alone")]),
        ("<contexts>another word</contexts>", [("user", "<contexts>another word</contexts>")]),
        ("", [("user", "")]),
    ],
)
def test_examples_and_documents_are_told_by_tags_and_headings(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert cut(text) == found


def test_marks_in_earlier_turns_cut_nothing() -> None:
    assert cut("<context>A</context>", "history") == [("history", "<context>A</context>")]


def test_tags_that_never_close_are_looked_at_once() -> None:
    text = "<context>" * 200_000
    assert cut(text) == [("user", text)]


def test_tokens_of_a_text_that_is_cut_are_those_of_the_whole() -> None:
    text = "Use what follows.\n\nContext:\nParis is in France.\n\nQuestion: Where is Paris?"
    found = prompt_of([said("user", text)], None, GPT, is_chat=False)
    assert found.sections.total() == found.input_tokens == tokens(text)
    # Use| what| follows|.|Context|:|Paris| is| in| France|.|Question|:| Where| is| Paris|?
    assert found.sections == {"user": 10, "context": 7, "history": 0}


PARTS: list[Any] = [
    st.text(max_size=60),
    st.sampled_from(["<context>a</context>", "<example>", "</example>", "\nContext:\n", "日本語"]),
]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["system", "user", "assistant", "tool"]),
            st.lists(st.one_of(*PARTS), max_size=4).map("".join),
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_sections_and_format_add_up_to_the_prompt(
    spoken: list[tuple[str, str]], is_chat: bool
) -> None:
    messages = [said(role, text) for role, text in spoken]
    found = prompt_of(messages, '{"name": "f"}', GPT, is_chat=is_chat)
    text = sum(tokens(text) for _, text in spoken) + tokens('{"name": "f"}')
    around = sum(3 + tokens(role) for role, _ in spoken) + 3 if is_chat else 0
    assert (found.sections.total(), found.format_tokens) == (text, around)
    assert found.input_tokens == text + around == len(found.leading.ids)


def test_a_chat_of_the_cookbook_has_the_tokens_that_its_formula_gives() -> None:
    messages = [
        said("system", "You turn jargon into plain words."),
        said("system", "New synergies will help drive top-line growth.", name="example_user"),
        said("system", "Working well together makes more money.", name="example_assistant"),
        said("user", "Let us circle back when we have more bandwidth."),
    ]
    found = prompt_of(messages, None, GPT, is_chat=True)
    expected = 3
    for message in messages:
        expected += 3 + tokens(message["role"]) + tokens(message["content"])
        expected += 1 + tokens(message["name"]) if "name" in message else 0
    assert found.input_tokens == expected
    assert list(found.reasons()) == []


TEXT_A = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ({"type": "tool_call", "name": "f", "arguments": {"a": 1}}, [("structured", 'f {"a":1}')]),
        ({"type": "tool_call_response", "response": "42"}, [("result", "42")]),
        ({"type": "tool_result", "content": [TEXT_A, {"type": "image"}]}, [("result", "a"), None]),
        ({"type": "reasoning", "content": "hm"}, [("reasoning", "hm")]),
        ({"type": "thinking", "thinking": "hm"}, [("reasoning", "hm")]),
        ({"type": "document", "source": {"type": "text", "data": "page"}}, [("retrieved", "page")]),
        ({"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}, [None]),
        ({"type": "search_result", "content": [TEXT_A]}, [("retrieved", "a")]),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, [None]),
        ({"type": "blob", "content": "AAAA"}, [None]),
        ({"functionCall": {"name": "f", "args": {"a": 1}}}, [("structured", 'f {"a":1}')]),
        ({"any": "body"}, [("structured", '{"any":"body"}')]),
    ],
)
def test_a_part_is_text_of_some_kind_or_none(
    part: dict[str, Any], found: list[tuple[str, str] | None]
) -> None:
    assert parts_of({"role": "user", "parts": [part]}) == found
