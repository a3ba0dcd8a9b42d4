"""Every generation of attribute names is read, from one literal span each."""

from decimal import Decimal
from importlib import resources
from typing import Any

import pytest

from ingest.calls.aliases import AliasTableError, alias_table, parse_table
from ingest.calls.reading import Reading
from ingest.records import Call

GENERATIONS: dict[str, dict[str, Any]] = {
    "1.26": {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "acme",
        "gen_ai.request.model": "model-a",
        "gen_ai.response.model": "model-a-0601",
        "gen_ai.usage.prompt_tokens": 1000,
        "gen_ai.usage.completion_tokens": 200,
        "gen_ai.openai.request.seed": 7,
    },
    "1.27": {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "acme",
        "gen_ai.request.model": "model-a",
        "gen_ai.response.model": "model-a-0601",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 200,
        "gen_ai.request.seed": 7,
    },
    "1.37": {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "model-a",
        "gen_ai.response.model": "model-a-0601",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_creation.input_tokens": 100,
        "gen_ai.usage.output_tokens": 200,
        "gen_ai.usage.reasoning.output_tokens": 50,
        "gen_ai.request.seed": 7,
    },
    "genai 0.1": {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "model-a",
        "gen_ai.response.model": "model-a-0601",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "gen_ai.usage.output_tokens": 200,
        "gen_ai.usage.reasoning.output_tokens": 50,
        "gen_ai.request.seed": 7,
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.system": "acme",
        "llm.model_name": "model-a-0601",
        "llm.invocation_parameters": '{"model": "model-a", "seed": 7}',
        "llm.token_count.prompt": 1000,
        "llm.token_count.completion": 200,
        "llm.token_count.total": 1200,
        "llm.token_count.prompt_details.cache_read": 600,
        "llm.token_count.prompt_details.cache_write": 100,
        "llm.token_count.completion_details.reasoning": 50,
    },
    "OpenLLMetry": {
        "llm.request.type": "chat",
        "llm.vendor": "acme",
        "llm.request.model": "model-a",
        "llm.response.model": "model-a-0601",
        "llm.usage.prompt_tokens": "1000",
        "llm.usage.completion_tokens": "200",
        "llm.usage.total_tokens": "1200",
        "gen_ai.usage.cache_read_input_tokens": 600,
        "gen_ai.usage.cache_creation_input_tokens": 100,
        "llm.usage.reasoning_tokens": 50,
        "gen_ai.request.seed": 7,
    },
    "Vercel AI SDK 4": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.provider": "acme",
        "ai.model.id": "model-a",
        "ai.response.model": "model-a-0601",
        "ai.usage.promptTokens": 1000,
        "ai.usage.completionTokens": 200,
        "ai.settings.seed": 7,
    },
    "Vercel AI SDK 5": {
        "ai.operationId": "ai.streamText.doStream",
        "ai.model.provider": "acme",
        "ai.model.id": "model-a",
        "ai.response.model": "model-a-0601",
        "ai.usage.inputTokens": 1000.0,
        "ai.usage.outputTokens": 200.0,
        "ai.usage.totalTokens": 1200.0,
        "ai.usage.cachedInputTokens": 600,
        "ai.usage.reasoningTokens": 50,
        "ai.settings.seed": 7,
    },
    "Langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "model-a-0601",
        "gen_ai.request.model": "model-a",
        "gen_ai.system": "acme",
        "langfuse.observation.usage_details": (
            '{"input": 1000, "output": 200, "total": 1200, "input_cached_tokens": 600}'
        ),
        "gen_ai.request.seed": "7",
    },
    "MLflow": {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.llm.model": '"model-a-0601"',
        "gen_ai.request.model": "model-a",
        "mlflow.llm.provider": '"acme"',
        "mlflow.chat.tokenUsage": (
            '{"input_tokens": 1000, "output_tokens": 200, "total_tokens": 1200}'
        ),
        "gen_ai.request.seed": 7,
    },
}


def tokens(call: Call) -> tuple[int | None, ...]:
    """Input, output, cache read, cache write and reasoning tokens."""
    assert call.uncached_input_tokens is not None
    assert call.visible_output_tokens is not None
    cached = (call.cache_read_tokens or 0) + (call.cache_write_tokens or 0)
    return (
        call.uncached_input_tokens + cached,
        call.visible_output_tokens + (call.reasoning_tokens or 0),
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.reasoning_tokens,
    )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_each_generation_gives_the_same_call(generation: str, span: Any, one_call: Any) -> None:
    found: Call = one_call(span("c", attributes=GENERATIONS[generation]))
    assert tokens(found)[:2] == (1000, 200)
    assert found.model == "model-a-0601"
    assert found.model_requested == "model-a"
    assert found.provider == "acme"
    assert found.operation == "chat"
    assert found.seed == 7
    assert found.tokens_source == "reported"


