"""What the privacy setting leaves of prompts and completions before anything is written.

Owns `content = "full" | "hash" | "off"` for spans, calls and rejects. Refuses to guess: what is
content stands in the alias table of `ingest.calls`, or is a message's text by its name.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import orjson

from ingest.calls.aliases import alias_table
from ingest.config import Configuration
from ingest.records import Call, Json, Reject, Span, SpanEvent

CONTENT_FIELDS = ("tools", "tool_arguments", "tool_result", "retrieval_query", "retrieval_result")
"""Fields of the alias table that carry text of users besides the prompt and the completion."""

TOLD_SEGMENTS = frozenset({"role", "finish_reason", "type", "id", "name"})
"""Last parts of an indexed name, such as `gen_ai.completion.0.finish_reason`, that are no text."""

TEXT_SEGMENTS = frozenset(
    {"content", "message", "tool_calls", "arguments", "body", "text", "prompt", "completion"}
)
"""Last parts of an event's attribute that are the text of a message."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The privacy setting at work; `key` makes its hashes keyed (HMAC), empty they are plain."""

    content: str
    key: bytes

    @classmethod
    def of(cls, configuration: Configuration) -> "Redaction":
        """The setting that `configuration` names."""
        return cls(configuration.content, (configuration.hash_key or "").encode())

    def spans(self, spans: Sequence[Span]) -> Sequence[Span]:
        """`spans` in their order, without the text that may not be stored."""
        if self.content == "full":
            return spans
        return [self._span(span) for span in spans]

    def call(self, call: Call) -> Call:
        """`call` without the text that may not be stored; the hashes of it stay."""
        if self.content == "full" or (call.prompt is None and call.completion is None):
            return call
        return replace(call, prompt=None, completion=None)

    def reject(self, reject: Reject) -> Reject:
        """`reject` with its record as text, as a hash or without it."""
        if self.content == "full" or reject.record is None:
            return reject
        return replace(reject, record=self._masked(reject.record))

    def _span(self, span: Span) -> Span:
        attributes = self._attributes(span.attributes)
        events = self._events(span.events)
        if attributes is span.attributes and events is span.events:
            return span
        return replace(span, attributes=attributes, events=events)

    def _attributes(self, attributes: Mapping[str, Json]) -> Mapping[str, Json]:
        found = [name for name in attributes if is_content(name)]
        return self._without(attributes, found)

    def _events(self, events: Sequence[SpanEvent]) -> Sequence[SpanEvent]:
        cleaned = [self._event(event) for event in events]
        is_same = all(new is old for new, old in zip(cleaned, events, strict=True))
        return events if is_same else cleaned

    def _event(self, event: SpanEvent) -> SpanEvent:
        found = [name for name in event.attributes if is_content(name) or _is_text(name)]
        attributes = self._without(event.attributes, found)
        return event if attributes is event.attributes else replace(event, attributes=attributes)

    def _without(self, attributes: Mapping[str, Json], names: list[str]) -> Mapping[str, Json]:
        if not names:
            return attributes
        left = dict(attributes)
        for name in names:
            masked = self._masked(left.pop(name))
            if masked is not None:
                left[name] = masked
        return left

    def _masked(self, value: Json) -> str | None:
        if self.content == "off":
            return None
        text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if self.key:
            return f"hmac-sha256:{hmac.new(self.key, data, hashlib.sha256).hexdigest()}"
        return f"sha256:{hashlib.sha256(data).hexdigest()}"


@lru_cache(maxsize=65_536)
def is_content(name: str) -> bool:
    """Whether the attribute `name` carries a prompt, a completion, or what a tool was told."""
    if name in _content_names():
        return True
    for prefix in _indexed_prefixes():
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1].isdigit():
            return name.rpartition(".")[2] not in TOLD_SEGMENTS
    return False


def _is_text(name: str) -> bool:
    return name.rpartition(".")[2] in TEXT_SEGMENTS


@cache
def _content_names() -> frozenset[str]:
    table = alias_table()
    content = (table.content.prompt, table.content.completion)
    listed = (name for part in content for name in (*part.system, *part.messages, *part.whole))
    fields = (
        alias.name
        for field in CONTENT_FIELDS
        for alias in table.fields[field].names
        if alias.path is None
    )
    return frozenset((*listed, *fields))


@cache
def _indexed_prefixes() -> tuple[str, ...]:
    content = alias_table().content
    return (*content.prompt.indexed, *content.completion.indexed)
