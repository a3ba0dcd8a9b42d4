"""Counts that outlive the texts that they were made of.

Owns the moment: from a span as received, into what the privacy setting and the masks left of it. A
log record that has all of a call is counted as the span that takes it over. Refuses to touch a span
that lost nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

from ingest.calls.aliases import alias_table
from ingest.calls.folded import said
from ingest.calls.reading import Reading
from ingest.calls.roles import part_of
from ingest.config import Configuration
from ingest.counting.counted import ATTRIBUTE, to_json
from ingest.counting.texts import counted
from ingest.records import LOG_KIND, Span


def counted_spans(
    spans: Sequence[Span], kept: Sequence[Span], configuration: Configuration
) -> Sequence[Span]:
    """`kept`, which is what may be stored of `spans`, with the counts of what `spans` say."""
    if kept is spans or configuration.content == "off":
        return kept
    return [
        left if left is span else _counted(span, left, configuration)
        for span, left in zip(spans, kept, strict=True)
    ]


def _counted(span: Span, left: Span, configuration: Configuration) -> Span:
    table = alias_table()
    told = span if span.kind != LOG_KIND else replace(span, attributes=said(span))
    part = part_of(told, table)
    found = counted(told, Reading(told.attributes, table), part, configuration, table)
    if found is None:
        return left
    return replace(left, attributes={**left.attributes, ATTRIBUTE: to_json(found)})
