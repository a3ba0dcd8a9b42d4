"""Deployments of Azure: a name of the customer's own is no model."""

from typing import Any

import pytest

ANSWERED = {"gen_ai.response.model": "gpt-4o-2024-08-06"}


@pytest.mark.parametrize(
    "served_by",
    [
        {"gen_ai.provider.name": "azure.ai.openai"},
        {"gen_ai.system": "az.ai.inference"},
        {"gen_ai.system": "Azure"},
        {"gen_ai.system": "openai", "server.address": "shop.openai.azure.com"},
    ],
)
def test_what_was_asked_of_azure_is_no_model(
    chat: Any, one_call: Any, served_by: dict[str, str]
) -> None:
    asked = {**served_by, "gen_ai.request.model": "gpt-4o"}
    silent = one_call(chat("a", attributes=asked))
    assert (silent.model, silent.model_requested) == (None, "gpt-4o")
    answered = one_call(chat("a", attributes={**asked, **ANSWERED}))
    assert (answered.model, answered.model_requested) == ("gpt-4o-2024-08-06", "gpt-4o")


@pytest.mark.parametrize(
    "served_by",
    [
        {"gen_ai.provider.name": "openai"},
        {"gen_ai.provider.name": "amazon.bedrock"},
        {"server.address": "llm.westeurope.cloudapp.azure.com"},
        {},
    ],
)
def test_what_was_asked_elsewhere_is_the_model(
    chat: Any, one_call: Any, served_by: dict[str, str]
) -> None:
    asked = {**served_by, "gen_ai.request.model": "gpt-4o"}
    assert one_call(chat("a", attributes=asked)).model == "gpt-4o"


def test_an_outer_view_of_azure_says_nothing_of_one_s_own_engine(
    chat: Any, engine: Any, one_call: Any
) -> None:
    client = chat("a", attributes={"gen_ai.provider.name": "azure.ai.openai"})
    served = engine("b", "a", attributes={"gen_ai.request.model": "llama"})
    assert one_call(client, served).model == "llama"


def test_the_configuration_says_which_model_a_deployment_is(chat: Any, one_call: Any) -> None:
    asked = {"gen_ai.provider.name": "azure.ai.openai", "deployment.of": "gpt-4o"}
    found = one_call(chat("a", attributes=asked), map={"model": ("attribute.deployment.of",)})
    assert found.model == "gpt-4o"
