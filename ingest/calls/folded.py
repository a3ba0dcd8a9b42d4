"""Log records of a trace told to the spans that they name.

Owns which of what a log record says its span takes over. Refuses to overrule a span: it takes over
what it lacks. A record whose span is not there (yet) is left out, and told once the span comes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ingest.records import LOG_KIND, Json, Span

WHOLE = "gen_ai.client.inference.operation.details"
"""The event that has all of a call: only its fingerprints are those of the whole prompt."""
CONVENTIONS = "gen_ai."


def folded(spans: Sequence[Span]) -> Sequence[Span]:
    """`spans` without log records, each of those told to the span that it names."""
    logs: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        if span.kind == LOG_KIND and span.parent_span_id is not None:
            logs[span.parent_span_id].append(span)
    if not logs:
        return spans
    return [
        _told(span, logs[span.span_id]) if span.span_id in logs else span
        for span in spans
        if span.kind != LOG_KIND
    ]


def _told(span: Span, logs: Sequence[Span]) -> Span:
    """`span` with what `logs` say, in an order of their own, whatever that of their arrival."""
    in_order = sorted(logs, key=lambda log: (log.started_at or 0, log.span_id))
    attributes: dict[str, Json] = {}
    for log in reversed(in_order):
        attributes.update(said(log))
    events = [event for log in in_order for event in log.events]
    return replace(
        span, attributes={**attributes, **span.attributes}, events=[*span.events, *events]
    )


def said(log: Span) -> Mapping[str, Json]:
    """Attributes that the span may lack: what the conventions name, and what redaction left."""
    if log.name != WHOLE:
        return {}
    named = (item for event in log.events for item in event.attributes.items())
    told = {name: value for name, value in named if name.startswith(CONVENTIONS)}
    return {**told, **log.attributes}
