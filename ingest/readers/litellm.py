"""Reads spend logs of LiteLLM's proxy, as JSON, JSON lines or CSV, and its logging payload.

Owns the two tellings of one call, which share its request id, and the 0 of a spend that nobody
knows. Refuses to count the usage that an answer out of the gateway's cache repeats.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.fingerprints import json_text
from ingest.calls.tokens import buckets, token_count
from ingest.calls.values import converted, parsed_json
from ingest.files import Source
from ingest.readers.call_notes import (
    failed_as,
    instants,
    reported_cost,
    request_parameters,
    with_notes,
)
from ingest.readers.csv_rows import header_cells, rows_or_records
from ingest.readers.documents import Document
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import instant_of_seconds, instant_of_text
from ingest.readers.litellm_operations import operation_of
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_ROW = frozenset({"request_id", "spend", "startTime"})
_PAYLOAD = frozenset({"id", "call_type", "response_cost", "startTime"})
_WRAPPER = "standard_logging_object"
_PARAMETERS = {name: name for name in ("max_tokens", "temperature", "top_p", "seed", "stream")} | {
    "n_choices": "n"
}
_CACHED_ID = "_cache_hit"
"""Stands in the request id of every answer out of the cache, whatever its `cache_hit` says."""
_NO_TEXT = (None, "", "None", "{}", "[]", "null")


class LiteLlm:
    """Spend logs and logging payloads of LiteLLM."""

    name = "litellm"
    title = "LiteLLM spend logs or standard logging payload, JSON, JSON lines or CSV"
    recognised_by = (
        "JSON objects or a CSV header with request_id, spend and startTime, or JSON objects with "
        "id, call_type, response_cost and startTime"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object, or the header, is of such a log."""
        first = opening(head)
        if not first.keys:
            return set(header_cells(first.first_line)) >= _ROW
        return first.keys >= _ROW or first.keys >= _PAYLOAD or _WRAPPER in first.keys

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls with their begin and end, and the first token of streams."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(LiteLlm.name)
    for document in rows_or_records(source, _ROW.issubset):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            yield call_of_log(_unwrapped(document), occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _unwrapped(document: Document) -> dict[str, Json]:
    record = record_of(document.value)
    record = record_of(record[_WRAPPER]) if _WRAPPER in record else record
    if not record.keys() >= {"startTime"} or not record.keys() & {"request_id", "id"}:
        raise RecordError("no log of LiteLLM: no startTime and request_id or id")
    return record


def call_of_log(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    """The call of one row, or of one payload. Raises `RecordError` that says what is wrong."""
    metadata = _object(record, "metadata")
    request_id = _text(record, "request_id") or _text(record, "id")
    identity = f"{LiteLlm.name}:{request_id}" if request_id else None
    failure = _object(record, "error_information") or _object(metadata, "error_information")
    error_type = text_or_none(failure.get("error_class"))
    http_status = _http_status(failure.get("error_code"))
    is_failed = "failure" in (record.get("status"), metadata.get("status")) or bool(failure)
    operation = operation_of(_text(record, "call_type"))
    call: dict[str, Any] = {
        "operation": operation,
        "status": failed_as(http_status, error_type) if is_failed else "ok",
        "error_type": error_type,
        "http_status": http_status,
        "model": _text(record, "model"),
        "model_requested": _text(record, "model_group"),
        "provider": _text(record, "custom_llm_provider"),
        "conversation_id": _text(record, "session_id"),
        "prompt": _content(record.get("messages")),
        "completion": _content(record.get("response")),
        **request_parameters(_object(record, "model_parameters"), _PARAMETERS),
        **_who(record, metadata),
        **_endpoint(metadata, operation),
        **_times(record),
    }
    if str(record.get("cache_hit")).lower() == "true" or _CACHED_ID in (request_id or ""):
        call |= _from_cache(record)
    else:
        call |= _tokens(record, metadata, is_failed=is_failed)
        call["response_id"] = None if is_failed else request_id
    return Call(
        identity=identity or occurrences.identity(canonical_bytes(record)), **with_notes(call)
    )


def _who(record: Mapping[str, Json], metadata: Mapping[str, Json]) -> dict[str, Any]:
    """Who pays, by the key that was used: names before ids."""
    keyed = {
        name: _text(metadata, f"user_api_key_{name}")
        for name in ("team_alias", "team_id", "user_id", "org_id", "end_user_id")
    }
    end_user = _text(record, "end_user") or keyed["end_user_id"]
    return {
        "team": keyed["team_alias"] or _text(record, "team_id") or keyed["team_id"],
        "tenant": _text(record, "organization_id") or keyed["org_id"],
        "user_id": end_user or _text(record, "user") or keyed["user_id"],
    }


def _endpoint(metadata: Mapping[str, Json], operation: str) -> dict[str, Any]:
    """The service by the name of its key, and with it the endpoint: the proxy knows no route."""
    service = _text(metadata, "user_api_key_alias")
    if service is None:
        return {}
    return {
        "service": service,
        "endpoint": f"{service} {operation}",
        "endpoint_source": "service",
    }


def _times(record: Mapping[str, Json]) -> dict[str, Any]:
    """Begin, first token and end. An answer in one piece has its end for its first token."""
    arrived_at, first_token_at, ended_at = (
        _instant(record, key) for key in ("startTime", "completionStartTime", "endTime")
    )
    is_in_one_piece = first_token_at == ended_at
    return instants(arrived_at, None if is_in_one_piece else first_token_at, ended_at)


def _tokens(
    record: Mapping[str, Json], metadata: Mapping[str, Json], *, is_failed: bool
) -> dict[str, Any]:
    """Buckets and cost; a call that failed has counts and a spend of 0 that say nothing."""
    usage = _object(metadata, "usage_object")
    prompt, answer = _object(usage, "prompt_tokens_details"), _completion_details(usage)
    counts = [record.get(f"{what}_tokens") for what in ("prompt", "completion", "total")]
    if is_failed:
        counts = [count if token_count(count) else None for count in counts]
    made = buckets(
        input_tokens=counts[0],
        output_tokens=counts[1],
        total_tokens=counts[2],
        cache_read_tokens=_either(usage.get("cache_read_input_tokens"), prompt, "cached_tokens"),
        cache_write_tokens=_either(
            usage.get("cache_creation_input_tokens"), prompt, "cache_creation_tokens"
        ),
        reasoning_tokens=answer.get("reasoning_tokens"),
    ).columns()
    spend = record.get("spend") if "spend" in record else record.get("response_cost")
    if not converted(spend, "decimal"):
        note = "a spend of 0 is no price" if made["uncached_input_tokens"] else None
        notes = [made["tokens_note"], note]
        return {**made, "tokens_note": "; ".join(filter(None, notes)) or None}
    return {**made, **reported_cost(spend)}


def _from_cache(record: Mapping[str, Json]) -> dict[str, Any]:
    """The columns of an answer for which no model was asked."""
    repeated = [token_count(record.get(f"{what}_tokens")) for what in ("prompt", "completion")]
    told = " and ".join(
        f"{count} {side} tokens"
        for count, side in zip(repeated, ("input", "output"), strict=True)
        if count is not None
    )
    return {
        **buckets(input_tokens=0, output_tokens=0).columns(),
        **reported_cost(0),
        "is_cache_hit": True,
        **instants(_instant(record, "startTime"), None, None),
        "reported_input_tokens": repeated[0],
        "reported_output_tokens": repeated[1],
        "tokens_source": "estimated",
        "tokens_note": f"answered by the gateway's cache, which repeats {told or 'no usage'}",
    }


def _completion_details(usage: Mapping[str, Json]) -> dict[str, Json]:
    return _object(usage, "completion_tokens_details")


def _either(first: Json, details: Mapping[str, Json], key: str) -> Json:
    return details.get(key) if first is None else first


def _instant(record: Mapping[str, Json], key: str) -> int | None:
    """An instant as text, or in seconds since 1970 as the payload has it."""
    value = record.get(key)
    if value in _NO_TEXT:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return instant_of_seconds(value)
    if not isinstance(value, str):
        raise RecordError(f"{key} {str(value)[:40]!r} is no instant")
    return instant_of_text(value)


def _http_status(value: Json) -> int | None:
    code = token_count(value)
    return code if code is not None and 100 <= code < 600 else None


def _content(value: Json) -> str | None:
    """The text of a request or an answer, which is empty where the proxy does not keep it."""
    if value in (*_NO_TEXT, {}, []):
        return None
    return value if isinstance(value, str) else json_text(value)


def _text(record: Mapping[str, Json], key: str) -> str | None:
    value = record.get(key)
    return None if value in _NO_TEXT else text_or_none(value)


def _object(record: Mapping[str, Json], key: str) -> dict[str, Json]:
    """The object under a key, which may be JSON text; an empty one where there is none."""
    value = parsed_json(record.get(key))
    return value if isinstance(value, dict) else {}
