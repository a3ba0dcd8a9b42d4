"""Usage that nobody reported is counted from the texts, labelled, and the same however stored."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.derive import derive_trace
from ingest.calls.joining import joined_call
from ingest.config import Configuration
from ingest.counting import token_ids
from ingest.counting.counted import ATTRIBUTE, of_attribute
from ingest.records import LOG_KIND, Call, Span, SpanEvent
from ingest.redact import Redaction

COUNTED = (
    "tokens_source",
    "tokens_note",
    "uncached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "visible_output_tokens",
    "reasoning_tokens",
    "system_tokens",
    "tools_tokens",
    "examples_tokens",
    "context_tokens",
    "history_tokens",
    "user_tokens",
    "prefix_hashes",
    "prefix_block_tokens",
    "volatile_spans",
    "stable_prefix_hashes",
)
ASKED = [
    {"role": "system", "parts": [{"type": "text", "content": "You are helpful."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Hi!"}]},
    {"role": "user", "parts": [{"type": "text", "content": "Where is Paris?"}]},
]
ANSWERED = [{"role": "assistant", "parts": [{"type": "text", "content": "Paris is in France."}]}]
BARE = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
TALK = {
    **BARE,
    "gen_ai.input.messages": orjson.dumps(ASKED).decode(),
    "gen_ai.output.messages": orjson.dumps(ANSWERED).decode(),
}


def span(attributes: dict[str, Any], span_id: str = "1" * 16, **fields: Any) -> Span:
    ids = {"trace_id": "a" * 32, "span_id": span_id}
    times = {"started_at": 10**18, "ended_at": 10**18 + 10**9}
    return Span(**{**ids, "name": "chat", **times, "attributes": attributes, **fields})


def one_call(*spans: Span, **configured: Any) -> Call:
    configuration = Configuration(**configured)
    (found,) = derive_trace(Redaction(configuration).spans(spans), configuration).calls
    return found


def tokens(call: Call) -> tuple[int | None, int | None]:
    return call.uncached_input_tokens, call.visible_output_tokens


def counted(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in COUNTED}


def messages(*texts: tuple[str, str]) -> str:
    return orjson.dumps([{"role": role, "content": text} for role, text in texts]).decode()


# You| are| helpful|. Hello Hi|! Where| is| Paris|? are 11 tokens; four messages of four tokens
# around them and three before the answer are 19. Paris| is| in| France|. are 5.
def test_a_call_without_usage_is_counted_with_the_model_s_own_encoding() -> None:
    found = one_call(span(TALK))
    assert (tokens(found), found.tokens_source) == ((30, 5), "counted")
    assert found.tokens_note == (
        "input counted with o200k_base: 11 of text, 19 of chat format; "
        "output counted with o200k_base"
    )
    assert (found.reported_input_tokens, found.reported_output_tokens) == (None, None)
    assert (found.system_tokens, found.history_tokens, found.user_tokens) == (4, 3, 4)
    assert (found.tools_tokens, found.examples_tokens, found.context_tokens) == (None, None, None)


def test_another_tokenizer_than_the_model_s_gives_an_estimate_that_names_it() -> None:
    found = one_call(span({**TALK, "gen_ai.request.model": "meta-llama/Llama-3.1-8B-Instruct"}))
    assert (tokens(found), found.tokens_source) == ((30, 5), "estimated")
    assert found.tokens_note == (
        "input estimated with o200k_base: 11 of text, 19 of chat format, not the model's own "
        "tokenizer; output estimated with o200k_base, not the model's own tokenizer"
    )


def test_a_stream_without_usage_is_counted_and_says_what_to_ask_for() -> None:
    found = one_call(span({**TALK, "gen_ai.request.stream": True}))
    assert tokens(found) == (30, 5)
    assert (found.tokens_note or "").endswith(
        "output counted with o200k_base; stream without usage; ask for stream_options.include_usage"
    )


def test_a_stream_of_480_characters_has_some_hundred_tokens_and_not_0() -> None:
    text = "The bill adds up, line by line. " * 15
    attributes = {**BARE, "gen_ai.request.stream": True, "gen_ai.completion": text}
    found = one_call(span(attributes))
    assert (len(text), tokens(found)) == (480, (None, 136))
    assert "input tokens are unknown" in (found.tokens_note or "")


@pytest.mark.parametrize("content", ["full", "hash"])
def test_reported_usage_is_never_replaced(content: Any) -> None:
    usage = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 200}
    found = one_call(span({**TALK, **usage}), content=content)
    assert (tokens(found), found.tokens_source, found.tokens_note) == (
        (1000, 200),
        "reported",
        None,
    )
    assert (found.system_tokens, found.history_tokens, found.user_tokens) == (4, 3, 4)


def test_only_the_side_that_is_missing_is_counted() -> None:
    found = one_call(span({**TALK, "gen_ai.usage.input_tokens": 1000}))
    assert (tokens(found), found.tokens_source) == ((1000, 5), "counted")
    assert found.tokens_note == "output counted with o200k_base"


def test_cached_tokens_are_no_second_time_in_the_counted_input() -> None:
    found = one_call(span({**TALK, "gen_ai.usage.cache_read.input_tokens": 20}))
    assert (found.uncached_input_tokens, found.cache_read_tokens) == (10, 20)


@pytest.mark.parametrize(
    ("attributes", "fields", "status"),
    [
        ({"http.response.status_code": 400}, {}, "error"),
        ({"http.response.status_code": 503}, {}, "error"),
        ({}, {"status": "error", "status_message": "connection refused"}, "error"),
    ],
)
def test_a_request_that_the_model_may_never_have_seen_is_not_counted(
    attributes: dict[str, Any], fields: dict[str, Any], status: str
) -> None:
    given_attributes = {**TALK, **attributes}
    del given_attributes["gen_ai.output.messages"]
    found = one_call(span(given_attributes, **fields))
    assert (found.status, tokens(found), found.tokens_source) == (status, (None, None), "unknown")
    assert found.user_tokens == 4


def test_a_refused_request_stays_one_of_no_token() -> None:
    found = one_call(span({**TALK, "http.response.status_code": 429}))
    assert found.tokens_source == "estimated"
    assert found.uncached_input_tokens == 0


def test_an_aborted_stream_has_at_least_its_chunks_and_at_least_its_text() -> None:
    ended = {"status": "error", "status_message": "client disconnected"}
    few, many = (
        [SpanEvent(name="llm.content.completion.chunk", at=10**18 + at) for at in range(count)]
        for count in (3, 300)
    )
    found = one_call(span(TALK, events=few, **ended))
    assert (found.status, tokens(found), found.tokens_source) == ("cancelled", (30, 5), "estimated")
    assert "at least that: the call was cancelled" in (found.tokens_note or "")
    assert tokens(one_call(span(TALK, events=many, **ended))) == (30, 300)


@pytest.mark.parametrize(
    ("more", "expected", "reason"),
    [
        ({"gen_ai.request.model": "o3-mini"}, (30, 5), "at least that: reasoning"),
        ({"gen_ai.tool.definitions": '[{"name":"f"}]'}, (37, 5), "are counted as JSON"),
        (
            {
                "gen_ai.input.messages": orjson.dumps(
                    [{"role": "user", "parts": [{"type": "image"}, "Where is Paris?"]}]
                ).decode()
            },
            (11, 5),
            "at least that: 1 parts that are no text",
        ),
        (
            {"gen_ai.input.messages": '[{"role":"user","content":"Where is'},
            (17, 5),
            "at least that: the text was cut",
        ),
    ],
)
def test_a_count_that_falls_short_is_an_estimate_and_says_why(
    more: dict[str, Any], expected: tuple[int, int], reason: str
) -> None:
    found = one_call(span({**TALK, **more}))
    assert (tokens(found), found.tokens_source) == (expected, "estimated")
    assert reason in (found.tokens_note or "")


def test_reasoning_that_was_sent_is_a_bucket_of_its_own() -> None:
    parts = [
        {"type": "reasoning", "content": "Paris, easy."},
        {"type": "text", "content": "Paris is in France."},
    ]
    answer = orjson.dumps([{"role": "assistant", "parts": parts}]).decode()
    found = one_call(span({**TALK, "gen_ai.output.messages": answer}))
    assert (found.visible_output_tokens, found.reasoning_tokens) == (5, 4)


def test_an_empty_answer_is_unknown_and_not_0() -> None:
    found = one_call(span({**TALK, "gen_ai.output.messages": messages(("assistant", ""))}))
    assert (found.visible_output_tokens, found.uncached_input_tokens) == (None, 30)
    assert "output tokens are unknown" in (found.tokens_note or "")


def test_choices_are_added_and_the_prompt_is_counted_once() -> None:
    choices = messages(("assistant", "Paris is in France."), ("assistant", "Hi!"))
    assert tokens(one_call(span({**TALK, "gen_ai.output.messages": choices}))) == (30, 7)


def test_a_first_question_has_no_history_and_its_system_message_is_not_known() -> None:
    found = one_call(span({**TALK, "gen_ai.input.messages": messages(("user", "Hello"))}))
    assert (found.system_tokens, found.history_tokens, found.user_tokens) == (None, 0, 1)


def test_embeddings_have_their_text_and_no_output() -> None:
    attributes = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "text-embedding-3-small",
        "embedding.embeddings.0.embedding.text": "Where is Paris?",
        "output.value": '{"data":[{"embedding":[0.1,0.2]}]}',
    }
    found = one_call(span(attributes))
    assert (tokens(found), found.tokens_source) == ((4, 0), "counted")


def test_a_plain_completion_has_no_chat_format() -> None:
    attributes = {
        "llm.request.type": "completion",
        "gen_ai.request.model": "davinci-002",
        "gen_ai.prompt": "Where is Paris?",
        "gen_ai.completion": "Paris is in France.",
    }
    found = one_call(span(attributes))
    assert (tokens(found), found.tokens_source) == ((4, 5), "counted")


def test_token_ids_of_the_telemetry_are_the_prompt_and_are_not_stored() -> None:
    ids = list(range(100, 140))
    found = {}
    for content in ("full", "hash"):
        configuration = Configuration(content=content)  # type: ignore[arg-type]
        given_span = span({**TALK, "gen_ai.prompt.token_ids": ids})
        (clean,) = Redaction(configuration).spans([given_span])
        assert ("100" in orjson.dumps(dict(clean.attributes)).decode()) == (content == "full")
        (found[content],) = derive_trace([clean], configuration).calls
    assert counted(found["full"]) == counted(found["hash"])
    assert (found["hash"].uncached_input_tokens, found["hash"].tokens_source) == (40, "counted")
    assert len(found["hash"].prefix_hashes or ()) == 2
    other = one_call(span({**TALK, "gen_ai.prompt.token_ids": [*ids[:20], *ids]}))
    first, second = found["hash"].prefix_hashes, other.prefix_hashes
    assert first is not None
    assert second is not None
    assert (first[0] == second[0], first[1] == second[1]) == (True, False)


FORMS: dict[str, dict[str, Any]] = {
    "semantic conventions": TALK,
    "OpenLLMetry": {
        "llm.request.type": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        **{f"gen_ai.prompt.{at}.role": each["role"] for at, each in enumerate(ASKED)},
        **{
            f"gen_ai.prompt.{at}.content": each["parts"][0]["content"]
            for at, each in enumerate(ASKED)
        },
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Paris is in France.",
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o-mini",
        **{f"llm.input_messages.{at}.message.role": each["role"] for at, each in enumerate(ASKED)},
        **{
            f"llm.input_messages.{at}.message.content": each["parts"][0]["content"]
            for at, each in enumerate(ASKED)
        },
        "llm.output_messages.0.message.content": "Paris is in France.",
    },
    "Vercel AI SDK": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "gpt-4o-mini",
        "ai.prompt.messages": messages(
            *[(each["role"], each["parts"][0]["content"]) for each in ASKED]
        ),
        "ai.response.text": "Paris is in France.",
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_generation_of_the_conventions_is_counted_alike(form: str) -> None:
    found = one_call(span(FORMS[form]))
    assert (tokens(found), found.tokens_source) == ((30, 5), "counted")
    assert (found.system_tokens, found.history_tokens, found.user_tokens) == (4, 3, 4)


def test_events_of_messages_are_counted_alike() -> None:
    events = [
        SpanEvent(
            name=f"gen_ai.{each['role']}.message",
            attributes={"content": each["parts"][0]["content"]},
        )
        for each in ASKED
    ]
    events.append(SpanEvent(name="gen_ai.choice", attributes={"message": "Paris is in France."}))
    assert tokens(one_call(span(BARE, events=events))) == (30, 5)


def test_content_off_keeps_nothing_that_was_derived_from_a_text() -> None:
    found = one_call(span(TALK), content="off")
    assert {name for name, value in counted(found).items() if value is not None} == {
        "tokens_source",
        "tokens_note",
    }
    assert found.tokens_source == "unknown"


def test_sections_and_hashes_can_be_switched_off() -> None:
    found = one_call(span(TALK), count_sections=False, prefix_block_tokens=0)
    assert tokens(found) == (30, 5)
    assert (found.user_tokens, found.prefix_hashes, found.prefix_block_tokens) == (None, None, None)


def test_blocks_have_the_size_that_is_configured_and_hashes_are_keyed() -> None:
    plain = one_call(span(TALK), prefix_block_tokens=8)
    keyed = one_call(span(TALK), prefix_block_tokens=8, hash_key="k")
    assert (plain.prefix_block_tokens, len(plain.prefix_hashes or ())) == (8, 3)
    assert not set(plain.prefix_hashes or ()) & set(keyed.prefix_hashes or ())


@pytest.fixture
def tokenised_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were tokenised, by a memory that begins empty."""
    made: list[str] = []
    real: Callable[[str, str], token_ids.Ids] = token_ids.tokenised

    def noted(text: str, encoding: str) -> token_ids.Ids:
        made.append(text)
        return real(text, encoding)

    token_ids.token_memory.cache_clear()
    monkeypatch.setattr(token_ids, "tokenised", noted)
    return made


