"""Which section of a prompt each stretch of its text belongs to.

Owns the rules; `docs/counting.md` lists them. Refuses to look at what a text means: only its
message's role and place, and the marks that prompts set around examples and documents, count.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.calls.content import Message

SECTIONS = ("system", "tools", "examples", "context", "history", "user")
SYSTEM_ROLES = ("system", "developer")
ASKING_ROLES = ("user", "human")

_TAG = re.compile(
    r"<(/?)(examples?|few[-_]?shots?|context|documents?|retrieved[-_]\w{1,40}|search[-_]results?"
    r"|sources?|passages?|chunks?|knowledge(?:[-_]\w{1,40})?)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
_EXAMPLES = ("example", "few")
_HEADING = re.compile(
    r"^[ \t#*]{0,8}(?:(?P<context>context|documents|sources|search results|knowledge base"
    r"|retrieved (?:context|documents|passages))"
    r"|(?P<examples>examples|few-shot examples)"
    r"|(?:question|query|user question|user query|task|instructions?|answer|helpful answer))"
    r"[ \t*]{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)


class Stretch(NamedTuple):
    """Characters `begin` to `end` of a text, and the section that they belong to."""

    begin: int
    end: int
    section: str


def section_of_messages(messages: Sequence[Message]) -> list[str]:
    """The section of each message by role and place, and by name: that of an example says so.

    The last run of user messages is `user`. System messages are `system`. All else, before it and
    after it, is `history`: earlier turns, and the steps of an agent in this one.
    """
    roles = [str(message.get("role")).lower() for message in messages]
    last = max((at for at, role in enumerate(roles) if role in ASKING_ROLES), default=-1)
    first = last
    while first > 0 and roles[first - 1] in ASKING_ROLES:
        first -= 1
    return [_section(message, first <= at <= last) for at, message in enumerate(messages)]


def _section(message: Message, is_last: bool) -> str:
    if str(message.get("name")).lower().startswith(_EXAMPLES):
        return "examples"
    if str(message.get("role")).lower() in SYSTEM_ROLES:
        return "system"
    return "user" if is_last else "history"


def stretches(text: str, section: str) -> list[Stretch]:
    """`text` of a message in `section`, cut where examples or documents are marked in it."""
    marked = [*_tagged(text)] or [*_headed(text)] if section in {"system", "user"} else []
    cut: list[Stretch] = []
    at = 0
    for stretch in marked:
        if stretch.begin > at:
            cut.append(Stretch(at, stretch.begin, section))
        cut.append(stretch)
        at = stretch.end
    if at < len(text) or not cut:
        cut.append(Stretch(at, len(text), section))
    return cut


def _tagged(text: str) -> Iterator[Stretch]:
    """What stands between a tag and the one that closes it, tags included; the outermost counts."""
    opened: re.Match[str] | None = None
    depth = 0
    for tag in _TAG.finditer(text):
        is_end, name = bool(tag[1]), tag[2].lower()
        if opened is None:
            opened, depth = (None, 0) if is_end else (tag, 1)
        elif name == opened[2].lower():
            depth += -1 if is_end else 1
            if depth == 0:
                section = "examples" if name.startswith(_EXAMPLES) else "context"
                yield Stretch(opened.start(), tag.end(), section)
                opened = None


def _headed(text: str) -> Iterator[Stretch]:
    """What follows a line `Context:` or `Examples:` until the next heading that is known."""
    begun: tuple[int, str] | None = None
    for heading in _HEADING.finditer(text):
        if begun is not None:
            yield Stretch(begun[0], heading.start(), begun[1])
        section = "context" if heading["context"] else "examples" if heading["examples"] else None
        begun = None if section is None else (heading.start(), section)
    if begun is not None:
        yield Stretch(begun[0], len(text), begun[1])
