"""Which encoding the tokens of a model are counted with, and whether it is the model's own.

Owns the choice. Refuses to call a count exact that another tokenizer than the model's made.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from tiktoken.model import encoding_name_for_model

from ingest.counting.vocabulary import PUBLISHED

STATED = "o200k_base"
"""Counts for every model whose tokenizer is not here; such counts are estimates."""
OTHER_CHAT_FORMAT = "o200k_harmony"
"""The same tokens as `STATED` in a chat format of its own."""

_HIDES_REASONING = re.compile(r"(o\d|gpt-5)(?![\w.]*-chat)")


class Choice(NamedTuple):
    """An encoding by name. `is_own`: the model's; `is_format_known`: so is its chat format.

    `hides_reasoning`: the model generates tokens that no answer shows.
    """

    encoding: str
    is_own: bool
    is_format_known: bool
    hides_reasoning: bool


@lru_cache(maxsize=1024)
def choice(model: str | None) -> Choice:
    """What to count `model` with; a provider's prefix (`openai/gpt-4o`) is no part of its name."""
    name = (model or "").strip().lower().rpartition("/")[2]
    try:
        known = encoding_name_for_model(name)
    except KeyError:
        return Choice(STATED, is_own=False, is_format_known=False, hides_reasoning=False)
    hides = _HIDES_REASONING.match(name) is not None
    if known == OTHER_CHAT_FORMAT:
        return Choice(STATED, is_own=True, is_format_known=False, hides_reasoning=False)
    if known not in PUBLISHED:
        return Choice(STATED, is_own=False, is_format_known=False, hides_reasoning=False)
    return Choice(known, is_own=True, is_format_known=True, hides_reasoning=hides)