def test_nothing_is_tokenised_where_usage_is_reported_and_nothing_else_is_asked_for(
    tokenised_texts: list[str],
) -> None:
    usage = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 200}
    unwanted = {"count_sections": False, "prefix_block_tokens": 0, "measure_answers": False}
    one_call(span({**TALK, **usage}), **unwanted)
    assert tokenised_texts == []


def test_no_answer_is_tokenised_where_its_usage_is_reported_and_it_is_not_measured(
    tokenised_texts: list[str],
) -> None:
    usage = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 200}
    one_call(span({**TALK, **usage}), measure_answers=False)
    assert "Where is Paris?" in tokenised_texts
    assert "Paris is in France." not in tokenised_texts


def test_the_prompt_of_one_view_fills_the_call_of_another() -> None:
    engine = span(
        {"gen_ai.latency.e2e": 1.0, "gen_ai.usage.completion_tokens": 7},
        span_id="2" * 16,
        parent_span_id="1" * 16,
        name="llm_request",
        kind="server",
        scope="vllm",
    )
    found = one_call(span(TALK), engine)
    assert tokens(found) == (30, 7)


def test_a_log_record_with_all_of_a_call_is_counted_as_its_span() -> None:
    whole = "gen_ai.client.inference.operation.details"
    log = span(
        {},
        span_id="3" * 16,
        parent_span_id="1" * 16,
        name=whole,
        kind=LOG_KIND,
        events=[SpanEvent(name=whole, at=10**18, attributes=TALK)],
    )
    for content in ("full", "hash"):
        found = one_call(span(BARE), log, content=content)
        assert (tokens(found), found.user_tokens) == ((30, 5), 4)


