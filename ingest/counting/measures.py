"""What an answer is made of, in tokens: JSON and what stands around it, or sentences.

Owns the shapes of answers and the columns that say so; `docs/counting.md` lists them. Each token
of an answer in JSON is in one of them. Refuses to take apart what is no single text: tool calls,
and several choices.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from ingest.calls.content import Message
from ingest.calls.tokens import MAX_TOKENS
from ingest.counting.json_answers import (
    KEY,
    REPEATED_KEY,
    SYNTAX,
    VALUE,
    cuts_of,
    json_within,
    looks_broken,
)
from ingest.counting.parts import parts_of
from ingest.counting.places import Places, places
from ingest.counting.restated import restated_count
from ingest.counting.sections import section_of_messages, stretches
from ingest.counting.sentences import edges_of, hash_of, sentences_of
from ingest.counting.token_ids import Ids, encoded

SHAPES = (
    "json",
    "json_in_text",
    "broken_json",
    "code",
    "label",
    "prose",
    "tool_call",
    "several",
)
MEASURE_COLUMNS = (
    "answer_shape",
    "answer_tokens",
    "preamble_tokens",
    "json_key_tokens",
    "json_repeated_key_tokens",
    "json_key_count",
    "json_value_tokens",
    "json_syntax_tokens",
    "json_blank_tokens",
    "trailing_tokens",
    "restated_tokens",
    "sentence_hashes",
    "sentence_lengths",
)
"""The columns of a call that are told together: those of one text."""
MOST_LABEL_TOKENS = 8
BLANK = VALUE + 1
"""Kind of the tokens between pieces of JSON that are nothing but blanks."""

_THOUGHT = re.compile(rb"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
_FENCE = "```"
_SENTENCE = np.dtype([("hash", "<i8"), ("tokens", "<i4")])

Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]


class AnswerMeasures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of one answer: its shape, and the tokens of its parts; None where it has no such parts.

    `answer_tokens` are those of the text that was looked at, without reasoning. `sentences` holds
    the hash and the tokens of each remembered sentence in base64.
    """

    answer_shape: str
    answer_tokens: Tokens
    preamble_tokens: Tokens | None = None
    json_key_tokens: Tokens | None = None
    json_repeated_key_tokens: Tokens | None = None
    json_key_count: Tokens | None = None
    json_value_tokens: Tokens | None = None
    json_syntax_tokens: Tokens | None = None
    json_blank_tokens: Tokens | None = None
    trailing_tokens: Tokens | None = None
    restated_tokens: Tokens | None = None
    sentences: str | None = None

    def columns(self) -> dict[str, Any]:
        """The columns of the call."""
        told = {name: getattr(self, name) for name in self.__struct_fields__[:-1]}
        if self.sentences is not None:
            rows = np.frombuffer(b64decode(self.sentences), dtype=_SENTENCE)
            told["sentence_hashes"] = tuple(rows["hash"].tolist())
            told["sentence_lengths"] = tuple(rows["tokens"].tolist())
        return told


class Tokenised(NamedTuple):
    """One text of an answer: its kind, as `parts_of` tells it, its message's number, its tokens."""

    kind: str
    message: int
    text: str
    ids: Ids


def measures_of(
    texts: Sequence[Tokenised],
    encoding: str,
    question: Callable[[], str | None],
    hash_key: str | None,
) -> AnswerMeasures | None:
    """The measures of the answer in `texts`; None where it has none but reasoning."""
    seen = [text for text in texts if text.kind != "reasoning"]
    if not seen:
        return None
    count = sum(len(text.ids) for text in seen)
    if any(text.kind == "structured" for text in seen):
        return AnswerMeasures(answer_shape="tool_call", answer_tokens=count)
    if len(seen) > 1:
        return AnswerMeasures(answer_shape="several", answer_tokens=count)
    return _of_text(seen[0], encoding, question, hash_key)


def question_of(messages: Sequence[Message] | None) -> str | None:
    """What a user asked last, without documents and examples that are marked; None if unseen."""
    if messages is None:
        return None
    sections = section_of_messages(messages)
    texts = [
        text.text
        for message, section in zip(messages, sections, strict=True)
        if section == "user"
        for text in parts_of(message)
        if text is not None and text.kind == "plain"
    ]
    asked = [
        text[each.begin : each.end]
        for text in texts
        for each in stretches(text, "user")
        if each.section == "user"
    ]
    return "\n".join(asked) or None


def _of_text(
    given: Tokenised, encoding: str, question: Callable[[], str | None], hash_key: str | None
) -> AnswerMeasures:
    data = encoded(given.text)
    thought = _THOUGHT.match(data)
    skipped = 0 if thought is None else thought.end()
    text = given.text if skipped == 0 and given.text.isascii() else data[skipped:].decode()
    found = places(given.ids, encoding)
    (first,) = found.before([skipped])
    count = len(given.ids) - first
    stretch = json_within(text)
    if stretch is not None:
        begin, end = (skipped + len(text[:at].encode()) for at in stretch)
        shape = "json" if stretch == (0, len(text)) else "json_in_text"
        return AnswerMeasures(
            answer_shape=shape, answer_tokens=count, **_of_json(data, found, begin, end, first)
        )
    shape = _shape(text, count)
    told = {}
    if shape == "prose":
        told = _of_prose(data, found, skipped, question, hash_key)
    return AnswerMeasures(answer_shape=shape, answer_tokens=count, **told)


def _shape(text: str, count: int) -> str:
    stripped = text.strip()
    if looks_broken(stripped):
        return "broken_json"
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE) and stripped.count(_FENCE) == 2:
        return "code"
    return "label" if count <= MOST_LABEL_TOKENS and "\n" not in stripped else "prose"


def _of_json(data: bytes, found: Places, begin: int, end: int, first: int) -> dict[str, Any]:
    cuts = cuts_of(data, begin, end)
    inside, after = found.before([begin, end])
    at = np.searchsorted(cuts.begins, found.at[inside:after], side="right") - 1
    kinds = np.array(cuts.kinds)[at]
    kinds[(kinds == SYNTAX) & found.is_blank[inside:after]] = BLANK
    counts = np.bincount(kinds, minlength=BLANK + 1).tolist()
    return {
        "preamble_tokens": inside - first,
        "json_key_tokens": counts[KEY] + counts[REPEATED_KEY],
        "json_repeated_key_tokens": counts[REPEATED_KEY],
        "json_key_count": cuts.key_count,
        "json_value_tokens": counts[VALUE],
        "json_syntax_tokens": counts[SYNTAX],
        "json_blank_tokens": counts[BLANK],
        "trailing_tokens": len(found.at) - after,
    }


def _of_prose(
    data: bytes,
    found: Places,
    skipped: int,
    question: Callable[[], str | None],
    hash_key: str | None,
) -> dict[str, Any]:
    sentences = sentences_of(data, skipped)
    kept = edges_of(sentences)
    bounds = found.before([at for each in kept for at in (each.begin, each.end)])
    lengths = [until - since for since, until in zip(bounds[::2], bounds[1::2], strict=True)]
    restated = restated_count([each.text for each in sentences], question())
    rows = np.array(
        [
            (hash_of(each.text, hash_key), length)
            for each, length in zip(kept, lengths, strict=True)
        ],
        dtype=_SENTENCE,
    )
    return {
        "restated_tokens": None if restated is None else sum(lengths[:restated]),
        "sentences": b64encode(rows.tobytes()).decode() if len(rows) else None,
    }
