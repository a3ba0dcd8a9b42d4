"""JSON documents of a source, one after the other, with the line on which each begins.

Owns the question whether a file has a document a line, one document, or several over many lines.
Refuses documents of more than 512 MiB, and to lose the documents around a broken one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import orjson

from ingest.files import HEAD_BYTES, Source
from ingest.files.content import UTF8_BOM, appearance
from ingest.readers.json_text import loads, shallow, tidy
from ingest.readers.opening import begins_as_json
from ingest.readers.rejection import rejected
from ingest.records import Json, Reject

MAX_DOCUMENT_BYTES = 512 * 2**20
_MAX_HELD_REJECTS = 1_000
"""So many lines that are no JSON, and none that is, make a file that is no JSON."""
MAX_WRITTEN_DEPTH = 254
"""Levels of nesting that the writer of JSON follows."""
_NO_BLANK = re.compile(r"\S")
_TOO_LARGE = f"a JSON document of more than {MAX_DOCUMENT_BYTES // 2**20} MiB"


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON value and where it stands: "line 12", or "" where it is the whole file."""

    position: str
    value: Json

    @property
    def where(self) -> str:
        """The position, in words where it is the whole file."""
        return self.position or "the document"

    def at(self, path: str) -> str:
        """The position of `path` inside this document."""
        return f"{self.position}, {path}" if self.position else path


def documents(source: Source, *, names_nan: bool = False) -> Iterator[Document | Reject]:
    """Each JSON document of `source`, or the reject that stands in its place.

    `names_nan` is that of `loads`. Raises `UnreadableSourceError` where there is no document.
    """
    by = _by_line if _has_document_a_line(source.head) else _by_extent
    held: list[Reject] | None = []
    with source.open() as stream:
        for item in by(stream, source, names_nan):
            if held is None:
                yield item
            elif isinstance(item, Document):
                yield from held
                held = None
                yield item
            elif len(held) < _MAX_HELD_REJECTS:
                held.append(item)
            else:
                break
    if held is not None:
        raise source.refusal(_found_instead(source.head, held))


def _found_instead(head: bytes, rejects: list[Reject]) -> str:
    """What a source without any JSON document is."""
    if begins_as_json(head) and rejects:
        return rejects[0].reason
    return f"no JSON but {appearance(head)}"


def records(source: Source, *, names_nan: bool = False) -> Iterator[Document | Reject]:
    """Each JSON value of `source`; a document that is a list gives its items.

    A record that is nested beyond what can be written again is rejected.
    """
    for item in documents(source, names_nan=names_nan):
        if isinstance(item, Document) and isinstance(item.value, list):
            for index, value in enumerate(item.value):
                yield _written_again(Document(item.at(f"[{index}]"), value))
        else:
            yield item if isinstance(item, Reject) else _written_again(item)


def _written_again(record: Document) -> Document | Reject:
    """The record, or its reject where a writer of JSON finds it nested too deep."""
    if not _is_deep(record.value):
        return record
    try:
        orjson.dumps(record.value)
    except orjson.JSONEncodeError:
        return rejected(record.where, f"nested deeper than {MAX_WRITTEN_DEPTH} levels")
    return record


def _is_deep(value: Json) -> bool:
    """Whether a value has lists or objects inside of those inside of it: most records do not."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(
        type(deeper) in {dict, list}
        for item in inside
        if type(item) in {dict, list}
        for deeper in (item.values() if type(item) is dict else item)
    )


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number from 1; one beyond 512 MiB is cut there."""
    number = 0
    while line := stream.readline(MAX_DOCUMENT_BYTES):
        number += 1
        rest = line
        while len(rest) == MAX_DOCUMENT_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_DOCUMENT_BYTES)
        content = line.removeprefix(UTF8_BOM).strip() if number == 1 else line.strip()
        if content:
            yield number, content.strip(b"\x00") or content


def _has_document_a_line(head: bytes) -> bool:
    """Whether a line of the head is a document by itself.

    A first line of `{` or `[` alone begins a document that is spread over lines; lines inside of
    such a document are indented, or end in a comma.
    """
    lines_seen = [line for line in head.removeprefix(UTF8_BOM).splitlines() if line.strip()]
    if not lines_seen or lines_seen[0].strip() in (b"{", b"["):
        return False
    is_one_long_line = len(lines_seen) == 1 and not head.endswith(b"\n")
    if is_one_long_line and len(head) == HEAD_BYTES:
        return True
    return any(_is_document(line) for line in lines_seen if not line[:1].isspace())


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(loads(line), dict | list)
    except ValueError:
        return False


def _by_line(stream: BinaryIO, _source: Source, names_nan: bool) -> Iterator[Document | Reject]:
    for number, line in lines(stream):
        position = f"line {number}"
        if len(line) >= MAX_DOCUMENT_BYTES:
            yield rejected(position, _TOO_LARGE, line[:100])
            continue
        try:
            yield Document(position, loads(line, names_nan=names_nan))
        except ValueError as error:
            yield rejected(position, error, line)


def _by_extent(stream: BinaryIO, source: Source, names_nan: bool) -> Iterator[Document | Reject]:
    """The documents of a file of which the lines are none: mostly one."""
    data = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise source.refusal(f"{_TOO_LARGE}; write it as JSON lines")
    try:
        yield Document("", orjson.loads(data.removeprefix(UTF8_BOM)))
    except orjson.JSONDecodeError:
        yield from _concatenated(data.decode("utf-8-sig", "replace"), names_nan)


def _concatenated(text: str, names_nan: bool) -> Iterator[Document | Reject]:
    """Documents one after the other; after a broken one, from the next line that opens one."""
    decoder = json.JSONDecoder()
    at, line_number, counted_to = _next_character(text, 0), 1, 0
    while at < len(text):
        line_number += text.count("\n", counted_to, at)
        counted_to = at
        position = f"line {line_number}"
        try:
            value, end = decoder.raw_decode(text, at)
            yield Document(position, tidy(value, names_nan=names_nan))
            at = _next_character(text, end)
        except RecursionError:
            rest = shallow(text[at:])
            if rest == text[at:]:
                yield rejected(position, "nested too deep")
                at = _next_opening(text, at)
            else:
                text, at, counted_to = rest, 0, 0
        except ValueError as error:
            yield rejected(position, _broken(text, error), text[at : at + 2_000])
            at = _next_opening(text, at)


def _broken(text: str, error: ValueError) -> str:
    """What is wrong with a document, and whether that is its missing end."""
    is_cut = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    )
    return f"truncated JSON, its end is missing: {error}" if is_cut else f"no valid JSON: {error}"


def _next_character(text: str, at: int) -> int:
    found = _NO_BLANK.search(text, at)
    return len(text) if found is None else found.start()


def _next_opening(text: str, at: int) -> int:
    found = text.find("\n{", at)
    return len(text) if found < 0 else found + 1