@pytest.mark.parametrize("is_engine_counted", [True, False])
def test_a_view_that_reports_usage_is_believed_before_one_that_was_counted(
    is_engine_counted: bool,
) -> None:
    def view(timing_source: str, **told: Any) -> Call:
        return Call(identity=timing_source, timing_source=timing_source, **told)

    counts = {
        "uncached_input_tokens": 30,
        "visible_output_tokens": 5,
        "reasoning_tokens": 0,
        "tokens_source": "counted",
    }
    reports = {"uncached_input_tokens": 1000, "visible_output_tokens": 200}
    engine, app = (counts, reports) if is_engine_counted else (reports, counts)
    found = joined_call([view("engine", **engine), view("span", **app)], "response_id")
    assert (tokens(found), found.tokens_source) == ((1000, 200), "reported")
    assert found.tokens_note is None


def test_what_a_sender_writes_into_our_attribute_is_no_count() -> None:
    for forged in ('{"encoding":"x","input_tokens":-5}', "[]", 7, '{"encoding":"x","prefix":"a"}'):
        assert of_attribute(forged) is None
        assert tokens(one_call(span({**TALK, ATTRIBUTE: forged}))) == (30, 5)


TEXTS = st.text(max_size=40)


@settings(deadline=None)
@given(
    asked=st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=4),
    answer=TEXTS,
    usage=st.dictionaries(
        st.sampled_from(["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"]),
        st.integers(0, 9999),
    ),
    more=st.fixed_dictionaries(
        {"gen_ai.request.model": st.sampled_from(["gpt-4o", "gpt-4", "qwen3-32b", "o1"])},
        optional={"gen_ai.tool.definitions": st.just('[{"name":"f"}]')},
    ),
)
def test_counts_are_the_same_from_stored_texts_and_from_stored_hashes(
    asked: list[tuple[str, str]], answer: str, usage: dict[str, int], more: dict[str, Any]
) -> None:
    attributes = {
        **BARE,
        **usage,
        **more,
        "gen_ai.input.messages": messages(*asked),
        "gen_ai.output.messages": messages(("assistant", answer)),
    }
    full = one_call(span(attributes), content="full")
    hashed = one_call(span(attributes), content="hash")
    assert counted(full) == counted(hashed)
    assert full.tokens_source == "reported" or len(usage) < 2


