"""A prompt's chunks, examples and turns are measured when its text passes, and outlive it."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.derive import derive_trace
from ingest.config import Configuration
from ingest.counting.chunk_memory import ChunkMemory, Piece
from ingest.counting.chunks import chunks_of_context
from ingest.counting.markup import markup_of
from ingest.counting.signatures import signature, text_hash
from ingest.counting.token_ids import token_memory
from ingest.counting.touched import is_touched, terms_of
from ingest.prompt_measures import PromptMeasures, are_near, chunk_sums
from ingest.records import Call, Span
from ingest.redact import Redaction

PUMP = (
    "The warranty of the Aurora 7 pump lasts thirty months from delivery. Claims need the serial "
    "number and a photograph of the broken part, sent to the service desk within fourteen days. "
    "Wear of seals and filters is not covered, and neither is damage by frost or by dry running. "
    "Repairs are made in the workshop at Ulm, which also lends a pump of the same size meanwhile."
)
LEASE = (
    "Tenants give back the flat swept and with every key. Small holes in the walls are filled, and "
    "the oven is clean. The deposit is returned within six weeks once meters have been read twice."
)
PUMP_JA = (
    "オーロラ7型ポンプの保証期間は納品日から三十か月です。保証を受けるには製造番号と破損箇所の写真が必要で、"
    "十四日以内にサービス窓口へ送付してください。シールとフィルターの摩耗、凍結や空運転による損傷は対象外です。"
    "修理は名古屋の工場で行い、その間は同じ大きさの代替機を貸し出します。"
)
LEASE_JA = (
    "退去時には床を掃き、すべての鍵を返却します。壁の小さな穴は埋め、オーブンは清掃してください。"
    "敷金は検針が二回済んだのち、六週間以内に返金されます。"
)
ANSWER = (
    "The Aurora pump has a warranty of thirty months, counted from delivery. Send the serial "
    "number and a photograph of the broken part to the service desk."
)
ANSWER_JA = (
    "オーロラ型ポンプの保証期間は納品日から三十か月です。"
    "製造番号と破損箇所の写真を送付してください。"
)


def asked(*documents: str, question: str = "How long is the warranty?") -> list[dict[str, Any]]:
    inside = "\n".join(
        f'<document id="{at}">{text}</document>' for at, text in enumerate(documents)
    )
    return [{"role": "user", "content": f"<documents>\n{inside}\n</documents>\n{question}"}]


def call_of(messages: list[dict[str, Any]], answer: str | None = ANSWER, **configured: Any) -> Call:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 500,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.input.messages": orjson.dumps(messages).decode(),
    }
    if answer is not None:
        said = [{"role": "assistant", "content": answer}]
        attributes["gen_ai.output.messages"] = orjson.dumps(said).decode()
    span = Span(
        trace_id="a" * 32,
        span_id="1" * 16,
        name="chat",
        started_at=10**18,
        ended_at=10**18 + 10**9,
        attributes=attributes,
    )
    configuration = Configuration(**configured)
    (found,) = derive_trace(Redaction(configuration).spans([span]), configuration).calls
    return found


def measured(
    messages: list[dict[str, Any]], answer: str | None = ANSWER, **configured: Any
) -> PromptMeasures:
    found = call_of(messages, answer, **configured).prompt_measures
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("<context>one\n\ntwo\n \nthree</context>", ["one", "two", "three"]),
        ("Context:\n[1] one\n[2] two", ["one", "two"]),
        (
            "<documents><document>one</document>\n<document x='1'>two</document></documents>",
            ["one", "two"],
        ),
        ("検索結果1：一つ目\n検索結果2：二つ目", ["一つ目", "二つ目"]),
        ("one\n---\n- two", ["one", "two"]),
        ("<documents><document>one", ["<documents><document>one"]),
        ("  \n ", []),
    ],
)
def test_a_context_is_cut_into_its_documents_or_passages(text: str, chunks: list[str]) -> None:
    assert [text[slice(*each)] for each in chunks_of_context(text, 0, len(text))] == chunks


@pytest.mark.parametrize(("document", "other"), [(PUMP, LEASE), (PUMP_JA, LEASE_JA)])
def test_a_document_that_comes_twice_is_a_duplicate_whatever_its_blanks(
    document: str, other: str
) -> None:
    again = document.replace("。", "。\n").replace(". ", ".\n  ")
    found = measured(asked(document, other, again))
    first, second, third = found.chunk_hashes
    assert first == third != second
    sums = chunk_sums(found)
    assert sums["duplicate_tokens"] == found.chunk_tokens[2]
    assert sums["near_duplicate_tokens"] == 0


@pytest.mark.parametrize(
    ("document", "old", "new"),
    [(PUMP, "fourteen days", "fifteen days"), (PUMP_JA, "十四日以内", "十五日以内")],
)
def test_a_document_with_another_number_is_a_near_duplicate(
    document: str, old: str, new: str
) -> None:
    found = measured(asked(document, document.replace(old, new)))
    sums = chunk_sums(found)
    assert sums["duplicate_tokens"] == 0
    assert sums["near_duplicate_tokens"] == found.chunk_tokens[1]


@pytest.mark.parametrize(("document", "other"), [(PUMP, LEASE), (PUMP_JA, LEASE_JA)])
def test_a_clean_prompt_shows_no_duplicate_and_no_markup(document: str, other: str) -> None:
    sums = chunk_sums(measured(asked(document, other)))
    assert sums["chunked_tokens"]
    assert (sums["duplicate_tokens"], sums["near_duplicate_tokens"], sums["markup_tokens"]) == (
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("document", "other", "answer"), [(PUMP, LEASE, ANSWER), (PUMP_JA, LEASE_JA, ANSWER_JA)]
)
def test_a_document_of_which_no_word_is_in_the_answer_is_untouched(
    document: str, other: str, answer: str
) -> None:
    found = measured(asked(document, other), answer)
    assert found.chunk_is_touched == (True, False)
    assert chunk_sums(found)["untouched_tokens"] == found.chunk_tokens[1]


def test_without_an_answer_or_with_a_short_one_nothing_is_said_of_what_it_touched() -> None:
    for answer in (None, "Yes, thirty months."):
        found = measured(asked(PUMP, LEASE), answer)
        assert found.chunk_is_touched is None
        assert chunk_sums(found)["untouched_tokens"] is None


def test_one_word_or_number_is_enough_to_touch() -> None:
    said = "Meters are read on 17 occasions by the inspectors of Ulm's municipal utility, 電力会社."
    words = {"meters", "read", "17", "occasions", "inspectors", "municipal", "utility"}
    assert terms_of([said]) == frozenset({*words, "電力", "力会", "会社"})
    assert is_touched("Costs: １７ euros", frozenset({"17"}))
    assert not is_touched("Costs: 18 euros", frozenset({"17"}))


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("<p>Pumps</p>", ["<p>", "</p>"]),
        ("a <script>var a = '<b>';</script> b", ["<script>var a = '<b>';</script>"]),
        ("<nav><a href='/'>Home</a></nav>Pumps", ["<nav><a href='/'>Home</a></nav>"]),
        ("Home | Products | Contact us\nPumps", ["Home | Products | Contact us"]),
        ("ホーム > 製品情報 > お問い合わせ\nポンプ", ["ホーム > 製品情報 > お問い合わせ"]),
        ("[Home](/) · [FAQ](/faq)\nPumps", ["[Home](/) · [FAQ](/faq)"]),
        ("We use cookies to improve.\nPumps", ["We use cookies to improve."]),
        ("当サイトではCookieを使用しています。\nポンプ", ["当サイトではCookieを使用しています。"]),
        ("Pumps\n© 2026 Aurora", ["© 2026 Aurora"]),
        ("Home\n\nBlog\nContact\nPumps", ["Home", "Blog", "Contact"]),
        ("Home\nPumps", []),
        ("Home is where pumps are | and products", []),
        ("The privacy policy says that cookies are used.", []),
        ("if a < b and c > d: List<String> <T>", []),
        ("<document>Pumps</document>", []),
        ("<script>never closed", ["<script>"]),
    ],
)
def test_markup_and_boilerplate_are_told_from_content(text: str, markup: list[str]) -> None:
    assert [text[slice(*each)] for each in markup_of(text)] == markup


def test_markup_of_a_document_is_counted_in_tokens() -> None:
    page = f"<nav><a href='/'>Home</a></nav>\n{PUMP}\nHome | Blog | Contact"
    found = measured(asked(page))
    bare = measured(asked(PUMP))
    # the markup, and the line ends beside it, are all that the page has besides
    assert found.chunk_markup_tokens[0] == pytest.approx(
        found.chunk_tokens[0] - bare.chunk_tokens[0], abs=3
    )
    assert bare.chunk_markup_tokens == (0,)


def test_results_of_tools_are_chunks_and_their_turns_are_not_the_users() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Read the file."},
        {"role": "assistant", "content": "I do."},
        {"role": "tool", "content": PUMP},
        {"role": "assistant", "content": "Once more."},
        {"role": "user", "parts": [{"type": "tool_result", "content": PUMP}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And now?"},
    ]
    found = measured(messages)
    assert found.user_turns == 2
    assert found.chunk_is_result == (True, True)
    assert chunk_sums(found)["duplicate_tokens"] == found.chunk_tokens[1]


def test_examples_have_one_hash_however_they_are_marked_and_whatever_is_asked() -> None:
    shown = "<examples>Q: 1+1\nA: 2</examples>"
    one, other = (
        measured(
            [{"role": "system", "content": f"{told}{shown}"}, {"role": "user", "content": question}]
        )
        for told, question in (("You add. ", "2+2"), ("You are a calculator. ", "3+3"))
    )
    assert one.examples_hash == other.examples_hash == text_hash(shown, None)
    assert measured([{"role": "user", "content": "2+2"}]).examples_hash is None


def test_measures_are_the_same_under_hash_and_full_and_there_are_none_under_off() -> None:
    messages = asked(PUMP, LEASE, PUMP)
    assert measured(messages, content="hash") == measured(messages, content="full")
    assert call_of(messages, content="off").prompt_measures is None
    assert call_of(messages, count_sections=False).prompt_measures is None


def test_a_key_changes_every_hash_and_no_count() -> None:
    plain, keyed = (measured(asked(PUMP, PUMP), hash_key=key) for key in (None, "k"))
    assert not set(plain.chunk_hashes) & set(keyed.chunk_hashes)
    assert not set(plain.chunk_signatures) & set(keyed.chunk_signatures)
    assert chunk_sums(plain) == chunk_sums(keyed)


def test_chunks_stand_where_their_tokens_are() -> None:
    found = call_of([{"role": "system", "content": "You are helpful."}, *asked(PUMP, LEASE)])
    measures = found.prompt_measures
    assert measures is not None
    assert found.system_tokens is not None
    assert measures.chunk_begins[0] > found.system_tokens
    first_end = measures.chunk_begins[0] + measures.chunk_tokens[0]
    assert measures.chunk_begins[1] >= first_end


@given(st.lists(st.sampled_from([PUMP, LEASE, PUMP_JA, LEASE_JA]), min_size=1, max_size=5))
@settings(max_examples=20)
def test_the_parts_of_the_chunks_never_exceed_them(documents: list[str]) -> None:
    sums = chunk_sums(measured(asked(*documents)))
    parts = ("duplicate_tokens", "markup_tokens", "near_duplicate_tokens", "untouched_tokens")
    assert sum(sums[part] or 0 for part in parts) <= (sums["chunked_tokens"] or 0)
    repeated = len(documents) - len(set(documents))
    assert (sums["duplicate_tokens"] == 0) == (repeated == 0)


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [(0, 0, True), (0, 0xFF, True), (0, 0xFF00, True), (0, 0x0180, False), (-1, 0, False)],
)
def test_signatures_are_near_where_seven_of_eight_bytes_agree(
    one: int, other: int, near: bool
) -> None:
    assert are_near(one, other) is near


def test_bytes_of_signatures_agree_as_often_as_shingles_are_shared() -> None:
    words = [f"word{at}" for at in range(400)]
    agreeing = 0
    for trial in range(40):
        first = token_memory().ids(" ".join(words[:300]) + f" a{trial}", "o200k_base")
        second = token_memory().ids(" ".join(words[100:]) + f" b{trial}", "o200k_base")
        one, other = (signature(ids, str(trial)) for ids in (first, second))
        pairs = zip(
            one.to_bytes(8, "little", signed=True),
            other.to_bytes(8, "little", signed=True),
            strict=True,
        )
        agreeing += sum(a == b for a, b in pairs)
    # 200 of 400 words are shared: about half of the shingles
    assert agreeing / (40 * 8) == pytest.approx(0.5, abs=0.1)


def test_a_hash_is_of_the_text_whatever_its_unicode_form() -> None:
    assert text_hash("Caf\u00e9  a", None) == text_hash("Cafe\u0301\na", None)
    assert text_hash("a", None) != text_hash("b", None)


def test_what_is_forgotten_is_measured_again_alike() -> None:
    memory = ChunkMemory(remembered_chunks=1)
    pieces = [
        Piece(text, token_memory().ids(text, "o200k_base"), 0, "o200k_base", None)
        for text in (PUMP, LEASE_JA, f"<p>{PUMP}")
    ]
    first = [memory.measured(piece) for piece in pieces]
    assert [memory.measured(piece) for piece in pieces] == first
    assert [each.markup_tokens > 0 for each in first] == [False, False, True]


def test_lists_of_other_chunks_are_refused() -> None:
    with pytest.raises(ValueError, match="same chunks"):
        PromptMeasures(chunk_hashes=(1,))
