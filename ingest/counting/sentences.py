"""An answer in sentences, each known again by a hash.

Owns where a sentence ends, in English and in Japanese, and what makes two of them one: letters and
marks, not case, blanks or the marks of Markdown. Refuses what stands in a fence of code, and to
remember more than the first and the last sentences.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from ingest.counting.prefixes import secret_of

EDGE_SENTENCES = 16
"""So many sentences from the begin of an answer are remembered, and as many from its end."""

_PERSON = b"gpuledger-phrase"
_FENCE = b"```"
_END = re.compile(
    rb"[.!?\n\xe3\xef](?:(?<=\n)|(?<=[.!?])[.!?]{0,9}[\"')\]*_]{0,9}(?=\s|\Z)"
    rb"|(?:(?<=\xe3)\x80\x82|(?<=\xef)\xbc[\x81\x9f])"
    rb"(?:\xe3\x80\x82|\xef\xbc[\x81\x9f])*(?:\xe3\x80[\x8d\x8f])*)"
)
"""It begins with a set of bytes, which is found at once. Escaped are `。！？` and `」』`."""
_MARKS = " \t\r\n*_#>-•|`"
_LETTER = re.compile(r"[^\W\d_]")


class Sentence(NamedTuple):
    """Bytes `begin` to `end` of an answer."""

    begin: int
    end: int
    text: str


def sentences_of(data: bytes, begin: int = 0) -> list[Sentence]:
    """The sentences of `data` from byte `begin` on; neither those in fences of code nor those
    without a letter."""
    found = []
    for at, end in _outside_fences(data, begin):
        ends = [mark.end() for mark in _END.finditer(data, at, end)]
        begins = [at, *ends]
        for since, until in zip(begins, [*ends, end], strict=True):
            text = data[since:until].decode("utf-8", "replace").strip(_MARKS)
            if text and (text[0].isalpha() or _LETTER.search(text)):
                found.append(Sentence(since, until, text))
    return found


def edges_of(sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """Those that are remembered: all, or the first and the last `EDGE_SENTENCES`."""
    if len(sentences) <= 2 * EDGE_SENTENCES:
        return sentences
    return [*sentences[:EDGE_SENTENCES], *sentences[-EDGE_SENTENCES:]]


def hash_of(sentence: str, hash_key: str | None) -> int:
    """A signed 64-bit hash of the words of `sentence`; keyed where there is a `hash_key`."""
    text = " ".join(sentence.casefold().split())
    data = text.encode() if text.isascii() else unicodedata.normalize("NFC", text).encode()
    key = secret_of(hash_key)
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_PERSON).digest()
    return int.from_bytes(digest, "little", signed=True)


def _outside_fences(data: bytes, begin: int) -> list[tuple[int, int]]:
    """The stretches of `data` from `begin` on before, between and after fences of code."""
    if _FENCE not in data:
        return [(begin, len(data))]
    stretches = []
    at = begin
    for number, stretch in enumerate(data[begin:].split(_FENCE)):
        if number % 2 == 0:
            stretches.append((at, at + len(stretch)))
        at += len(stretch) + len(_FENCE)
    return stretches
