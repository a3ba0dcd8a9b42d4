"""A request and its answer, out of the wrappings in which logs and batches keep them.

Owns the shapes: an answer alone, a line of a batch, a request beside its response, a response with
status and body. Refuses to take a wrapping for an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.calls.values import parsed_json
from ingest.readers.api_events import answer_of_events, events_of_text
from ingest.readers.clock import instant_of
from ingest.readers.record_fields import record_of, whole_number_or_none
from ingest.readers.rejection import RecordError
from ingest.records import Json

_STARTS = ("started_at", "start_time", "request_time", "timestamp")
_ENDS = ("ended_at", "end_time", "response_time")
_ENDED = {"errored": "error", "expired": "timeout", "canceled": "cancelled"}
_STATUSES = ("status_code", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer, as far as the record has them."""

    answer: Mapping[str, Json]
    request: Mapping[str, Json] = field(default_factory=dict)
    http_status: int | None = None
    status: str | None = None
    arrived_at: int | None = None
    ended_at: int | None = None


def exchange_of(record: dict[str, Json]) -> Exchange:
    """The exchange in a record. Raises `RecordError` where an answer cannot be read."""
    if "final_message" in record:
        return Exchange(answer={"stream": True, **record_of(record["final_message"])})
    if "result" in record and "custom_id" in record:
        return _batch_result(record_of(record["result"]))
    if "response" in record:
        return _pair(record)
    if "body" in record and ("status" in record or "headers" in record):
        return _http(record, {})
    return Exchange(answer=record)


def _pair(record: Mapping[str, Json]) -> Exchange:
    """A request beside its response, or a line of a batch, in which the request is not repeated."""
    request = _body(parsed_json(record.get("request")))
    response = parsed_json(record.get("response"))
    if isinstance(response, str):
        response = {"body": response}
    if response is None:
        response = {"body": {"error": record.get("error") or {"type": "no_response"}}}
    inside = record_of(response)
    found = _http(inside, request) if "body" in inside else Exchange(answer=inside, request=request)
    return Exchange(
        answer=found.answer,
        request=request,
        http_status=found.http_status,
        arrived_at=_instant(record, _STARTS),
        ended_at=_instant(record, _ENDS),
    )


def _http(response: Mapping[str, Json], request: Mapping[str, Json]) -> Exchange:
    body = response.get("body")
    answer = parsed_json(body)
    if isinstance(answer, str):
        answer = answer_of_events(events_of_text(answer))
        if answer is None:
            raise RecordError(f"a body that is no answer: {str(body)[:40]!r}")
    code = next((response[name] for name in _STATUSES if response.get(name) is not None), None)
    return Exchange(answer=record_of(answer), request=request, http_status=_code(code))


def _batch_result(result: Mapping[str, Json]) -> Exchange:
    """The result of one request of an Anthropic batch."""
    kind = str(result.get("type"))
    if isinstance(result.get("message"), dict):
        return Exchange(answer=result["message"])
    if kind not in _ENDED:
        raise RecordError(f"a result of type {kind[:40]!r} without a message")
    error = result.get("error")
    inner = error.get("error") if isinstance(error, dict) else None
    told = inner if isinstance(inner, dict) else error
    return Exchange(answer={"error": told or {"type": kind}}, status=_ENDED[kind])


def _body(request: Json) -> dict[str, Any]:
    """The body of a request, which may stand below its method and address."""
    if not isinstance(request, dict):
        return {}
    body = parsed_json(request.get("body"))
    return body if isinstance(body, dict) else request


def _code(value: Json) -> int | None:
    code = whole_number_or_none(value, "status") if not isinstance(value, dict) else None
    return code if code is not None and 100 <= code < 600 else None


def _instant(record: Mapping[str, Json], names: tuple[str, ...]) -> int | None:
    found = ((name, record[name]) for name in names if record.get(name) is not None)
    name, value = next(found, ("", None))
    return instant_of(value, name)
