"""What a call asked and what it was answered: as fingerprints, and as text where it may be kept.

Owns what makes two calls the same question. Refuses text unless the configuration says "full".
"""

from dataclasses import dataclass
from typing import Any

from ingest.calls.aliases import AliasTable
from ingest.calls.content import Message, completion, listed_attributes, prompt
from ingest.calls.derivation import Derivation
from ingest.calls.fingerprints import (
    fingerprint,
    fingerprint_of_attributes,
    fingerprint_of_request,
    kept_text,
)
from ingest.calls.request import told_apart_by
from ingest.calls.views import Views

Text = list[Message] | str | None
"""Messages, or the fingerprint that stands for them."""
TOOLS_PREFIX = "llm.tools."


@dataclass(frozen=True, slots=True)
class Question:
    """What a call asked, with the hash of it and of the tools that were offered."""

    text: Text = None
    input_hash: str | None = None
    tools_hash: str | None = None


def texts(
    views: Views, model: str | None, derivation: Derivation, *, owns_wrapper: bool
) -> dict[str, Any]:
    """Fingerprints of prompt and answer, and the texts themselves where they may be kept.

    `model` is the one that was asked. The whole request has a fingerprint of its own.
    """
    configuration = derivation.configuration
    if configuration.content == "off":
        return {}
    asked = question(views, derivation)
    answered = _answer(views, derivation.table, with_wrapper=owns_wrapper)
    prompt_hash = None
    if asked.input_hash is not None:
        whole = [asked.input_hash, model, asked.tools_hash, told_apart_by(views)]
        prompt_hash = fingerprint_of_request(whole, configuration)
    return {
        "input_hash": asked.input_hash,
        "prompt_hash": prompt_hash,
        "output_hash": fingerprint(answered, configuration),
        "prompt": kept_text(asked.text, configuration),
        "completion": kept_text(answered, configuration),
    }


def question(views: Views, derivation: Derivation) -> Question:
    """The prompt and the tools offered with it, by the innermost view that has a prompt."""
    configuration = derivation.configuration
    for view in (*views.own, *([views.wrapper] if views.wrapper else [])):
        asked: Text = view.reading.first("input_hash") or prompt(view.span, derivation.table)
        if asked is not None:
            offered = listed_attributes(view.span.attributes, TOOLS_PREFIX)
            tools_hash = fingerprint(view.reading.first("tools"), configuration)
            return Question(
                text=asked,
                input_hash=fingerprint(asked, configuration),
                tools_hash=tools_hash or fingerprint_of_attributes(offered, configuration),
            )
    return Question()


def _answer(views: Views, table: AliasTable, *, with_wrapper: bool) -> Text:
    """The answer by the innermost view that has one."""
    wrapper = [views.wrapper] if with_wrapper and views.wrapper else []
    for view in (*views.own, *wrapper):
        answered: Text = view.reading.first("output_hash") or completion(view.span, table)
        if answered is not None:
            return answered
    return None
