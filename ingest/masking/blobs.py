"""Pictures, sounds and files that were sent inside of a text: a reference takes their place.

Owns what counts as such: a data URL in base64, or base64 alone that is too long for anything else.
Refuses to store one, whatever `content` says: a ledger is read by those who look for money, and one
screenshot is larger than a thousand spans. The reference says the media type, the size and, unless
`content` is off, a hash by the rule of all fingerprints, so that equal ones have equal references.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.calls.fingerprints import fingerprint
from ingest.config import Configuration
from ingest.records import Call, Json, Span, SpanEvent

MASK = "blob"
LEAST_CHARACTERS = 256
"""Of the base64 of a data URL: a shorter one stays, as an icon of a few bytes does."""
LEAST_BARE_CHARACTERS = 4_096
"""Of base64 without a data URL around it."""
MAX_DEPTH = 200
"""Nesting below this is left to the masks, which drop it."""

_DATA_URL = re.compile(
    r"data:(?P<type>[\w.+-]{1,64}/[\w.+-]{1,100})?(?:;[\w.+=-]{1,100}){0,8}?;base64,"
    rf"(?P<data>[A-Za-z0-9+/_-]{{{LEAST_CHARACTERS},}}=*)"
)
_BARE = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{LEAST_BARE_CHARACTERS},}}=*")
_KINDS = (re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]"))
"""Base64 of that length has all of these; a sequence of a gene, or of hex digits, has not."""

_BEGINNINGS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "JVBERi0": "application/pdf",
}
"""What the base64 of a known format begins with: its first bytes never differ."""


@dataclass(frozen=True, slots=True)
class Blobs:
    """References by one configuration, in place of what is sent inside of texts."""

    configuration: Configuration

    def spans(self, spans: Sequence[Span], counts: Counter[str]) -> Sequence[Span]:
        """`spans` in their order, the same objects where nothing was found."""
        resources = {id(span.resource): _is_long(span.resource) for span in spans}
        chosen = [
            resources[id(span.resource)]
            or _is_long(span.attributes)
            or any(_is_long(event.attributes) for event in span.events)
            for span in spans
        ]
        if not any(chosen):
            return spans
        return [
            self._span(span, counts) if is_chosen else span
            for span, is_chosen in zip(spans, chosen, strict=True)
        ]

    def call(self, call: Call, counts: Counter[str]) -> Call:
        """`call` with references in its texts."""
        prompt, completion = (self._value(text, counts) for text in (call.prompt, call.completion))
        if prompt is call.prompt and completion is call.completion:
            return call
        return replace(call, prompt=prompt, completion=completion)

    def _span(self, span: Span, counts: Counter[str]) -> Span:
        attributes = self._value(span.attributes, counts)
        resource = self._value(span.resource, counts)
        events = [self._event(event, counts) for event in span.events]
        is_same = attributes is span.attributes and resource is span.resource
        if is_same and all(a is b for a, b in zip(span.events, events, strict=True)):
            return span
        return replace(span, attributes=attributes, resource=resource, events=events)

    def _event(self, event: SpanEvent, counts: Counter[str]) -> SpanEvent:
        attributes = self._value(event.attributes, counts)
        return event if attributes is event.attributes else replace(event, attributes=attributes)

    def _value(self, value: Json, counts: Counter[str], depth: int = 0) -> Json:
        """`value` with references in its texts; the same object where there is none."""
        if isinstance(value, str):
            return value if len(value) < LEAST_CHARACTERS else self._text(value, counts)
        if depth > MAX_DEPTH:
            return value
        if isinstance(value, Mapping):
            kept = {name: self._value(item, counts, depth + 1) for name, item in value.items()}
            return value if all(value[name] is item for name, item in kept.items()) else kept
        if isinstance(value, list | tuple):
            items = [self._value(item, counts, depth + 1) for item in value]
            return value if all(a is b for a, b in zip(value, items, strict=True)) else items
        return value

    def _text(self, text: str, counts: Counter[str]) -> str:
        kept = text
        if ";base64," in kept:
            kept = _DATA_URL.sub(lambda found: self._reference(found["data"], found["type"]), kept)
        if len(kept) >= LEAST_BARE_CHARACTERS:
            kept = _BARE.sub(self._bare, kept)
        if kept == text:
            return text
        counts[MASK] += 1
        return kept

    def _bare(self, found: re.Match[str]) -> str:
        data = found[0]
        return self._reference(data) if all(kind.search(data) for kind in _KINDS) else data

    def _reference(self, data: str, media_type: str | None = None) -> str:
        """What stands for base64 `data`: `[blob: image/png, 4,096 bytes, v1k:…]`."""
        kept = data.rstrip("=")
        kind = media_type or next(
            (name for begin, name in _BEGINNINGS.items() if kept.startswith(begin)), "unknown type"
        )
        hashed = fingerprint(kept, self.configuration)
        parts = [kind, f"{len(kept) * 3 // 4} bytes", *([] if hashed is None else [hashed])]
        return f"[blob: {', '.join(parts)}]"


def _is_long(value: Json, depth: int = 0) -> bool:
    """Whether a text in `value` is long enough to hold a blob."""
    if isinstance(value, str):
        return len(value) >= LEAST_CHARACTERS
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return any(
        len(item) >= LEAST_CHARACTERS
        if type(item) is str
        else depth < MAX_DEPTH and _is_long(item, depth + 1)
        for item in value
    )
