"""What is to be counted of one span, and the count.

Owns the choice: a prompt for its sections and hashes, and both texts where their usage is missing.
Refuses to count where the privacy setting is "off", and spans that are no model call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ingest.calls.aliases import AliasTable, FieldName
from ingest.calls.content import Message, completion, listed_attributes, named_prompt
from ingest.calls.fingerprints import MAX_DEPTH, is_fingerprint, json_text
from ingest.calls.reading import Reading
from ingest.calls.roles import MODEL_ROLES, Part
from ingest.calls.texts import TOOLS_PREFIX
from ingest.calls.tokens import token_count
from ingest.calls.values import as_text, parsed_json
from ingest.config import Configuration
from ingest.counting.answers import Answer, answer_of
from ingest.counting.counted import ATTRIBUTE, Counted, of_attribute, packed_hashes
from ingest.counting.encodings import Choice, choice
from ingest.counting.leading import Leading
from ingest.counting.measures import measures_of, question_of
from ingest.counting.notes import Notes
from ingest.counting.parts import parts_of
from ingest.counting.prefixes import MAX_BLOCKS, prefix_hashes
from ingest.counting.prompts import Prompt, prompt_of
from ingest.counting.token_ids import Ids
from ingest.records import Json, Span

MAX_CHARACTERS = 8_000_000
"""Longer prompts and answers are not counted: some seconds of work, and no model reads them."""
ID_SPACE = "token ids"
MAX_TOKEN_ID = 2**31
LEAST_BEHIND_TOKENS = 64
"""Volatile text with less text behind it costs next to nothing, and is not kept."""
PLAIN_OPERATIONS = ("text_completion", "embeddings")


class Wanted(NamedTuple):
    """The texts of one call and what they are wanted for.

    An `answer` is measured, and counted where `is_output_missing`; `answered` gives it to be
    compared with the prompt.
    """

    messages: Sequence[Message] | None
    tools: str | None
    ids: Ids | None
    answer: Sequence[Message] | None
    is_output_missing: bool
    model: str | None
    is_chat: bool
    answered: Callable[[], Sequence[Message] | None]


def counted(
    span: Span, reading: Reading, part: Part, configuration: Configuration, table: AliasTable
) -> Counted | None:
    """The count of the texts of `span`, or what was kept of it before they were masked."""
    if configuration.content == "off" or part.role not in MODEL_ROLES:
        return None
    kept = of_attribute(span.attributes.get(ATTRIBUTE))
    if kept is not None:
        return kept
    wants_prompt = (
        configuration.count_sections
        or configuration.prefix_block_tokens > 0
        or not _reports(reading, "input_tokens")
    )
    is_output_missing = part.role == "model" and not _reports(reading, "output_tokens")
    wants_answer = part.role == "model" and (configuration.measure_answers or is_output_missing)
    messages = named_prompt(span, table) if wants_prompt else None
    wanted = Wanted(
        messages=countable(messages),
        tools=_tools(span, reading) if wants_prompt else None,
        ids=_ids(reading) if wants_prompt else None,
        answer=countable(completion(span, table)) if wants_answer else None,
        is_output_missing=is_output_missing,
        model=_model(span, reading, table),
        is_chat=part.operation not in PLAIN_OPERATIONS,
        answered=lambda: countable(completion(span, table)),
    )
    return count(wanted, configuration)


def count(wanted: Wanted, configuration: Configuration) -> Counted | None:
    """The count of `wanted`; None where nothing of it is there."""
    chosen = choice(wanted.model)
    told: dict[str, Any] = {}
    ids, space = wanted.ids, ID_SPACE
    if wanted.messages is not None:
        notes = _notes(chosen, configuration)
        asked = prompt_of(
            wanted.messages,
            wanted.tools,
            chosen,
            is_chat=wanted.is_chat,
            notes=notes,
            finds_volatile=ids is None and configuration.prefix_block_tokens > 0,
        )
        told |= _of_prompt(asked, configuration)
        if notes is not None:
            told["measures"] = notes.measures(_texts(wanted) if notes.placed else None)
        if ids is None:
            ids, space = asked.leading.ids, chosen.encoding
            told |= _of_stable(asked.leading, configuration)
    if wanted.ids is not None:
        told |= {"input_tokens": len(wanted.ids), "format_tokens": 0, "input_reasons": ()}
        told["is_input_of_ids"] = True
    if wanted.answer is not None:
        told |= _of_answer(answer_of(wanted.answer, chosen), wanted, chosen.encoding, configuration)
    if ids is not None:
        told |= _of_prefix(ids, space, configuration)
    return Counted(encoding=chosen.encoding, **told) if told else None


def _notes(chosen: Choice, configuration: Configuration) -> Notes | None:
    is_wanted = configuration.count_sections
    return Notes(chosen.encoding, configuration.hash_key) if is_wanted else None


def _texts(wanted: Wanted) -> list[str] | None:
    """The texts of the answer, in which a prompt's chunks are looked for; None where unseen."""
    said = wanted.answered() if wanted.answer is None else wanted.answer
    if said is None:
        return None
    return [text.text for message in said for text in parts_of(message) if text is not None]


