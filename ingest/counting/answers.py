"""An answer's tokens: what is seen of it, and the reasoning that was sent with it.

Owns why such a count falls short. Refuses to call an empty answer one of 0 tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.calls.content import Message
from ingest.counting.encodings import Choice
from ingest.counting.measures import Tokenised
from ingest.counting.parts import parts_of
from ingest.counting.prompts import AS_JSON, CUT, NO_TEXT, NOT_OWN, looks_cut
from ingest.counting.token_ids import token_memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Tokens of all choices; None where no text of that kind was sent. Reasons as in `Counted`.

    `texts` are what was tokenised.
    """

    output_tokens: int | None
    reasoning_tokens: int | None
    reasons: tuple[str, ...]
    texts: tuple[Tokenised, ...]


def answer_of(messages: Sequence[Message], choice: Choice) -> Answer:
    """The count of `messages`, one for each choice; the token that ends one is not counted."""
    parts = [(number, part) for number, one in enumerate(messages) for part in parts_of(one)]
    texts = tuple(
        Tokenised(part.kind, number, part.text, token_memory().ids(part.text, choice.encoding))
        for number, part in parts
        if part is not None
    )
    reasoning = sum(len(text.ids) for text in texts if text.kind == "reasoning")
    visible = sum(len(text.ids) for text in texts) - reasoning
    is_known = visible + reasoning > 0
    return Answer(
        output_tokens=visible + reasoning if is_known else None,
        reasoning_tokens=reasoning or None,
        reasons=tuple(
            _reasons(
                choice,
                is_structured=any(text.kind == "structured" for text in texts),
                is_cut=any(looks_cut(text.text) for text in texts),
                other_count=len(parts) - len(texts),
                is_reasoning_seen=reasoning > 0,
            )
        ),
        texts=texts,
    )


def _reasons(
    choice: Choice,
    *,
    is_structured: bool,
    is_cut: bool,
    other_count: int,
    is_reasoning_seen: bool,
) -> Iterator[str]:
    if not choice.is_own:
        yield NOT_OWN
    if is_structured:
        yield AS_JSON
    if other_count:
        yield NO_TEXT.format(other_count)
    if is_cut:
        yield CUT
    if choice.hides_reasoning and not is_reasoning_seen:
        yield "at least that: reasoning that the answer does not show is not counted"
