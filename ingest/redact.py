"""What the privacy setting leaves of prompts and completions before anything is written.

Owns `content = "full" | "hash" | "off"` for spans, calls and rejects. Refuses to guess: what is
content stands in the alias table of `ingest.calls`, or is an event's attribute named like a
message's text.

Under "hash" a span gives up its texts and keeps their fingerprints, in the attributes that the
alias table reads before any text: calls derived from it have the hashes that the text would give.
In what is left of a record references stand for pictures and files, and then it passes the masks of
`ingest.masking`, whatever the setting. Fingerprints are taken before: two texts that differ in what
is masked are two.
"""

import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ingest.calls.aliases import FieldName, alias_table
from ingest.calls.canonical import fingerprint_of_field
from ingest.calls.content import completion, listed_attributes, prompt
from ingest.calls.fingerprints import fingerprint, fingerprint_of_attributes, own_fingerprint
from ingest.calls.outcome import outcome
from ingest.calls.reading import Reading
from ingest.calls.roles import part_of
from ingest.calls.text_names import (
    MASKED_FIELDS,
    MASKED_PREFIXES,
    is_event_text,
    sorted_out,
    tool_fields,
)
from ingest.config import Configuration
from ingest.counting.kept import counted_spans
from ingest.counting.of_record import counted_call
from ingest.masking.blobs import Blobs
from ingest.masking.records import masking_of
from ingest.records import Call, Json, Reject, Sample, Span, SpanEvent

PROMPT_FINGERPRINT = "gpuledger.input_hash"
COMPLETION_FINGERPRINT = "gpuledger.output_hash"

OPERATION = "gen_ai.operation.name"
FINISH_REASONS = "gen_ai.response.finish_reasons"

FIELD_OF_FINGERPRINT: Mapping[str, FieldName] = {
    PROMPT_FINGERPRINT: "input_hash",
    COMPLETION_FINGERPRINT: "output_hash",
    **{own_fingerprint(field): field for field in MASKED_FIELDS},
}
"""Attribute that keeps the hash of a text from before it was masked, to the field it is read as."""

_QUOTED = re.compile(r"""(?<!\w)(["'])(?:(?!\1)[^\\]|\\.|\1(?=\w))*(?:\1|\Z)""", re.DOTALL)
"""What a reason quotes, as `repr` writes it; a quote that was cut off goes to the end."""
_PROSE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]{2}")
"""A quotation of several words, in the reason of a reject."""


