"""Which characters of a text are markup or boilerplate: tags, scripts, menus, notices of cookies.

Owns the rules; the words stand in `boilerplate.toml`. Refuses a line that says anything else
besides, and tags that are none of HTML's. Every step takes time in proportion to the text.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import msgspec

from ingest.counting.chunks import Extent
from ingest.counting.touched import folded

MAX_LINE_CHARACTERS = 200
"""Longer lines are prose."""
MIN_MENU_LINES = 3

_TAG = re.compile(
    r"<!--|<(?:/?(?:html|head|body|title|meta|link|base|script|style|noscript|template|div|span|p|a"
    r"|br|hr|img|picture|figure|figcaption|ul|ol|li|dl|dt|dd|table|thead|tbody|tfoot|tr|td|th"
    r"|colgroup|col|caption|h[1-6]|nav|header|footer|main|aside|section|article|form|input|button"
    r"|label|select|option|textarea|fieldset|iframe|svg|path|g|use|canvas|video|audio|strong|em|b"
    r"|i|u|s|small|sup|sub|font|center|blockquote|pre|code|abbr|time|details|summary)\b"
    r"[^<>]{0,4000}|!doctype[^<>]{0,400})>",
    re.IGNORECASE,
)
_NAME = re.compile(r"</?([a-z][a-z0-9]*)", re.IGNORECASE)
_WHOLE = frozenset({"script", "style", "noscript", "template", "nav", "footer", "iframe", "svg"})
"""Elements of which nothing is content."""
_ENTITY = re.compile(
    r"&(?:nbsp|amp|lt|gt|quot|copy|[mn]dash|laquo|raquo|#\d{1,6}|#x[0-9a-f]{1,5});"
)
_LINE = re.compile(r"[^\n]+")
_LINK = re.compile(r"!?\[([^\]\n]{0,100})\]\([^)\n]{0,200}\)")
_PARTS = re.compile(r"[|｜·•›»＞>/／\t]|\s-\s|\s{2,}")
_EDGES = " \t\r.:;,*#_-–—[]()（）「」。、▲△▼↑→←×"


class Boilerplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of `boilerplate.toml`, in lower case."""

    menu: frozenset[str]
    lines: frozenset[str]
    beginnings: tuple[str, ...]


@cache
def boilerplate() -> Boilerplate:
    """The words as they are shipped."""
    text = resources.files("ingest.counting").joinpath("boilerplate.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Boilerplate)


def markup_of(text: str) -> list[Extent]:
    """The stretches of `text` that are markup or boilerplate, in order, none touching another."""
    found = [*(_tags(text) if "<" in text else ()), *_boilerplate_lines(text)]
    if "&" in text:
        found += [entity.span() for entity in _ENTITY.finditer(text)]
    return _merged(found)


def _tags(text: str) -> Iterator[Extent]:
    """Tags and comments; an element of `_WHOLE` to its end, where it has one."""
    tags = list(_TAG.finditer(text))
    closings: dict[str, list[int]] = {}
    for tag in tags:
        if tag[0].startswith("</"):
            closings.setdefault(_name(tag), []).append(tag.end())
    until = 0
    last_comment = text.rfind("-->") if tags else -1
    for tag in tags:
        if tag.start() < until:
            continue
        until = tag.end()
        if tag[0] == "<!--":
            if tag.end() <= last_comment:
                until = text.index("-->", tag.end()) + len("-->")
        elif _name(tag) in _WHOLE and not tag[0].startswith("</"):
            ends = closings.get(_name(tag), [])
            at = bisect_left(ends, tag.end())
            until = ends[at] if at < len(ends) else until
        yield tag.start(), until


def _name(tag: re.Match[str]) -> str:
    named = _NAME.match(tag[0])
    return named[1].lower() if named else ""


def _boilerplate_lines(text: str) -> Iterator[Extent]:
    """Lines that are only a menu, a notice or a link to somewhere else on the page."""
    run: list[Extent] = []
    for line in _LINE.finditer(text):
        kind = _kind(line[0]) if len(line[0]) <= MAX_LINE_CHARACTERS else "prose"
        if kind == "item":
            run.append(line.span())
            continue
        if kind != "blank":
            yield from run if len(run) >= MIN_MENU_LINES else ()
            run = []
        if kind == "boilerplate":
            yield line.span()
    yield from run if len(run) >= MIN_MENU_LINES else ()


def _kind(line: str) -> str:
    """Whether a line is `boilerplate`, one `item` of a menu, `blank` or `prose`."""
    plain = folded(_LINK.sub(r"\1", line) if "](" in line else line).strip(_EDGES)
    known = boilerplate()
    if not plain:
        return "blank"
    if plain in known.lines or plain.startswith(known.beginnings):
        return "boilerplate"
    if plain in known.menu:
        return "item"
    items = [item for part in _PARTS.split(plain) if (item := part.strip(_EDGES))]
    is_menu = len(items) > 1 and all(item in known.menu for item in items)
    return "boilerplate" if is_menu else "prose"


def _merged(found: Sequence[Extent]) -> list[Extent]:
    merged: list[Extent] = []
    for begin, end in sorted(found):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
