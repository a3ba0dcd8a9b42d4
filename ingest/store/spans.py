"""Spans into the ledger, and the spans of a trace out of it again.

Owns what "fuller" means for a span and the digest of its content. Refuses to look into a span:
what it says of a model call is the business of `ingest.calls`.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Any

import orjson
import pyarrow as pa

from ingest.config import Configuration
from ingest.ledger import Connection
from ingest.records import Json, Reject, Span, SpanEvent
from ingest.store.arrow import Row, append, fitting_table
from ingest.store.deliveries import MergeCounts
from ingest.store.statements import statement

CHUNK_SPANS = 20_000
"""Spans that are held in memory while calls are derived; a larger trace is held whole."""

MAX_USAGE = 16**12 - 1
MAX_KEY_BYTES = 64
"""More of a key the digest of a span's content does not take."""

SPAN_COLUMNS: dict[str, pa.DataType] = {
    "trace_id": pa.string(),
    "span_id": pa.string(),
    "parent_span_id": pa.string(),
    "name": pa.string(),
    "kind": pa.string(),
    "started_at": pa.int64(),
    "ended_at": pa.int64(),
    "status": pa.string(),
    "status_message": pa.string(),
    "service": pa.string(),
    "scope": pa.string(),
    "attributes": pa.string(),
    "resource": pa.string(),
    "events": pa.string(),
    "fullness": pa.int32(),
    "digest": pa.string(),
}
SPAN_SCHEMA = pa.schema(SPAN_COLUMNS)


def digest_key(configuration: Configuration) -> bytes:
    """The key of the digests of spans: that of the configured hashes."""
    return (configuration.hash_key or "").encode()[:MAX_KEY_BYTES]


def stage_span_table(connection: Connection, table: pa.Table, *, delivery_id: int) -> None:
    """Put the rows of `table`, as `span_table` makes it, beside the ledger."""
    append(connection, statement("spans_append"), table, {"delivery_id": delivery_id})


def span_table(
    spans: Sequence[Span], stored: Sequence[Span], *, key: bytes
) -> tuple[pa.Table, list[Reject]]:
    """`stored` as rows of `SPAN_SCHEMA`, weighed by `spans` as received; and what fits no row.

    The two sequences are parallel; `stored` is what the privacy setting leaves of each span.
    Fullness and digest are of the span as received, so that the setting decides no contest.
    """
    resources: dict[int, bytes] = {}
    rows: list[Row] = []
    rejects: list[Reject] = []
    kept: list[Span] = []
    for span, clean in zip(spans, stored, strict=True):
        try:
            rows.append(_row(span, clean, resources, key))
            kept.append(span)
        except orjson.JSONEncodeError as error:
            rejects.append(_reject(span, f"it holds a value that is no JSON: {error}"))
    table, unfit = fitting_table(rows, SPAN_SCHEMA)
    return table, rejects + [_reject(kept[row.index], row.reason) for row in unfit]


def _row(span: Span, clean: Span, resources: dict[int, bytes], key: bytes) -> Row:
    resource = _resource(span, resources)
    attributes = _json(span.attributes)
    events = _events_json(span.events)
    head = orjson.dumps(
        (
            span.parent_span_id,
            span.name,
            span.kind,
            span.started_at,
            span.ended_at,
            span.status,
            span.status_message,
            span.service,
            span.scope,
        )
    )
    content = blake2b(head + attributes + resource + events, digest_size=8, key=key)
    return (
        span.trace_id,
        span.span_id,
        span.parent_span_id,
        clean.name,
        span.kind,
        span.started_at,
        span.ended_at,
        span.status,
        clean.status_message,
        clean.service,
        clean.scope,
        attributes if clean is span else _json(clean.attributes),
        resource if clean.resource is span.resource else _resource(clean, resources),
        events if clean is span else _events_json(clean.events),
        _fullness(span),
        f"{_usage_tokens(span.attributes):012x}{content.hexdigest()}",
    )


def _resource(span: Span, resources: dict[int, bytes]) -> bytes:
    """The resource of `span` as JSON, written once for all the spans that share it."""
    written = resources.get(id(span.resource))
    if written is None:
        written = resources[id(span.resource)] = _json(span.resource)
    return written


def _json(value: Mapping[str, Json]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _events_json(events: Sequence[SpanEvent]) -> bytes:
    if not events:
        return b"[]"
    listed = [{"name": e.name, "at": e.at, "attributes": e.attributes} for e in events]
    return orjson.dumps(listed, option=orjson.OPT_SORT_KEYS)


def _fullness(span: Span) -> int:
    """How many things the span says: its filled fields, its attributes, its events' parts."""
    fields = (
        span.parent_span_id,
        span.started_at,
        span.ended_at,
        span.status_message,
        span.service,
        span.scope,
    )
    return (
        sum(field is not None for field in fields)
        + (span.kind != "unspecified")
        + (span.status != "unset")
        + len(span.attributes)
        + len(span.resource)
        + sum(1 + len(event.attributes) for event in span.events)
    )


def _usage_tokens(attributes: Mapping[str, Json]) -> int:
    """The token counts of a span added up blindly: a tie-breaker between versions, no usage."""
    total = sum(
        value
        for name, value in attributes.items()
        if "token" in name and isinstance(value, int) and value > 0
    )
    return min(total, MAX_USAGE)


def _reject(span: Span, reason: str) -> Reject:
    return Reject(position=f"span {span.trace_id}/{span.span_id}", reason=reason)


def merge_spans(connection: Connection) -> MergeCounts:
    """Bring the staged spans into the ledger; how many were read, new, and of other content."""
    connection.execute(statement("spans_merge"))
    ((read, new, conflict),) = connection.execute(statement("spans_counts")).fetchall()
    return MergeCounts(int(read), int(new), int(conflict))


def spans_of_touched_traces(connection: Connection) -> Iterator[list[list[Span]]]:
    """Chunks of traces, each trace as all its spans, about `CHUNK_SPANS` spans at a time."""
    connection.execute(statement("traces_chunk"), {"chunk_spans": CHUNK_SPANS})
    chunks = connection.execute("select distinct chunk_no from touched_spans order by 1").fetchall()
    for (chunk_no,) in chunks:
        table = connection.sql(
            statement("traces_read"), params={"chunk_no": chunk_no}
        ).to_arrow_table()
        spans = spans_in(table)
        yield [list(trace) for _, trace in groupby(spans, key=lambda span: span.trace_id)]


def spans_in(table: pa.Table) -> Iterator[Span]:
    """The spans of a table with the columns of `traces_read`, in their order."""
    resources: dict[str, Mapping[str, Json]] = {}
    columns: list[list[Any]] = [column.to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        resource = row[12]
        if resource not in resources:
            resources[resource] = orjson.loads(resource)
        yield Span(
            trace_id=row[0],
            span_id=row[1],
            parent_span_id=row[2],
            name=row[3],
            kind=row[4],
            started_at=row[5],
            ended_at=row[6],
            status=row[7],
            status_message=row[8],
            service=row[9],
            scope=row[10],
            attributes=orjson.loads(row[11]),
            resource=resources[resource],
            events=_events(row[13]),
        )


def _events(text: str) -> tuple[SpanEvent, ...]:
    if text == "[]":
        return ()
    return tuple(SpanEvent(**event) for event in orjson.loads(text))
