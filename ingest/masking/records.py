"""Masks over spans, calls, samples and rejects, a batch at a time.

Owns which fields of a record are looked at: all of its texts. Refuses to touch the ids of spans
and the times, which say nothing of anybody.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import get_type_hints

from ingest.config import Configuration
from ingest.masking.masks import Masks, masks_of
from ingest.masking.structure import Found, Walk, suspects
from ingest.masking.users import Users, users_of
from ingest.records import Call, Json, Reject, Sample, Span, SpanEvent

CALL_ID = "call_id:"
BY_THEMSELVES = frozenset({"identity", "retry_of", "user_id"})
"""Columns of a call with a rule of their own."""


def _text_columns() -> dict[str, str]:
    """Every column of a call that holds text, and the name that says whether it is an id."""
    kinds = get_type_hints(Call)
    return {
        field.name: "id" if field.name.endswith(("_id", "_hash")) else ""
        for field in fields(Call)
        if kinds[field.name] in {str, str | None} and field.name not in BY_THEMSELVES
    }


CALL_TEXTS = _text_columns()


@dataclass(frozen=True, slots=True)
class Masking:
    """The masks and the rule for users of one configuration, over records."""

    masks: Masks
    users: Users

    def spans(self, spans: Sequence[Span], counts: Counter[str]) -> Sequence[Span]:
        """`spans` in their order, the same objects where nothing was found; `counts` begins empty.

        Spans that share a resource share it afterwards.
        """
        resources = {id(span.resource): span.resource for span in spans}
        looked_at = self._suspects([*map(_parts, spans), *resources.values()])
        marked = {
            key
            for (key, resource), is_suspect in zip(
                resources.items(), looked_at[len(spans) :], strict=True
            )
            if is_suspect or self.users.are_in(resource, self.users.resource)
        }
        chosen = [
            place
            for place, span in enumerate(spans)
            if looked_at[place] or self.users.are_in(span.attributes, self.users.attributes)
        ]
        if not chosen and not marked:
            return spans
        kept, changed = Found(self.masks, counts).applied(
            lambda walk: (
                {key: self._resource(resources[key], walk) for key in marked},
                {place: self._span(spans[place], walk) for place in chosen},
            )
        )
        if not counts and self.users.are_kept:
            return spans
        return [
            _with_resource(changed.get(place, span), kept.get(id(span.resource)))
            for place, span in enumerate(spans)
        ]

    def calls(self, calls: Sequence[Call], counts: Counter[str]) -> Sequence[Call]:
        """`calls` in their order; those in which nothing was found are the same objects."""
        looked_at = self._suspects([_call_texts(call) for call in calls])
        chosen = [
            place
            for place, call in enumerate(calls)
            if looked_at[place] or (call.user_id is not None and not self.users.are_kept)
        ]
        if not chosen:
            return calls
        changed = Found(self.masks, counts).applied(
            lambda walk: {place: self._call(calls[place], walk) for place in chosen}
        )
        return [changed.get(place, call) for place, call in enumerate(calls)]

    def samples(self, samples: Sequence[Sample], counts: Counter[str]) -> Sequence[Sample]:
        """`samples` in their order; those in which nothing was found are the same objects."""
        looked_at = self._suspects([_sample_texts(sample) for sample in samples])
        chosen = [place for place, is_suspect in enumerate(looked_at) if is_suspect]
        if not chosen:
            return samples
        changed = Found(self.masks, counts).applied(
            lambda walk: {place: _sample(samples[place], walk) for place in chosen}
        )
        return [changed.get(place, sample) for place, sample in enumerate(samples)]

    def rejects(self, rejects: Sequence[Reject], counts: Counter[str]) -> Sequence[Reject]:
        """`rejects` in their order, with marks in position, reason and record."""
        if self.masks.are_none or not rejects:
            return rejects
        return Found(self.masks, counts).applied(
            lambda walk: [_reject(reject, walk) for reject in rejects]
        )

    def text(self, text: str, counts: Counter[str]) -> str:
        """`text` with marks."""
        (masked,) = self.masks.texts([text], counts, are_ids=False)
        return masked

    def _suspects(self, records: Sequence[object]) -> list[bool]:
        if self.masks.are_none:
            return [False] * len(records)
        return suspects(self.masks, records)

    def _span(self, span: Span, walk: Walk) -> Span:
        return replace(
            span,
            name=walk.value(span.name, ""),
            status_message=walk.value(span.status_message, ""),
            service=walk.value(span.service, ""),
            scope=walk.value(span.scope, ""),
            attributes=self.users.attributes_of(span.attributes, self.users.attributes, walk),
            events=tuple(_event(event, walk) for event in span.events),
        )

    def _resource(self, resource: Mapping[str, Json], walk: Walk) -> Mapping[str, Json]:
        return self.users.attributes_of(resource, self.users.resource, walk)

    def _call(self, call: Call, walk: Walk) -> Call:
        texts = {name: walk.value(getattr(call, name), known) for name, known in CALL_TEXTS.items()}
        return replace(
            call,
            **texts,
            identity=_identity(call.identity, walk),
            retry_of=None if call.retry_of is None else _identity(call.retry_of, walk),
            user_id=self.users.column(call.user_id, walk),
        )


def masking_of(configuration: Configuration) -> Masking:
    """The masks and the rule for users that `configuration` asks for.

    Raises `ConfigurationError` for a pattern that cannot be used.
    """
    return Masking(masks_of(configuration), users_of(configuration))


def _parts(span: Span) -> tuple[object, ...]:
    """The texts of `span` that are its own, with those of its events."""
    events = [(event.name, event.attributes) for event in span.events]
    return span.name, span.status_message, span.service, span.scope, span.attributes, events


def _call_texts(call: Call) -> list[object]:
    return [getattr(call, name) for name in (*CALL_TEXTS, *sorted(BY_THEMSELVES))]


def _event(event: SpanEvent, walk: Walk) -> SpanEvent:
    return replace(
        event, name=walk.value(event.name, ""), attributes=walk.value(event.attributes, "")
    )


def _sample_texts(sample: Sample) -> tuple[object, ...]:
    return sample.name, sample.model, sample.instance, sample.pool_reported, sample.labels


def _sample(sample: Sample, walk: Walk) -> Sample:
    return replace(
        sample,
        name=walk.value(sample.name, ""),
        model=walk.value(sample.model, ""),
        instance=walk.value(sample.instance, ""),
        pool_reported=walk.value(sample.pool_reported, ""),
        labels=walk.value(sample.labels, ""),
    )


def _reject(reject: Reject, walk: Walk) -> Reject:
    return replace(
        reject,
        position=walk.value(reject.position, ""),
        reason=walk.value(reject.reason, ""),
        record=walk.value(reject.record, ""),
    )


def _identity(identity: str, walk: Walk) -> str:
    """The identity of a call; a `call_id` that a mask would change is hashed like any other."""
    if not identity.startswith(CALL_ID):
        return identity
    own = identity.removeprefix(CALL_ID)
    return identity if walk.text_of(own, True) == own else own


def _with_resource(span: Span, resource: Mapping[str, Json] | None) -> Span:
    return span if resource is None else replace(span, resource=resource)
