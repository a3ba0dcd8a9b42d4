"""Where the chunks of a context begin and end: its documents, or its passages.

Owns the rules; `docs/counting.md` lists them. Refuses to look at what a text means: only marks that
prompts set between documents count, and blank lines.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from ingest.prompt_measures import MAX_CHUNKS

Extent = tuple[int, int]
"""Characters from the first to before the second."""

_ITEM = re.compile(
    r"<(/?)(documents?|doc|context|sources?|passages?|chunks?|search[-_]results?|results?|items?"
    r"|articles?|snippets?|page|record|entry|file|retrieved[-_]\w{1,40}|knowledge(?:[-_]\w{1,40})?)"
    r"(?:\s[^<>]{0,1000})?>",
    re.IGNORECASE,
)
_HOLDERS = frozenset(
    {"documents", "context", "sources", "passages", "chunks", "results", "items", "articles"}
    | {"snippets", "search_results", "search-results", "knowledge"}
)
_HEADING = re.compile(
    r"[ \t#*]{0,8}(?:context|documents|sources|search results|knowledge base"
    r"|retrieved (?:context|documents|passages))[ \t*]{0,4}:[ \t*]*",
    re.IGNORECASE,
)
_LABEL = (
    r"(?:\[\d{1,4}\]|(?:document|source|passage|chunk|result|文書|資料|出典|検索結果)"
    r"[ \t]*[\[(#]?\d{1,4}[\])]?[ \t]*[:：.、-])"
)
_BREAK = re.compile(
    rf"\n[ \t\r]*\n\s*|\n[-=*_]{{3,}}[ \t\r]*\n|\n(?=[ \t]*{_LABEL})", re.IGNORECASE
)
_BULLET = re.compile(rf"[ \t]*(?:{_LABEL}[ \t]*|(?:\d{{1,4}}[.)]|[-*•])[ \t]+|・)", re.IGNORECASE)
_BLANK = " \t\r\n"


def chunks_of_context(text: str, begin: int, end: int) -> list[Extent]:
    """The chunks between `begin` and `end`, without what marks them; at most `MAX_CHUNKS`."""
    begin, end = _without_holders(text, begin, end)
    found = [chunk for chunk in _chunks(text, begin, end) if chunk[0] < chunk[1]]
    if len(found) > MAX_CHUNKS:
        found[MAX_CHUNKS - 1 :] = [(found[MAX_CHUNKS - 1][0], found[-1][1])]
    return found


def _without_holders(text: str, begin: int, end: int) -> Extent:
    """The inside of `<documents>` and the like, and what follows a line `Context:`."""
    begin, end = trimmed(text, begin, end)
    while (tag := _ITEM.match(text, begin, end)) and tag[2].lower() in _HOLDERS:
        closing = f"</{tag[2]}>"
        if tag[1] or text[end - len(closing) : end].lower() != closing.lower():
            break
        begin, end = trimmed(text, tag.end(), end - len(closing))
    heading = _HEADING.match(text, begin, end)
    return trimmed(text, heading.end() if heading else begin, end)


def _chunks(text: str, begin: int, end: int) -> Iterator[Extent]:
    """Each item in tags, and the passages of what stands between them."""
    at = begin
    for opened, closed in _items(text, begin, end):
        yield from _passages(text, at, opened.start())
        yield trimmed(text, opened.end(), closed.start())
        at = closed.end()
    yield from _passages(text, at, end)


def _items(text: str, begin: int, end: int) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """The outermost pairs of a tag and the one that closes it."""
    tags = list(_ITEM.finditer(text, begin, end))
    closing = {tag[2].lower() for tag in tags if tag[1]}
    opened: re.Match[str] | None = None
    depth = 0
    for tag in tags:
        name = tag[2].lower()
        if name not in closing:
            continue
        if opened is None:
            opened, depth = (None, 0) if tag[1] else (tag, 1)
        elif name == opened[2].lower():
            depth += -1 if tag[1] else 1
            if depth == 0:
                yield opened, tag
                opened = None


def _passages(text: str, begin: int, end: int) -> Iterator[Extent]:
    """What stands between blank lines, rules and labels such as `[2]` or `Document 2:`."""
    breaks = [found.span() for found in _BREAK.finditer(text, begin, end)]
    for (_, first), (last, _) in pairwise([(begin, begin), *breaks, (end, end)]):
        label = _BULLET.match(text, first, last)
        yield trimmed(text, label.end() if label else first, last)


def trimmed(text: str, begin: int, end: int) -> Extent:
    """The extent without blanks at either end."""
    while begin < end and text[begin] in _BLANK:
        begin += 1
    while end > begin and text[end - 1] in _BLANK:
        end -= 1
    return begin, end
