"""Which attributes of a span carry text of users, by their names.

Owns the fields, prefixes and last parts of names that do. Refuses to look at a value.
"""

from collections.abc import Mapping
from functools import cache, lru_cache

from ingest.calls.aliases import FieldName, alias_table
from ingest.calls.runs import DOCUMENTS_PREFIX
from ingest.calls.texts import TOOLS_PREFIX

MASKED_FIELDS: tuple[FieldName, ...] = (
    "tools",
    "prompt_token_ids",
    "tool_arguments",
    "tool_result",
    "retrieval_query",
    "retrieval_result",
)
"""Fields of the alias table that carry text of users besides the prompt and the completion."""

MASKED_PREFIXES = (TOOLS_PREFIX, DOCUMENTS_PREFIX)

TOLD_SEGMENTS = frozenset({"role", "finish_reason", "type", "id", "name", "score"})
"""Last parts of an indexed name, such as `gen_ai.completion.0.finish_reason`, that are no text."""

TEXT_SEGMENTS = frozenset(
    {"content", "message", "tool_calls", "arguments", "body", "text", "prompt", "completion"}
)
"""Last parts of an event's attribute that are the text of a message."""


@lru_cache(maxsize=8192)
def sorted_out(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of `names` that carry no text, and those that carry what is masked one by one."""
    masked = tuple(filter(_is_masked, names))
    return tuple(name for name in names if name not in masked and not _is_content(name)), masked


@lru_cache(maxsize=65_536)
def _is_content(name: str) -> bool:
    """Whether the attribute `name` carries a prompt or a completion."""
    return name in _content_names() or _is_indexed(name, _content_prefixes())


@lru_cache(maxsize=65_536)
def _is_masked(name: str) -> bool:
    """Whether the attribute `name` carries what a tool or a retrieval was told or answered."""
    return name in _masked_names() or _is_indexed(name, MASKED_PREFIXES)


@lru_cache(maxsize=65_536)
def is_event_text(name: str) -> bool:
    """Whether the attribute `name` of an event is the text of a message."""
    is_text = name.rpartition(".")[2] in TEXT_SEGMENTS and not name.startswith("exception.")
    return is_text or _is_content(name) or _is_masked(name)


def _is_indexed(name: str, prefixes: tuple[str, ...]) -> bool:
    for prefix in prefixes:
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1].isdigit():
            return name.rpartition(".")[2] not in TOLD_SEGMENTS
    return False


@cache
def _content_names() -> frozenset[str]:
    content = alias_table().file.content
    names = (
        name
        for part in (content.prompt, content.completion)
        for name in (*part.system, *part.messages, *part.whole)
    )
    return frozenset(names) - _masked_names()


@cache
def _masked_names() -> frozenset[str]:
    fields = alias_table().file.fields
    return frozenset(
        alias.name for field in MASKED_FIELDS for alias in fields[field].names if not alias.path
    )


@cache
def tool_fields() -> Mapping[str, FieldName]:
    """Attribute to the field that it is on the span of a tool."""
    fields = alias_table().file.fields
    told: tuple[FieldName, ...] = ("tool_arguments", "tool_result")
    return {alias.name: field for field in told for alias in fields[field].names}


@cache
def _content_prefixes() -> tuple[str, ...]:
    content = alias_table().file.content
    return (*content.prompt.indexed, *content.completion.indexed)
