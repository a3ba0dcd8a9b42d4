"""What the first kilobytes of a source show of its structure: container, keys, header.

Owns the look at JSON that may be cut in the middle. Refuses to decide on a format.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ingest.files.content import UTF8_BOM
from ingest.readers.json_text import loads

_TOKEN = re.compile(rb'"(?P<text>(?:[^"\\]|\\.)*+)(?:"(?P<colon>\s*:)?|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A bracket or a string, of which a cut end is taken too: it must not be looked at again."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first object of a source and what is around it.

    `keys` are those of the first object, as far as the head shows them; `first_line` is the first
    line that is not blank, without its end.
    """

    first_line: bytes
    keys: frozenset[str] = frozenset()
    is_array: bool = False
    is_complete: bool = False
    has_more: bool = False


def begins_as_json(head: bytes) -> bool:
    """Whether the first byte that is neither blank nor of a byte order mark is JSON's."""
    return head.removeprefix(UTF8_BOM).lstrip()[:1] in (b"{", b"[")


@lru_cache(maxsize=8)
def opening(head: bytes) -> Opening:
    """The structure that `head` shows; no keys where it is no JSON."""
    text = head.removeprefix(UTF8_BOM).lstrip()
    first_line = text.partition(b"\n")[0].rstrip()
    if not begins_as_json(head):
        return Opening(first_line)
    is_array = text[:1] == b"["
    keys: set[str] = set()
    end = None
    for depth, match in _tokens(text):
        if match["colon"] is not None and depth == 1 + is_array:
            keys.add(_key(match["text"]))
        elif match.group() == b"}" and depth == is_array:
            end = match.end()
            break
    has_more = end is not None and not is_array and bool(text[end:].strip())
    return Opening(first_line, frozenset(keys), is_array, end is not None, has_more)


def _tokens(text: bytes) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Brackets, keys and strings, each with the depth that it leaves or stands at."""
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        yield depth, match


def _key(text: bytes) -> str:
    try:
        return str(loads(b'"' + text + b'"'))
    except ValueError:
        return text.decode("utf-8", "replace")