@pytest.mark.parametrize("generation", ["1.37", "genai 0.1", "OpenInference", "OpenLLMetry"])
def test_parts_of_input_and_output_are_read_in_each_generation(
    generation: str, span: Any, one_call: Any
) -> None:
    found: Call = one_call(span("c", attributes=GENERATIONS[generation]))
    assert tokens(found) == (1000, 200, 600, 100, 50)
    assert found.uncached_input_tokens == 300
    assert found.visible_output_tokens == 150


def test_vllm_reports_latencies_old_token_names_and_no_model(
    engine: Any, one_call: Any, t0: int
) -> None:
    found: Call = one_call(engine("e", resource={"service.instance.id": "gpu-0"}))
    assert tokens(found)[:2] == (1000, 200)
    assert found.model is None
    assert found.timing_source == "engine"
    assert found.replica == "gpu-0"


@pytest.mark.parametrize(
    ("attributes", "first_s"),
    [
        ({"gen_ai.response.time_to_first_chunk": 0.5}, 0.5),
        ({"gen_ai.server.time_to_first_token": "0.5"}, 0.5),
        ({"ai.response.msToFirstChunk": 426.5}, 0.4265),
        ({"langfuse.observation.completion_start_time": '"2026-11-18T11:06:42.5Z"'}, 2.5),
    ],
)
def test_first_token_is_read_in_its_unit(
    attributes: dict[str, Any], first_s: float, chat: Any, one_call: Any, t0: int
) -> None:
    found: Call = one_call(chat("c", attributes=attributes))
    assert found.timing_source == "stream"
    assert found.first_token_at == t0 + round(first_s * 1e9)


def test_renamed_cache_counts_are_read_once(chat: Any, one_call: Any) -> None:
    found: Call = one_call(
        chat(
            "c",
            attributes={
                "gen_ai.usage.cache_creation.input_tokens": 400,
                "gen_ai.usage.cache_write.input_tokens": 400,
                "gen_ai.usage.cache_read_input_tokens": 300,
            },
        )
    )
    assert found.cache_write_tokens == 400
    assert found.cache_read_tokens == 300
    assert found.uncached_input_tokens == 300
    assert found.tokens_note is None


def test_two_names_that_disagree_are_noted_and_the_first_wins(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", attributes={"llm.usage.prompt_tokens": 990}))
    assert found.uncached_input_tokens == 1000
    assert found.tokens_note == (
        "input_tokens disagree: gen_ai.usage.input_tokens=1000, llm.usage.prompt_tokens=990"
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.usage.cost": 0.0042},
        {"llm.cost.total": "0.0042"},
        {"langfuse.observation.cost_details": '{"total": 0.0042}'},
        {"mlflow.llm.cost": '{"total_cost": 0.0042}'},
        {"response_cost": 0.0042},
    ],
)
def test_a_cost_given_by_the_sender_is_kept_as_money(
    attributes: dict[str, Any], chat: Any, one_call: Any
) -> None:
    found: Call = one_call(chat("c", attributes=attributes))
    assert found.reported_cost == Decimal("0.0042")
    assert found.reported_currency == "USD"


def test_a_nonsense_value_gives_way_to_the_next_name() -> None:
    reading = Reading(
        {"gen_ai.request.seed": "many", "gen_ai.openai.request.seed": "7"}, alias_table()
    )
    assert reading.first("seed") == 7


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("[fields.seed]", "[fields.sed]"), "missing or unknown fields: sed, seed|sed"),
        (('kind = "flag"', 'kind = "maybe"'), "maybe"),
        (('{ name = "rid"', '{ nam = "rid"'), "nam"),
        (('name = "rid"', 'name = "gen_ai.request.id"'), "request_id. reads the same name twice"),
        (("[events]", "[[events"), "line"),
    ],
)
def test_a_table_that_contradicts_the_product_is_refused(
    change: tuple[str, str], complaint: str
) -> None:
    text = resources.files("ingest.calls").joinpath("aliases.toml").read_text("utf-8")
    assert change[0] in text
    with pytest.raises(AliasTableError, match=rf"aliases\.toml.*({complaint})"):
        parse_table(text.replace(*change))


def test_every_alias_says_which_generation_it_belongs_to() -> None:
    for field in alias_table().file.fields.values():
        assert all(alias.generation for alias in field.names)


def test_spans_with_the_same_names_are_read_by_their_own_values() -> None:
    table = alias_table()
    first = Reading({"gen_ai.usage.input_tokens": 1, "llm.usage.prompt_tokens": 2}, table)
    second = Reading({"gen_ai.usage.input_tokens": None, "llm.usage.prompt_tokens": 3}, table)
    assert (first.first("input_tokens"), second.first("input_tokens")) == (1, 3)
    assert first.has("input_tokens")
    assert not first.has("output_tokens")


def test_of_two_names_the_table_s_first_is_read_in_any_order_of_attributes() -> None:
    given = {"gen_ai.usage.input_tokens": 1, "llm.usage.prompt_tokens": 2}
    backwards = dict(reversed(given.items()))
    assert [value for _, value in Reading(backwards, alias_table()).all("input_tokens")] == [1, 2]
