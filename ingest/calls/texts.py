"""What a call asked and what it was answered: as fingerprints, and as text where it may be kept.

Owns what makes two calls the same question. Refuses text unless the configuration says "full".
"""

from dataclasses import dataclass
from typing import Any

from ingest.calls.content import Message, completion, listed_attributes, prompt
from ingest.calls.derivation import Derivation
from ingest.calls.fingerprints import (
    fingerprint,
    fingerprint_of_attributes,
    fingerprint_of_request,
    keeps_text,
    kept_text,
    own_fingerprint,
)
from ingest.calls.request import told_apart_by
from ingest.calls.views import View, Views
from ingest.config import Configuration

TOOLS_PREFIX = "llm.tools."


@dataclass(frozen=True, slots=True)
class Question:
    """What a call asked, with the hash of it and of the tools that were offered."""

    text: list[Message] | None = None
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
    answered, output_hash = _answer(views, derivation, with_wrapper=owns_wrapper)
    prompt_hash = None
    if asked.input_hash is not None:
        whole = [asked.input_hash, model, asked.tools_hash, told_apart_by(views)]
        prompt_hash = fingerprint_of_request(whole, configuration)
    return {
        "input_hash": asked.input_hash,
        "prompt_hash": prompt_hash,
        "output_hash": output_hash,
        "tools_hash": asked.tools_hash,
        "prompt": kept_text(asked.text, configuration),
        "completion": kept_text(answered, configuration),
    }


def question(views: Views, derivation: Derivation) -> Question:
    """The prompt and the tools offered with it, by the innermost view that has a prompt."""
    configuration, table = derivation.configuration, derivation.table
    for view in (*views.own, *([views.wrapper] if views.wrapper else [])):
        told = view.reading.first("input_hash")
        asked = None if told and not keeps_text(configuration) else prompt(view.span, table)
        if told is not None or asked is not None:
            return Question(
                text=asked,
                input_hash=fingerprint(told or asked, configuration),
                tools_hash=_tools_hash(view, configuration),
            )
    return Question()


def _tools_hash(view: View, configuration: Configuration) -> str | None:
    """The fingerprint of the tools that were offered, from before something in them was masked."""
    attributes = view.span.attributes
    for name in ("tools", TOOLS_PREFIX):
        if (told := attributes.get(own_fingerprint(name))) is not None:
            return fingerprint(told, configuration)
    offered = listed_attributes(attributes, TOOLS_PREFIX)
    tools_hash = fingerprint(view.reading.first("tools"), configuration)
    return tools_hash or fingerprint_of_attributes(offered, configuration)


def _answer(
    views: Views, derivation: Derivation, *, with_wrapper: bool
) -> tuple[list[Message] | None, str | None]:
    """The answer by the innermost view that has one, and its hash."""
    configuration = derivation.configuration
    wrapper = [views.wrapper] if with_wrapper and views.wrapper else []
    for view in (*views.own, *wrapper):
        told = view.reading.first("output_hash")
        is_needed = told is None or keeps_text(configuration)
        answered = completion(view.span, derivation.table) if is_needed else None
        if told is not None or answered is not None:
            return answered, fingerprint(told or answered, configuration)
    return None, None
