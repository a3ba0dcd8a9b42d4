"""Reads exports of Langfuse: a trace with its observations, or observations alone, as JSON, JSON
lines or CSV, of the application and of its storage.

Owns the ids that every export shares, so that an observation in two of them is one span. Refuses
to read the observations that the trace of an export repeats.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.values import parsed_json
from ingest.files import Source
from ingest.readers.csv_rows import header_cells, rows_or_records
from ingest.readers.documents import Document
from ingest.readers.instants import instant_of_text
from ingest.readers.json_text import bounded
from ingest.readers.langfuse_usage import cost_details, usage_details
from ingest.readers.named_ids import named_span_id, named_trace_id
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Json, Reject, Span

_EXPORT = frozenset({"trace", "observations"})
_TRACE = frozenset({"id", "observations"})
_PAGE = frozenset({"data", "meta"})
_OBSERVATION = frozenset({"id", "type", "traceId", "startTime"})
_ROW = frozenset({"id", "type", "trace_id", "start_time"})
_TELLING = frozenset(
    {
        "parentObservationId",
        "parent_observation_id",
        "usageDetails",
        "usage_details",
        "costDetails",
        "cost_details",
        "promptTokens",
    }
)
_KEPT = (
    "gen_ai.system",
    "gen_ai.provider.name",
    "gen_ai.tool.name",
    "gen_ai.response.finish_reasons",
    "gen_ai.conversation.id",
    "llm.provider",
    "llm.system",
    "tool.name",
    "ai.model.provider",
    "ai.response.finishReason",
    "ai.toolCall.name",
    "error.type",
    "http.route",
    "http.response.status_code",
)
"""Attributes of the original span that say what Langfuse has no field for."""
_PARAMETERS = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topP"),
    "max_tokens": ("max_tokens", "maxTokens", "max_completion_tokens", "max_output_tokens"),
    "seed": ("seed",),
}
_OTHER_METADATA = frozenset({"attributes", "resourceAttributes", "scope"})


class Langfuse:
    """Exports of Langfuse."""

    name = "langfuse"
    title = "Langfuse export of traces or observations, JSON, JSON lines or CSV"
    recognised_by = (
        "a JSON object with trace and observations, or observations with traceId, type and "
        "usageDetails, costDetails or parentObservationId; or a CSV header with such columns"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object, or the header, is of such an export."""
        first = opening(head)
        if not first.keys:
            return _is_observation(frozenset(header_cells(first.first_line)))
        is_wrapped = first.keys >= _TRACE or first.keys >= _PAGE
        if is_wrapped and not first.is_array:
            return b'"parentObservationId"' in head and b'"traceId"' in head
        return first.keys >= _EXPORT or _is_observation(first.keys)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans."""
        return batches(_spans(source))


def _is_observation(keys: frozenset[str]) -> bool:
    return bool(keys & _TELLING) and (keys >= _OBSERVATION or keys >= _ROW)


def _spans(source: Source) -> Iterator[Span | Reject]:
    for document in rows_or_records(source, _is_observation):
        if isinstance(document, Reject):
            yield document
            continue
        for item, trace in _observations(document):
            try:
                yield _span_of(record_of(item.value), trace)
            except ValueError as error:
                yield rejected(item.where, error, item.value)


def _observations(document: Document) -> Iterator[tuple[Document, Mapping[str, Json]]]:
    """Each observation of a document with its position and its trace, as far as that is told."""
    value = document.value
    listed = isinstance(value, dict) and _observation_list(value)
    if not listed:
        yield document, {}
        return
    trace = value.get("trace") if "trace" in value else value
    for index, item in enumerate(value[listed] or []):
        place = Document(document.at(f"{listed}[{index}]"), item)
        yield place, trace if isinstance(trace, dict) else {}


def _observation_list(value: Mapping[str, Json]) -> str | None:
    """The key under which a document lists its observations; None where it is one itself."""
    keys = ("observations", "data")
    return next((key for key in keys if isinstance(value.get(key), list)), None)


def _span_of(record: Mapping[str, Json], trace: Mapping[str, Json]) -> Span:
    trace_id = named_trace_id(_any(record, "traceId", "trace_id"))
    span_id = named_span_id(record.get("id"))
    if trace_id is None or span_id is None:
        raise RecordError("no observation: no id and trace id")
    metadata = _metadata(record)
    resource = _inside(metadata, "resourceAttributes")
    is_error = str(record.get("level")).upper() == "ERROR"
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=named_span_id(_any(record, "parentObservationId", "parent_observation_id")),
        name=text_or_none(record.get("name")) or "",
        kind="client" if _type(record) == "generation" else "internal",
        started_at=_instant(record, "startTime", "start_time"),
        ended_at=_instant(record, "endTime", "end_time"),
        status="error" if is_error else "unset",
        status_message=text_or_none(_any(record, "statusMessage", "status_message")),
        service=text_or_none(resource.get("service.name")),
        scope=text_or_none(_inside(metadata, "scope").get("name")),
        attributes=_attributes(record, trace, metadata),
        resource=resource,
    )


def _attributes(
    record: Mapping[str, Json], trace: Mapping[str, Json], metadata: Mapping[str, Json]
) -> dict[str, Json]:
    """What an observation says, under the names that the ledger reads; without absent ones."""
    original = _inside(metadata, "attributes")
    own = {key: value for key, value in metadata.items() if key not in _OTHER_METADATA}
    model = text_or_none(_any(record, "model", "providedModelName", "provided_model_name"))
    first_token = _any(record, "completionStartTime", "completion_start_time")
    told = {
        "langfuse.observation.type": _type(record),
        "langfuse.observation.model.name": model,
        "langfuse.observation.usage_details": usage_details(record),
        "langfuse.observation.cost_details": cost_details(record),
        "langfuse.observation.completion_start_time": text_or_none(first_token),
        "langfuse.observation.prompt.name": _any(record, "promptName", "prompt_name"),
        "langfuse.observation.input": record.get("input"),
        "langfuse.observation.output": record.get("output"),
        "langfuse.user.id": _of_either(record, trace, "userId", "user_id"),
        "langfuse.session.id": _of_either(record, trace, "sessionId", "session_id"),
        "langfuse.environment": _of_either(record, trace, "environment"),
        "langfuse.trace.name": trace.get("name") or _any(record, "traceName", "trace_name"),
        "metadata": own or None,
        **{name: original.get(name) for name in _KEPT},
        **_parameters(record),
    }
    return {name: bounded(value) for name, value in told.items() if value not in (None, "")}


def _parameters(record: Mapping[str, Json]) -> dict[str, Json]:
    """What was asked for; Langfuse keeps what a client left open as "", -1 or null."""
    given = parsed_json(_any(record, "modelParameters", "model_parameters"))
    if not isinstance(given, dict):
        return {}
    asked = {name: _any(given, *names) for name, names in _PARAMETERS.items()}
    if str(asked["max_tokens"]).startswith("-"):
        asked["max_tokens"] = None
    stream = _any(given, "is_stream", "stream")
    return {f"gen_ai.request.{name}": value for name, value in {**asked, "stream": stream}.items()}


def _type(record: Mapping[str, Json]) -> str:
    return str(record.get("type") or "").lower()


def _metadata(record: Mapping[str, Json]) -> dict[str, Json]:
    given = parsed_json(record.get("metadata"))
    return given if isinstance(given, dict) else {}


def _inside(metadata: Mapping[str, Json], key: str) -> dict[str, Any]:
    given = parsed_json(metadata.get(key))
    return (
        {name: bounded(value) for name, value in given.items()} if isinstance(given, dict) else {}
    )


def _of_either(first: Mapping[str, Json], second: Mapping[str, Json], *names: str) -> Json:
    value = _any(first, *names)
    return _any(second, *names) if value in (None, "") else value


def _any(record: Mapping[str, Json], *names: str) -> Json:
    """The value of the first of the names that has one."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def _instant(record: Mapping[str, Json], *names: str) -> int | None:
    value = _any(record, *names)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RecordError(f"{names[0]} {str(value)[:40]!r} is no instant as text")
    return instant_of_text(value)