RULES = "Answer in two sentences and cite the source of each. " * 20


def timed(at: str, **configured: Any) -> Call:
    asked = messages(("system", f"It is {at} now.\n{RULES}"), ("user", "What is new?"))
    return one_call(span({**BARE, "gen_ai.input.messages": asked}), **configured)


@pytest.mark.parametrize("content", ["hash", "full"])
def test_prompts_that_differ_in_their_time_alone_have_the_same_stable_hashes(content: str) -> None:
    early, late = timed("09:15", content=content), timed("2026-10-13 10:20:11", content=content)
    assert (early.prefix_hashes or ())[0] != (late.prefix_hashes or ())[0]
    assert early.stable_prefix_hashes == late.stable_prefix_hashes
    # <|system|> It| is are 5 tokens; the time with its blank is 4; its kind is the first.
    assert early.volatile_spans == (5, 4, 1)
    assert len(early.stable_prefix_hashes or ()) == len(early.prefix_hashes or ())


def test_stable_hashes_begin_with_the_block_of_the_first_volatile_token() -> None:
    asked = messages(("system", f"{RULES}It is 09:15 now. {RULES}"), ("user", "What is new?"))
    found = one_call(span({**BARE, "gen_ai.input.messages": asked}))
    before = (found.volatile_spans or ())[0] // 16
    assert before > 10
    # The prompt is 3 tokens shorter without the time, and that is the last block's end.
    stable_count = len(found.stable_prefix_hashes or ())
    assert before + stable_count == len(found.prefix_hashes or ()) - 1


def test_nothing_of_volatile_text_is_kept_where_it_is_off_or_changes_nothing() -> None:
    assert timed("09:15", content="off").volatile_spans is None
    assert timed("09:15", prefix_block_tokens=0).volatile_spans is None
    short = messages(("user", "It is 09:15 now. What is new?"))
    assert one_call(span({**BARE, "gen_ai.input.messages": short})).volatile_spans is None
    clean = messages(("system", RULES), ("user", "What is new?"))
    assert one_call(span({**BARE, "gen_ai.input.messages": clean})).volatile_spans is None


def test_stable_hashes_are_keyed_as_the_others_are() -> None:
    bare, keyed = timed("09:15"), timed("09:15", hash_key="k")
    assert bare.stable_prefix_hashes != keyed.stable_prefix_hashes
    assert bare.volatile_spans == keyed.volatile_spans