def _of_prompt(asked: Prompt, configuration: Configuration) -> dict[str, Any]:
    return {
        "input_tokens": asked.input_tokens or None,
        "format_tokens": asked.format_tokens,
        "input_reasons": tuple(asked.reasons()),
        "sections": dict(asked.sections) if configuration.count_sections else {},
    }


def _of_answer(
    answered: Answer, wanted: Wanted, encoding: str, configuration: Configuration
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if configuration.measure_answers:
        told["answer_measures"] = measures_of(
            answered.texts,
            encoding,
            lambda: question_of(wanted.messages),
            configuration.hash_key,
        )
    if answered.output_tokens is None or not wanted.is_output_missing:
        return told
    return told | {
        "output_tokens": answered.output_tokens,
        "reasoning_tokens": answered.reasoning_tokens,
        "output_reasons": answered.reasons,
    }


def _of_prefix(ids: Ids, space: str, configuration: Configuration) -> dict[str, Any]:
    block_tokens = configuration.prefix_block_tokens
    if block_tokens == 0 or len(ids) < block_tokens:
        return {}
    hashes = prefix_hashes(
        ids, space=space, block_tokens=block_tokens, hash_key=configuration.hash_key
    )
    return {"prefix": packed_hashes(hashes), "prefix_block_tokens": block_tokens}


def _of_stable(leading: Leading, configuration: Configuration) -> dict[str, Any]:
    """Where volatile text is, and the hashes without it from the first block that it changes."""
    block_tokens = configuration.prefix_block_tokens
    if not leading.spans or block_tokens == 0:
        return {}
    first = leading.spans[0]
    stable_ids = leading.stable_ids
    shared_count = first.begin // block_tokens
    if shared_count >= MAX_BLOCKS or len(stable_ids) - first.begin < LEAST_BEHIND_TOKENS:
        return {}
    hashes = prefix_hashes(
        stable_ids,
        space=leading.encoding,
        block_tokens=block_tokens,
        hash_key=configuration.hash_key,
    )
    return {
        "volatile": tuple(number for span in leading.spans for number in span),
        "stable_prefix": packed_hashes(hashes[shared_count:]),
    }


def _reports(reading: Reading, field: FieldName) -> bool:
    return any(token_count(value) is not None for _, value in reading.all(field))


def _model(span: Span, reading: Reading, table: AliasTable) -> str | None:
    """The model by the span itself: the answer's name first, then the request's, the resource's.

    A request to Azure names a deployment, which says nothing of the model behind it.
    """
    named: str | None = reading.first("response_model")
    if named is None and "azure" not in str(reading.first("provider")).lower():
        named = reading.first("request_model")
    if named is not None:
        return named
    sources = (source.removeprefix("resource.") for source in table.file.map["model"])
    return next((as_text(span.resource[name]) for name in sources if name in span.resource), None)


def _tools(span: Span, reading: Reading) -> str | None:
    """The definitions of the tools on offer, as JSON text."""
    given = reading.first("tools")
    if given is None:
        given = "\n".join(map(str, listed_attributes(span.attributes, TOOLS_PREFIX).values()))
    text = given if isinstance(given, str) else json_text(given)
    return text if text and not is_fingerprint(text) else None


def _ids(reading: Reading) -> Ids | None:
    """The prompt's token ids where the span tells them."""
    for _, value in reading.all("prompt_token_ids"):
        given = parsed_json(value)
        if isinstance(given, list | tuple) and given and all(map(_is_token_id, given)):
            return np.array(given, dtype=np.uint32)
    return None


def _is_token_id(value: Json) -> bool:
    return type(value) is int and 0 <= value < MAX_TOKEN_ID


def countable(messages: Sequence[Message] | None) -> Sequence[Message] | None:
    """`messages`, unless there is nothing in them, too much, or token ids taken for words."""
    if messages is None:
        return None
    contents = [message.get("content", message.get("parts")) for message in messages]
    is_ids = all(isinstance(content, str) and content.isdigit() for content in contents)
    size = sum(_size(content) for content in contents)
    is_countable = 0 < size <= MAX_CHARACTERS and not (is_ids and len(contents) > 1)
    return messages if is_countable else None


def _size(content: Json, depth: int = 0) -> int:
    """Characters of all texts in `content`; too many where it is nested beyond all reason."""
    if isinstance(content, str):
        return len(content)
    if depth > MAX_DEPTH:
        return MAX_CHARACTERS + 1
    if isinstance(content, list | tuple):
        return sum(_size(item, depth + 1) for item in content)
    if isinstance(content, Mapping):
        return sum(_size(item, depth + 1) for item in content.values())
    return 0 if content is None else 1
