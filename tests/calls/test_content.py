"""Prompts and completions, whichever way they were sent, and what is kept of them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.calls.aliases import alias_table
from ingest.calls.content import completion, prompt
from ingest.calls.fingerprints import fingerprint, normalised_text
from ingest.config import Configuration
from ingest.records import Call, SpanEvent

EXPECTED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2 + 2?"},
]
PLAIN = json.dumps(EXPECTED)
PARTS = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "What is 2 + 2?"}]}])
INSTRUCTIONS = json.dumps([{"type": "text", "content": "Be brief."}])

PROMPTS: dict[str, dict[str, Any]] = {
    "messages and instructions": {
        "attributes": {
            "gen_ai.input.messages": PARTS,
            "gen_ai.system_instructions": INSTRUCTIONS,
        }
    },
    "structured messages": {"attributes": {"gen_ai.input.messages": EXPECTED}},
    "messages of the AI SDK": {
        "attributes": {
            "ai.prompt.messages": json.dumps(
                [
                    EXPECTED[0],
                    {"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]},
                ]
            )
        }
    },
    "indexed, OpenLLMetry": {
        "attributes": {
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "What is 2 + 2?"}]',
        }
    },
    "indexed, OpenInference": {
        "attributes": {
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "What is 2 + 2?",
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "Be brief.",
        }
    },
    "one event for each message": {
        "events": [
            SpanEvent(name="gen_ai.system.message", attributes={"content": "Be brief."}),
            SpanEvent(name="gen_ai.user.message", attributes={"content": "What is 2 + 2?"}),
        ]
    },
    "one event for all": {
        "events": [
            SpanEvent(
                name="gen_ai.client.inference.operation.details",
                attributes={"gen_ai.input.messages": PLAIN},
            )
        ]
    },
    "an event with the prompt": {
        "events": [SpanEvent(name="gen_ai.content.prompt", attributes={"gen_ai.prompt": PLAIN})]
    },
    "the whole request": {
        "attributes": {"input.value": json.dumps({"model": "m", "messages": EXPECTED})}
    },
}

ANSWERS: dict[str, dict[str, Any]] = {
    "messages": {
        "attributes": {
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": "4"}]}]
            )
        }
    },
    "text": {"attributes": {"ai.response.text": "4"}},
    "indexed, OpenLLMetry": {
        "attributes": {
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "4",
            "gen_ai.completion.0.finish_reason": "stop",
        }
    },
    "indexed, OpenInference": {
        "attributes": {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "4",
        }
    },
    "event": {
        "events": [
            SpanEvent(
                name="gen_ai.choice",
                attributes={"index": 0, "message": '{"role": "assistant", "content": "4"}'},
            )
        ]
    },
    "the whole response": {
        "attributes": {
            "output.value": json.dumps(
                {"choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}}]}
            )
        }
    },
}


@pytest.mark.parametrize("way", PROMPTS)
def test_a_prompt_is_the_same_whichever_way_it_was_sent(way: str, span: Any) -> None:
    assert prompt(span("c", **PROMPTS[way]), alias_table()) == EXPECTED


@pytest.mark.parametrize("way", ANSWERS)
def test_an_answer_is_the_same_whichever_way_it_was_sent(way: str, span: Any) -> None:
    found = completion(span("c", **ANSWERS[way]), alias_table())
    assert found == [{"role": "assistant", "content": "4"}]


def test_tool_calls_keep_name_and_arguments_and_lose_the_order_of_keys(span: Any) -> None:
    semantic = span(
        "a",
        attributes={
            "gen_ai.output.messages": json.dumps(
                [
                    {
                        "role": "assistant",
                        "parts": [
                            {
                                "type": "tool_call",
                                "id": "1",
                                "name": "search",
                                "arguments": {"page": 1, "q": "x"},
                            }
                        ],
                    }
                ]
            )
        },
    )
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    inference = span(
        "b",
        attributes={
            "llm.output_messages.0.message.role": "assistant",
            f"{call}id": "1",
            f"{call}function.name": "search",
            f"{call}function.arguments": '{"q": "x", "page": 1}',
        },
    )
    table, configuration = alias_table(), Configuration()
    assert fingerprint(completion(semantic, table), configuration) == fingerprint(
        completion(inference, table), configuration
    )


def test_a_prompt_for_completion_and_a_text_to_embed_are_prompts(span: Any) -> None:
    table = alias_table()
    text = span("a", attributes={"llm.prompts.0.prompt.text": "def f"})
    assert prompt(text, table) == [{"role": "user", "content": "def f"}]
    embedded = span(
        "b",
        attributes={
            "embedding.embeddings.0.embedding.text": "hello",
            "embedding.embeddings.0.embedding.vector": [0.1, 0.2],
        },
    )
    assert prompt(embedded, table) == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("caf\u00e9", "cafe\u0301", True),
        ("a\r\nb\rc", "a\nb\nc", True),
        ("a  \nb\t\n\n", "a\nb", True),
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        ("Turn on", "turn on", False),
        ("2024", "2025", False),
        ("a, b", "a b", False),
        ("  a", "a", False),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": "1"}', '{"a": 1}', False),
    ],
)
def test_normalising_forgives_form_and_nothing_else(one: str, other: str, is_same: bool) -> None:
    configuration = Configuration()
    found = fingerprint(one, configuration) == fingerprint(other, configuration)
    assert found is is_same


def test_a_known_text_has_its_known_hash() -> None:
    # printf '"hi"' | sha256sum
    assert fingerprint("hi", Configuration()) == (
        "v1:b49177e05868b7af8e82a644c1ce20e521af46497adeaffe861d294d9b4bb75e"
    )


def test_a_key_changes_every_hash_and_says_so() -> None:
    keyed = fingerprint("hi", Configuration(hash_key="k1"))
    assert keyed is not None
    assert keyed.startswith("v1k:")
    assert keyed != fingerprint("hi", Configuration(hash_key="k2"))


def test_content_decides_what_is_kept(chat: Any, one_call: Any) -> None:
    spoken = chat("c", attributes={"gen_ai.prompt": "hi", "gen_ai.completion": "hello"})
    hashed: Call = one_call(spoken)
    assert (hashed.prompt, hashed.completion) == (None, None)
    assert hashed.input_hash == fingerprint([{"role": "user", "content": "hi"}], Configuration())
    assert hashed.output_hash is not None
    full: Call = one_call(spoken, content="full")
    assert full.prompt == '[{"content":"hi","role":"user"}]'
    assert full.completion == '[{"content":"hello","role":"assistant"}]'
    assert full.input_hash == hashed.input_hash
    off: Call = one_call(spoken, content="off")
    assert (off.prompt_hash, off.input_hash, off.output_hash) == (None, None, None)
    assert (off.prompt, off.completion) == (None, None)


def test_the_prompt_s_hash_depends_on_model_parameters_and_tools(chat: Any, one_call: Any) -> None:
    def hashes(**attributes: Any) -> tuple[str | None, str | None]:
        found: Call = one_call(chat("c", attributes={"gen_ai.prompt": "hi", **attributes}))
        return found.input_hash, found.prompt_hash

    plain = hashes()
    variants = [
        hashes(**{"gen_ai.request.model": "model-b"}),
        hashes(**{"gen_ai.request.temperature": 0.7}),
        hashes(**{"gen_ai.tool.definitions": '[{"name": "search"}]'}),
        hashes(**{"llm.tools.0.tool.json_schema": '{"name": "search"}'}),
    ]
    assert {input_hash for input_hash, _ in variants} == {plain[0]}
    assert len({plain[1], *(prompt_hash for _, prompt_hash in variants)}) == 5
    assert hashes(**{"gen_ai.request.stream": True}) == plain


def test_the_tools_on_offer_have_a_hash_of_their_own(chat: Any, one_call: Any) -> None:
    def tools_hash(tools: str | None, **settings: Any) -> str | None:
        asked = {"gen_ai.prompt": "hi", "gen_ai.tool.definitions": tools}
        found: Call = one_call(chat("c", attributes=asked), **settings)
        return found.tools_hash

    search = tools_hash('[{"name": "search", "strict": true}]')
    assert search is not None
    assert tools_hash('[{"strict": true, "name": "search"}]') == search
    assert tools_hash('[{"name": "delete"}]') not in {search, None}
    assert (tools_hash(None), tools_hash("[]", content="off")) == (None, None)


CLIENT = {"gen_ai.prompt": "hi", "gen_ai.request.max_tokens": 256}
ENGINE = {
    "gen_ai.request.id": "chatcmpl-1",
    "gen_ai.request.max_tokens": 256,
    "gen_ai.request.top_p": 1.0,
    "gen_ai.request.n": 1,
}


@pytest.mark.parametrize(
    ("asked", "made_of_it"),
    [
        ({}, {"gen_ai.request.temperature": 1.0}),
        ({"gen_ai.request.temperature": 0}, {}),
        ({"gen_ai.request.temperature": 0.7}, {"gen_ai.request.temperature": 0.7}),
        ({}, {"gen_ai.request.temperature": 0.6, "gen_ai.request.max_tokens": 4096}),
        ({"gen_ai.request.top_p": 1}, {"gen_ai.request.temperature": 1.0}),
    ],
)
def test_the_prompt_s_hash_is_the_same_with_and_without_the_engine(
    chat: Any, engine: Any, one_call: Any, asked: Any, made_of_it: Any
) -> None:
    client = chat("c", attributes={**CLIENT, **asked})
    served = engine("e", "c", attributes={**ENGINE, **made_of_it})
    assert one_call(client, served).prompt_hash == one_call(client).prompt_hash


@pytest.mark.parametrize("temperature", [0, 0.7, 1])
def test_the_engine_s_own_parameters_count_where_the_client_states_none(
    chat: Any, engine: Any, one_call: Any, temperature: float
) -> None:
    told = {"gen_ai.request.temperature": temperature} if temperature else {}
    silent = chat("c", attributes={"gen_ai.prompt": "hi"})
    served = engine("e", "c", attributes={**ENGINE, **told})
    speaking = chat("c", attributes={**CLIENT, "gen_ai.request.temperature": temperature})
    assert one_call(silent, served).prompt_hash == one_call(speaking).prompt_hash


@pytest.mark.parametrize(
    ("default", "other"),
    [
        ({"gen_ai.request.temperature": 1}, {"gen_ai.request.temperature": 0}),
        ({"gen_ai.request.top_p": 1}, {"gen_ai.request.top_p": 0.9}),
        ({"gen_ai.request.choice.count": 1}, {"gen_ai.request.choice.count": 2}),
        ({"gen_ai.request.stream": True}, {"gen_ai.request.stop_sequences": ["END"]}),
    ],
)
def test_a_documented_default_asks_the_same_whether_it_is_said_or_not(
    chat: Any, one_call: Any, default: Any, other: Any
) -> None:
    plain = one_call(chat("c", attributes=CLIENT)).prompt_hash
    assert one_call(chat("c", attributes={**CLIENT, **default})).prompt_hash == plain
    assert one_call(chat("c", attributes={**CLIENT, **other})).prompt_hash != plain


def test_an_answer_s_model_makes_no_other_question(chat: Any, one_call: Any) -> None:
    answered = {"gen_ai.response.model": "model-a-2026-01-01"}
    plain = one_call(chat("c", attributes=CLIENT)).prompt_hash
    assert one_call(chat("c", attributes={**CLIENT, **answered})).prompt_hash == plain


def test_a_request_s_hash_has_a_version_of_its_own(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", attributes=CLIENT))
    assert (found.input_hash or "")[:3] == "v1:"
    assert (found.prompt_hash or "")[:3] == "v2:"


def test_the_client_s_prompt_is_the_call_s(chat: Any, engine: Any, one_call: Any) -> None:
    client = chat("client", attributes={"gen_ai.prompt": "hi"})
    assert one_call(client, engine("e", "client")).input_hash == one_call(client).input_hash


def test_tools_and_retrievals_keep_hashes_of_what_went_in_and_out(
    span: Any, derived: Any, t0: int
) -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q": "x", "page": 1}',
        "gen_ai.tool.call.result": "none",
    }
    other = {**tool, "gen_ai.tool.call.arguments": '{"page": 1, "q": "x"}'}
    retrieval = {
        "openinference.span.kind": "RETRIEVER",
        "db.system.name": "qdrant",
        "input.value": "x",
        "retrieval.documents.0.document.content": "found",
    }
    found = derived(
        span("t1", None, (0, 1), attributes=tool),
        span("t2", None, (1, 2), attributes=other, status="error"),
        span("r1", None, (2, 3), attributes=retrieval),
    )
    first, second = found.tool_runs
    assert (first.tool, first.status, second.status) == ("search", "ok", "error")
    assert (first.started_at, first.ended_at) == (t0, t0 + 1_000_000_000)
    assert first.arguments_hash == second.arguments_hash
    (searched,) = found.retrievals
    assert searched.source == "qdrant"
    assert searched.query_hash == fingerprint("x", Configuration())
    assert searched.result_hash is not None
    assert found.calls == ()


@pytest.mark.parametrize("given_text", ['{"label": "spam"}', '[{"name": "Bob"}, {"name": "Ann"}]'])
@pytest.mark.parametrize(
    "attributes_of",
    [
        lambda text: {"gen_ai.completion": text},
        lambda text: {"gen_ai.output.messages": json.dumps([{"content": text}])},
    ],
)
def test_an_answer_in_json_is_text_and_no_message(
    given_text: str, attributes_of: Any, chat: Any, one_call: Any
) -> None:
    found: Call = one_call(chat("c", attributes=attributes_of(given_text)), content="full")
    assert json.loads(found.completion or "") == [{"role": "assistant", "content": given_text}]
    other: Call = one_call(chat("c", attributes=attributes_of('{"label": "ham"}')), content="full")
    assert found.output_hash != other.output_hash


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{" * 2_000 + "}" * 2_000, '{"a":' * 900 + "1" + "}" * 900, "\ud800", ""],
)
def test_hostile_text_is_hashed_and_stops_nothing(text: str, chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", attributes={"gen_ai.prompt": f"x{text}"}), content="full")
    assert found.input_hash is not None
    assert one_call(chat("c", attributes={"input.value": text}), content="full") is not None


@given(st.text())
@settings(deadline=None)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised_text(normalised_text(text)) == normalised_text(text)
