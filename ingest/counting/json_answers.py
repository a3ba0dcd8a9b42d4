"""JSON in an answer: where it begins and ends, and which of its bytes are keys and values.

Owns what is taken for an answer in JSON: one that is JSON, or has it on lines of its own or in one
fence, with text before or after it. Refuses an explanation that shows JSON beside other code, and
brackets in the middle of a sentence.
"""

import json
import re
from typing import NamedTuple

import orjson

SYNTAX, KEY, REPEATED_KEY, VALUE = range(4)
"""Kinds of bytes in JSON. A key has its quotes and its colon; a repeated one was in an earlier
element of the same list, at the same depth."""

_FENCE = "```"
_MOST_CANDIDATES = 3
_CANDIDATE = re.compile(
    r"(?:\A|\n|:)\s{0,40}(?:```\w{0,20}\s{0,40})?([\[{])(?=\s{0,200}[\[{\"}\]])"
)
"""Its repetitions are bounded: a text of nothing but blanks takes no longer than another."""
_BEGINS_AS_JSON = re.compile(r"\s*(?:```\w*\s*)?[\[{]\s*[\[{\"]")
_BETWEEN = re.compile(r"[\s,]*")
_OPENING_FENCE = re.compile(r"```\w*\s*\Z")
_PIECE = re.compile(
    rb'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}\[\]]|[^\s{}\[\],:"]+',
    re.DOTALL,
)
_KEY_GROUP = 2
_OPENING, _CLOSING = frozenset(b"{["), frozenset(b"}]")
_LIST = ord("[")
_DECODER = json.JSONDecoder()


class Cuts(NamedTuple):
    """From byte `begins[i]` on the JSON is of kind `kinds[i]`; `key_count` keys are in it."""

    begins: list[int]
    kinds: list[int]
    key_count: int


def json_within(text: str) -> tuple[int, int] | None:
    """The characters of `text` that are JSON; all of them where it is nothing else.

    None where the text is no answer in JSON. Several values one after the other are one stretch.
    """
    if _is_json(text):
        return 0, len(text)
    if "{" not in text and "[" not in text:
        return None
    found = _first_value(text)
    if found is None:
        return None
    begin, end = found
    before = _OPENING_FENCE.sub("", text[:begin])
    after = text[end:].lstrip().removeprefix(_FENCE)
    is_alone = _FENCE not in before and _FENCE not in after and _first_value(after) is None
    return found if is_alone else None


def looks_broken(text: str) -> bool:
    """Whether `text` begins as JSON does; of one that is none, that it was cut or is malformed."""
    return _BEGINS_AS_JSON.match(text) is not None


def cuts_of(data: bytes, begin: int, end: int) -> Cuts:
    """The kinds of the bytes `begin` to `end` of `data`, which are JSON."""
    begins, kinds = [begin], [SYNTAX]
    seen: set[tuple[int, bytes]] = set()
    opened: list[int] = []
    key_count = list_depth = 0
    for piece in _PIECE.finditer(data, begin, end):
        at, until = piece.span()
        first, kind = data[at], VALUE
        if first in _OPENING:
            opened.append(first)
            list_depth += first == _LIST
            continue
        if first in _CLOSING:
            list_depth -= bool(opened) and opened.pop() == _LIST
            continue
        if piece.lastindex == _KEY_GROUP:
            key_count += 1
            kind = KEY
            if list_depth > 0:
                key = (len(opened), piece[1])
                kind = REPEATED_KEY if key in seen else KEY
                seen.add(key)
        begins += (at, until)
        kinds += (kind, SYNTAX)
    return Cuts(begins, kinds, key_count)


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def _first_value(text: str) -> tuple[int, int] | None:
    """The first object or list that is on a line of its own, and those that follow it at once."""
    for number, candidate in enumerate(_CANDIDATE.finditer(text)):
        if number == _MOST_CANDIDATES:
            return None
        begin = candidate.start(1)
        end = _end_of_value(text, begin)
        if end is not None:
            return begin, _end_of_values(text, end)
    return None


def _end_of_values(text: str, end: int) -> int:
    while True:
        between = _BETWEEN.match(text, end)
        following = end if between is None else between.end()
        further = _end_of_value(text, following) if text[following : following + 1] == "{" else None
        if further is None:
            return end
        end = further


def _end_of_value(text: str, begin: int) -> int | None:
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return end if value else None