class Redaction:
    """The privacy setting at work, and the count of what it masked. Any thread may use it.

    Raises `ConfigurationError` where a mask of the configuration cannot be used.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._masking = masking_of(configuration)
        self._blobs = Blobs(configuration)
        self._lock = threading.Lock()
        self._masked: Counter[str] = Counter()

    @property
    def masked(self) -> Mapping[str, int]:
        """Texts that were masked so far, by mask; "unreadable" are those that were dropped."""
        with self._lock:
            return {name: count for name, count in sorted(self._masked.items()) if count}

    def spans(self, spans: Sequence[Span]) -> Sequence[Span]:
        """`spans` in their order, without the text that may not be stored."""
        is_full = self.configuration.content == "full"
        left = spans if is_full else [self._span(span) for span in spans]
        blobs: Counter[str] = Counter()
        left = self._blobs.spans(left, blobs)
        counts: Counter[str] = Counter()
        masked = self._masking.spans(left, counts)
        self._count(counts + blobs)
        if is_full and masked is not spans:
            masked = [
                kept if kept is span else with_fingerprints(span, kept, self.configuration)
                for span, kept in zip(spans, masked, strict=True)
            ]
        return counted_spans(spans, masked, self.configuration)

    def weighed(self, spans: Sequence[Span], clean: Sequence[Span]) -> Sequence[Span]:
        """What the digests of spans are made of: `spans` as received, which are the same under
        every setting, but the `clean` ones where no hash of a text may be stored."""
        return clean if self.configuration.content == "off" else spans

    def calls(self, calls: Sequence[Call]) -> Sequence[Call]:
        """`calls` in their order, without the text that may not be stored."""
        blobs: Counter[str] = Counter()
        left = [self._blobs.call(self._call(call), blobs) for call in calls]
        counts: Counter[str] = Counter()
        masked = self._masking.calls(left, counts)
        self._count(counts + blobs)
        return masked

    def _call(self, call: Call) -> Call:
        return self.call(counted_call(call, self.configuration))

    def call(self, call: Call) -> Call:
        """`call` without prompt and completion where they may not be stored; a hash stands for
        them. Nothing is masked: that of a derived call was masked with its spans."""
        if call.prompt is None and call.completion is None:
            return call
        is_full = self.configuration.content == "full"
        return replace(
            call,
            prompt=call.prompt if is_full else None,
            completion=call.completion if is_full else None,
            input_hash=call.input_hash or fingerprint(call.prompt, self.configuration),
            output_hash=call.output_hash or fingerprint(call.completion, self.configuration),
        )

    def rejects(self, rejects: Sequence[Reject]) -> Sequence[Reject]:
        """`rejects` in their order, each with its record as text, as a hash or without it."""
        counts: Counter[str] = Counter()
        masked = self._masking.rejects([self._reject(reject) for reject in rejects], counts)
        self._count(counts)
        return masked

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """`samples` of engines in their order, with marks in names and labels."""
        counts: Counter[str] = Counter()
        masked = self._masking.samples(samples, counts)
        self._count(counts)
        return masked

    def text(self, text: str) -> str:
        """`text`, such as the name of a file, with marks."""
        counts: Counter[str] = Counter()
        masked = self._masking.text(text, counts)
        self._count(counts)
        return masked

    def _count(self, counts: Counter[str]) -> None:
        if counts:
            with self._lock:
                self._masked.update(counts)

    def _reject(self, reject: Reject) -> Reject:
        """`reject` with what `content` leaves of its record and of prose in its reason."""
        if self.configuration.content == "full":
            return reject
        return replace(
            reject,
            reason=_QUOTED.sub(_without_prose, reject.reason),
            record=fingerprint(reject.record, self.configuration),
        )

    def _span(self, span: Span) -> Span:
        events = self._events(span.events)
        attributes = self._attributes(span)
        if attributes is span.attributes and events is span.events:
            return span
        return replace(span, attributes=attributes, events=events)

    def _attributes(self, span: Span) -> Mapping[str, Json]:
        """The span's attributes with fingerprints for texts; the same object where it has none."""
        kept, masked = sorted_out(tuple(span.attributes))
        if len(kept) == len(span.attributes) and not _has_text(span.events):
            return span.attributes
        left = {name: span.attributes[name] for name in kept}
        table = alias_table()
        reading = Reading(span.attributes, table)
        fields = tool_fields() if part_of(span, table).role == "tool" else {}
        fingerprints = {
            name: self._fingerprint(span.attributes[name])
            if name not in fields
            else fingerprint_of_field(fields[name], span.attributes[name], self.configuration)
            for name in masked
        }
        fingerprints[PROMPT_FINGERPRINT] = self._fingerprint(prompt(span, table))
        fingerprints[COMPLETION_FINGERPRINT] = self._fingerprint(completion(span, table))
        left.update((name, value) for name, value in fingerprints.items() if value is not None)
        return left | _told_by_text(span, reading, left)

    def _events(self, events: Sequence[SpanEvent]) -> Sequence[SpanEvent]:
        if not _has_text(events):
            return events
        return [
            replace(
                event,
                attributes={
                    name: value
                    for name, value in event.attributes.items()
                    if not is_event_text(name)
                },
            )
            for event in events
        ]

    def _fingerprint(self, value: Json) -> str | None:
        return fingerprint(value, self.configuration)


def with_fingerprints(given: Span, kept: Span, configuration: Configuration) -> Span:
    """`kept` with the fingerprints of those texts of `given` in which something was masked."""
    before, after = _texts_of(given), _texts_of(kept)
    hashes = {
        name: fingerprint_of_field(FIELD_OF_FINGERPRINT[name], text, configuration)
        for name, text in before.items()
        if text is not None and text != after[name]
    }
    for prefix in MASKED_PREFIXES:
        listed = listed_attributes(given.attributes, prefix)
        if listed != listed_attributes(kept.attributes, prefix):
            hashes[own_fingerprint(prefix)] = fingerprint_of_attributes(listed, configuration)
    return replace(kept, attributes={**kept.attributes, **hashes}) if hashes else kept


def _texts_of(span: Span) -> dict[str, Json]:
    """The texts of `span` that have a hash, by the attribute that keeps it."""
    table = alias_table()
    reading = Reading(span.attributes, table)
    return {
        PROMPT_FINGERPRINT: prompt(span, table),
        COMPLETION_FINGERPRINT: completion(span, table),
        **{own_fingerprint(field): reading.first(field) for field in MASKED_FIELDS},
    }


def _told_by_text(span: Span, reading: Reading, left: Mapping[str, Json]) -> dict[str, Json]:
    """What only the form of a text tells: the operation, and how the completion ended."""
    table = alias_table()
    told: dict[str, Json] = {}
    operation = part_of(span, table).operation
    if operation != part_of(replace(span, attributes=left), table).operation:
        told[OPERATION] = operation
    reason = outcome(span, reading, table).finish_reason
    if reason is not None and Reading(left, table).first("finish_reason") is None:
        told[FINISH_REASONS] = [reason]
    return told


def _has_text(events: Sequence[SpanEvent]) -> bool:
    return any(is_event_text(name) for event in events for name in event.attributes)


def _without_prose(quoted: re.Match[str]) -> str:
    """A quote as it is, unless words follow each other in it."""
    return "'…'" if _PROSE.search(quoted.group()) else quoted.group()
