"""Tool and retrieval spans: the time of an operation that no model worked.

Owns the records for `tool_runs` and `retrievals`. Refuses to keep arguments and results: only
their fingerprints are stored.
"""

from dataclasses import dataclass

from ingest.calls.aliases import AliasTable, FieldName
from ingest.calls.canonical import fingerprint_of_field
from ingest.calls.content import listed_attributes
from ingest.calls.fingerprints import fingerprint, fingerprint_of_attributes, own_fingerprint
from ingest.calls.outcome import outcome
from ingest.calls.reading import Reading
from ingest.config import Configuration
from ingest.records import Span

DOCUMENTS_PREFIX = "retrieval.documents."
"""How OpenInference lists what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One tool span; the fields are the columns of `tool_runs`."""

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    tool: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    status: str
    arguments_hash: str | None = None
    result_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One retrieval span; the fields are the columns of `retrievals`."""

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    source: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    status: str
    query_hash: str | None = None
    result_hash: str | None = None


def tool_run(span: Span, configuration: Configuration, table: AliasTable) -> ToolRun:
    """The tool run that `span` describes."""
    reading = Reading(span.attributes, table)
    return ToolRun(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        tool=reading.first("tool_name") or span.name,
        started_at=span.started_at,
        ended_at=span.ended_at,
        status=outcome(span, reading, table).status,
        arguments_hash=_hash(span, reading, "tool_arguments", configuration),
        result_hash=_hash(span, reading, "tool_result", configuration),
    )


def retrieval(span: Span, configuration: Configuration, table: AliasTable) -> Retrieval:
    """The retrieval that `span` describes."""
    reading = Reading(span.attributes, table)
    documents = listed_attributes(span.attributes, DOCUMENTS_PREFIX)
    return Retrieval(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        source=reading.first("retrieval_source") or span.name,
        started_at=span.started_at,
        ended_at=span.ended_at,
        status=outcome(span, reading, table).status,
        query_hash=_hash(span, reading, "retrieval_query", configuration),
        result_hash=fingerprint(
            span.attributes.get(own_fingerprint(DOCUMENTS_PREFIX)), configuration
        )
        or fingerprint_of_attributes(documents, configuration)
        or _hash(span, reading, "retrieval_result", configuration),
    )


def _hash(
    span: Span, reading: Reading, field: FieldName, configuration: Configuration
) -> str | None:
    """The fingerprint of what `span` says of `field`: that from before masking, if there is one."""
    told = span.attributes.get(own_fingerprint(field))
    return fingerprint_of_field(
        field, reading.first(field) if told is None else told, configuration
    )
