"""What answers are made of: JSON and the text around it, sentences, and questions said again."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.counting.measures import AnswerMeasures, Tokenised, measures_of
from ingest.counting.restated import restated_count
from ingest.counting.sentences import EDGE_SENTENCES, hash_of, sentences_of
from ingest.counting.token_ids import tokenised
from ingest.records import Call, Span
from ingest.redact import Redaction

ENCODING = "o200k_base"
JSON_PARTS = (
    "preamble_tokens",
    "json_key_tokens",
    "json_value_tokens",
    "json_syntax_tokens",
    "json_blank_tokens",
    "trailing_tokens",
)
QUESTION = "How do I reset my password?"
ANSWER = "You asked how to reset your password. Open Settings. Then choose Security."


def measured(text: str, question: str | None = None) -> AnswerMeasures:
    given_text = Tokenised("plain", 0, text, tokenised(text, ENCODING))
    found = measures_of([given_text], ENCODING, lambda: question, None)
    assert found is not None
    return found


def parts(found: AnswerMeasures) -> list[int | None]:
    return [getattr(found, name) for name in JSON_PARTS]


# {"|name|":| "|Bob|",| "|age|":| |3|} are twelve tokens: four of keys with two colons and
# a quote that opens one, three and a digit of values.
def test_the_tokens_of_json_are_keys_values_syntax_and_blanks() -> None:
    found = measured('{"name": "Bob", "age": 3}')
    assert (found.answer_shape, found.answer_tokens, found.json_key_count) == ("json", 12, 2)
    assert parts(found) == [0, 5, 4, 2, 1, 0]


def test_a_key_of_a_list_counts_as_repeated_from_its_second_element_on() -> None:
    rows = [{"name": name, "age": 3} for name in ("Bob", "Ann", "Eve")]
    found = measured(orjson.dumps(rows).decode())
    assert (found.json_key_tokens, found.json_repeated_key_tokens) == (12, 8)
    apart = measured('{"a": {"name": 1}, "b": {"name": 2}}')
    assert apart.json_repeated_key_tokens == 0


def test_indentation_is_blank_and_compact_json_has_none() -> None:
    rows = [{"name": "Bob"}, {"name": "Ann"}]
    indented = orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()
    assert (measured(indented).json_blank_tokens or 0) > 0
    assert measured(orjson.dumps(rows).decode()).json_blank_tokens == 0


# Here| is| the| JSON|:\n|```|json|\n| are eight; of what follows the braces "}\n is theirs, and
# ```|\n|Let| me| know| if| you| need| more|. are ten.
def test_text_before_and_after_json_is_preamble_and_trailing() -> None:
    text = 'Here is the JSON:\n```json\n{"label": "spam"}\n```\nLet me know if you need more.'
    found = measured(text)
    assert found.answer_shape == "json_in_text"
    assert (found.preamble_tokens, found.trailing_tokens) == (8, 10)


def test_values_one_after_the_other_are_json_without_anything_after_it() -> None:
    found = measured('{"a":1}\n{"a":2}')
    assert (found.answer_shape, found.trailing_tokens) == ("json", 0)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{"a": [1, 2', "broken_json"),
        ("positive", "label"),
        ("```python\nprint({})\n```", "code"),
        ('As in [1], the {"x"} is odd; this is said at length in [2] too.', "prose"),
        ('Use this:\n```json\n{"a": 1}\n```\nand call it so:\n```sh\nrun\n```', "prose"),
        ('The call `get({"a": 1})` gives what was stored before, or nothing at all.', "prose"),
    ],
)
def test_an_answer_has_one_shape(text: str, shape: str) -> None:
    found = measured(text)
    assert (found.answer_shape, parts(found)) == (shape, [None] * len(JSON_PARTS))


def test_thoughts_that_stand_in_the_text_are_no_preamble() -> None:
    found = measured('<think>Hm, a label.</think>\n{"a": "b"}')
    assert found.answer_tokens == measured('{"a": "b"}').answer_tokens
    assert (found.answer_shape, found.preamble_tokens) == ("json", 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(
    value=st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1),
    before=st.sampled_from(["", "Here it is:\n", "```json\n", "はい、どうぞ。\n"]),
    after=st.sampled_from(["", "\n```", "\nDone.", "\n以上です。"]),
    is_indented=st.booleans(),
)
def test_each_token_of_an_answer_in_json_is_in_one_part(
    value: dict[str, Any], before: str, after: str, is_indented: bool
) -> None:
    option = orjson.OPT_INDENT_2 if is_indented else None
    found = measured(before + orjson.dumps(value, option=option).decode() + after)
    assert found.answer_shape in {"json", "json_in_text"}
    assert sum(part or 0 for part in parts(found)) == found.answer_tokens
    assert (found.json_repeated_key_tokens or 0) <= (found.json_key_tokens or 0)


# You| asked| how| to| reset| your| password|. are eight tokens.
def test_a_question_that_is_said_again_is_counted() -> None:
    assert measured(ANSWER, QUESTION).restated_tokens == 8
    assert measured(ANSWER).restated_tokens is None


@pytest.mark.parametrize(
    ("question", "sentences", "count"),
    [
        ("What is the capital of France?", ["What is the capital of France?", "Paris."], 1),
        ("What is the capital of France?", ["The capital of France is Paris.", "Yes."], 0),
        ("Is the shop open on Sunday?", ["The shop is open on Sunday.", "Until five."], 0),
        ("Does the contract renew?", ["You asked if the contract does not renew.", "No."], 0),
        ("Sales in 2024?", ["You asked about sales in 2025.", "They grew."], 0),
        ("Where is the big station?", ["Where is the big station?"], 0),
        (
            "アカウントの削除方法を教えて",
            ["アカウントの削除方法についてのご質問ですね。", "設定です"],
            1,
        ),
        ("契約は更新されますか", ["契約が更新されないとのことですね。", "はい"], 0),
        ("東京の天気は？", ["大阪の天気についてのお尋ねですね。", "晴れです"], 0),
    ],
)
def test_only_what_says_nothing_new_is_a_question_said_again(
    question: str, sentences: list[str], count: int
) -> None:
    assert restated_count(sentences, question) == count


def test_a_long_text_of_a_user_is_no_question() -> None:
    assert restated_count(["You asked this long thing.", "So."], "word " * 1000) is None


def test_sentences_end_at_marks_of_both_languages_and_at_lines() -> None:
    text = "First one. Second (v. 2.5)!\n- third\n終わりです。「次です！」\n```sh\nnot this.\n```"
    told = [sentence.text for sentence in sentences_of(text.encode())]
    assert told == ["First one.", "Second (v.", "third", "終わりです。", "「次です！」"]


def test_a_sentence_is_known_again_whatever_its_case_and_blanks() -> None:
    assert hash_of("Ask  a doctor.", None) == hash_of("ask a\ndoctor.", None)
    assert hash_of("Ask a doctor.", None) != hash_of("Ask a lawyer.", None)
    assert hash_of("Ask a doctor.", "key") != hash_of("Ask a doctor.", None)


def test_of_a_long_answer_the_first_and_the_last_sentences_are_remembered() -> None:
    found = measured(" ".join(f"This is sentence number {number}." for number in range(100)))
    hashes = found.columns()["sentence_hashes"]
    assert len(hashes) == 2 * EDGE_SENTENCES
    assert hashes[0] == hash_of("This is sentence number 0.", None)
    assert hashes[-1] == hash_of("This is sentence number 99.", None)


@pytest.mark.parametrize(
    "text",
    [
        "!" * 200_000 + "a",
        "\n" * 200_000 + "{",
        "[" * 200_000,
        '{"a":' * 50_000,
        "```" * 60_000 + '{"a": 1}',
        "you asked " * 20_000,
        "についての質問" * 20_000,
        '{"a": "\ud800"}',
    ],
    ids=["marks", "lines", "brackets", "depth", "fences", "lead", "japanese", "surrogate"],
)
def test_a_hostile_answer_is_measured_like_any_other(text: str) -> None:
    assert measured(text, "What is asked?").answer_tokens > 0


def call_of(content: Any, **configured: Any) -> Call:
    asked = [{"role": "user", "content": QUESTION}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 99,
        "gen_ai.input.messages": orjson.dumps(asked).decode(),
        "gen_ai.output.messages": orjson.dumps([{"role": "assistant", "content": ANSWER}]).decode(),
    }
    configuration = Configuration(content=content, **configured)
    span = Span(
        trace_id="a" * 32,
        span_id="1" * 16,
        name="chat",
        started_at=10**18,
        ended_at=10**18 + 1,
        attributes=attributes,
    )
    (found,) = derive_trace(Redaction(configuration).spans([span]), configuration).calls
    return found


MEASURED = ("answer_shape", "answer_tokens", "restated_tokens", "sentence_hashes")


def test_measures_are_the_same_whether_the_text_is_stored_or_its_hash() -> None:
    full, hashed = call_of("full"), call_of("hash")
    assert [getattr(full, name) for name in MEASURED] == [
        getattr(hashed, name) for name in MEASURED
    ]
    assert (hashed.answer_shape, hashed.answer_tokens, hashed.restated_tokens) == ("prose", 15, 8)
    assert hashed.sentence_lengths == (8, 3, 4)
    assert hashed.completion is None


def test_measuring_changes_no_reported_usage() -> None:
    found = call_of("hash")
    assert (found.visible_output_tokens, found.tokens_source) == (99, "reported")


@pytest.mark.parametrize(
    ("content", "configured"), [("off", {}), ("hash", {"measure_answers": False})]
)
def test_nothing_is_measured_where_nothing_may_be(content: Any, configured: Any) -> None:
    found = call_of(content, **configured)
    assert [getattr(found, name) for name in MEASURED] == [None] * len(MEASURED)


def test_a_record_of_a_call_is_measured_as_a_span_is() -> None:
    record = Call(
        identity="1",
        timing_source="tokens",
        model="gpt-4o-mini",
        visible_output_tokens=99,
        prompt=QUESTION,
        completion=ANSWER,
    )
    (found,) = Redaction(Configuration()).calls([record])
    assert [getattr(found, name) for name in MEASURED] == [
        getattr(call_of("hash"), name) for name in MEASURED
    ]
    assert found.visible_output_tokens == 99
