"""A prompt's tokens: its sections, what the chat format adds, and the ids as an engine sees them.

Owns the chat format as OpenAI documents it: three tokens and the role around a message, one and
the name where it has one, three before the answer. Tools come first. Refuses to tokenise a text
twice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingest.calls.content import Message
from ingest.counting.encodings import Choice
from ingest.counting.leading import Leading
from ingest.counting.notes import Notes
from ingest.counting.parts import Text, parts_of
from ingest.counting.sections import ASKING_ROLES, Stretch, section_of_messages, stretches
from ingest.counting.token_ids import Ids, encoded, token_memory
from ingest.counting.vocabulary import vocabulary

BEGIN, ROLE_END, END, NAME = (np.array([2**32 - mark], dtype=np.uint32) for mark in range(1, 5))
"""Marks of the chat format; no encoding has such ids."""
ANSWERING_ROLE = "assistant"
RESULT_ROLES = ("tool", "function")
AS_JSON = "tool definitions and calls are counted as JSON"
NO_TEXT = "at least that: {} parts that are no text are not counted"
CUT = "at least that: the text was cut before it was sent"


@dataclass(slots=True)
class Prompt:
    """The count of one prompt, grown message by message; `leading` ends where a part is no text.

    `notes` take the measures of the texts on their way; None where they are not wanted.
    """

    choice: Choice
    sections: Counter[str] = field(default_factory=Counter)
    format_tokens: int = 0
    leading: Leading = field(kw_only=True)
    other_count: int = 0
    is_structured: bool = False
    is_cut: bool = False
    notes: Notes | None = None

    @property
    def input_tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.sections.total() + self.format_tokens

    def add_tools(self, text: str) -> None:
        """Take definitions of tools, as JSON text."""
        self.sections["tools"] += self._add(text)
        self.is_structured = True

    def add_message(self, message: Message, section: str, *, is_chat: bool) -> None:
        """Take one message of `section`."""
        if is_chat:
            self._frame(BEGIN, self._role(str(message.get("role"))), ROLE_END)
            if message.get("name"):
                self._frame(NAME, self._role(str(message["name"])))
        is_result = str(message.get("role")).lower() in RESULT_ROLES
        self._add_parts(parts_of(message), section, is_result=is_result)
        if is_chat:
            self._frame(END)

    def add_answer_mark(self) -> None:
        """Take what tells the model that it is its turn."""
        self._frame(BEGIN, self._role(ANSWERING_ROLE), ROLE_END)

    def reasons(self) -> Iterator[str]:
        """Why the count is an estimate."""
        if not self.choice.is_own:
            yield NOT_OWN
        elif not self.choice.is_format_known:
            yield "the model's chat format is another"
        if self.is_structured:
            yield AS_JSON
        if self.other_count:
            yield NO_TEXT.format(self.other_count)
        if self.is_cut:
            yield CUT

    def _add_parts(self, parts: Sequence[Text | None], section: str, *, is_result: bool) -> None:
        self.sections[section] += 0
        for text in parts:
            if text is None:
                self.other_count += 1
                continue
            self.is_structured |= text.kind == "structured"
            self.is_cut |= looks_cut(text.text)
            whole = [Stretch(0, len(text.text), section)]
            if text.kind == "retrieved":
                self._add_text(text.text, [whole[0]._replace(section="context")])
            elif text.kind in {"plain", "result"}:
                found = stretches(text.text, section)
                self._add_text(text.text, found, is_result=is_result or text.kind == "result")
            else:
                self._add_text(text.text, whole)

    def _add_text(self, text: str, found: Sequence[Stretch], *, is_result: bool = False) -> None:
        ids = token_memory().ids(text, self.choice.encoding)
        self._append(ids, text)
        if self.notes is not None:
            begin = self.sections.total()
            self.notes.add(text, ids, found, begin, is_result=is_result)
        if len(found) == 1:
            self.sections[found[0].section] += len(ids)
            return
        byte_counts = vocabulary(self.choice.encoding).byte_counts[ids]
        begins = np.cumsum(byte_counts) - byte_counts
        widths = [len(encoded(text[each.begin : each.end])) for each in found]
        cuts = np.searchsorted(begins, np.cumsum(widths))
        for each, count in zip(found, np.diff(cuts, prepend=0).tolist(), strict=True):
            self.sections[each.section] += count

    def _add(self, text: str) -> int:
        ids = token_memory().ids(text, self.choice.encoding)
        self._append(ids, text)
        return len(ids)

    def _role(self, role: str) -> Ids:
        return token_memory().ids(role, self.choice.encoding)

    def _frame(self, *marks: Ids) -> None:
        for ids in marks:
            self.format_tokens += len(ids)
            self._append(ids)

    def _append(self, ids: Ids, text: str | None = None) -> None:
        if self.other_count:
            return
        if text is None:
            self.leading.add(ids)
        else:
            self.leading.add_text(text, ids)


NOT_OWN = "not the model's own tokenizer"


def prompt_of(
    messages: Sequence[Message],
    tools: str | None,
    choice: Choice,
    *,
    is_chat: bool,
    notes: Notes | None = None,
    finds_volatile: bool = False,
) -> Prompt:
    """The count of `messages` and of the definitions in `tools`.

    Each token is in the section in which its first byte is. Sections that nothing in the prompt
    shows are left out, but for history and user, which a list of messages shows to be none. `notes`
    take the measures of the prompt.
    """
    leading = Leading(choice.encoding, finds_volatile=finds_volatile)
    made = Prompt(choice, sections=Counter(history=0, user=0), leading=leading, notes=notes)
    if tools:
        made.add_tools(tools)
    for message, section in zip(messages, section_of_messages(messages), strict=True):
        made.add_message(message, section, is_chat=is_chat)
    if is_chat:
        made.add_answer_mark()
        if notes is not None:
            notes.user_turns = _user_turns(messages)
    return made


def _user_turns(messages: Sequence[Message]) -> int:
    """Runs of messages of the user; what only hands back a tool's result is none of theirs."""
    turns = 0
    is_turn = False
    for message in messages:
        if str(message.get("role")).lower() not in ASKING_ROLES:
            is_turn = False
        elif not _is_result(message):
            turns += not is_turn
            is_turn = True
    return turns


def _is_result(message: Message) -> bool:
    parts = parts_of(message) if message.get("parts") is not None else []
    return bool(parts) and all(text is not None and text.kind == "result" for text in parts)


def looks_cut(text: str) -> bool:
    """Whether `text` is a list of messages as JSON whose end is missing."""
    begin = text[:40].lstrip()
    return begin.startswith(("[{", '{"')) and '"role"' in text[:400]
