"""How a call ended: ok, error, timeout or cancelled, with the evidence.

Owns the reading of status, error type, HTTP status and finish reason. Refuses to call an outcome
an error for a word in a successful span.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from ingest.calls.aliases import AliasTable
from ingest.calls.reading import Reading
from ingest.calls.values import as_text, parsed_json
from ingest.records import Json, Span

T = TypeVar("T")

Status = Literal["ok", "error", "timeout", "cancelled"]

RATE_LIMITED = 429
"""Refused before service: such a call used no GPU and no token."""

_TIMEOUT = re.compile(r"time[ds]?[ _-]?out|deadline", re.IGNORECASE)
_CANCELLED = re.compile(r"cancel|abort|client[ _-]?(closed|disconnect)", re.IGNORECASE)
_HTTP_IN_TEXT = re.compile(
    r"\b(?:error code|status(?: code)?|http)[:= ]+([1-5]\d\d)\b", re.IGNORECASE
)
_TIMEOUT_CODES = frozenset({408, 504})
_CLIENT_CLOSED = 499
_FIRST_ERROR = 400
_HTTP_STATUSES = range(100, 600)
_FAILED_REASONS: Mapping[str, Status] = {
    "abort": "cancelled",
    "aborted": "cancelled",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "timeout": "timeout",
    "error": "error",
}


class Outcome(NamedTuple):
    """How one view says that the call ended."""

    status: Status
    error_type: str | None = None
    http_status: int | None = None
    finish_reason: str | None = None


def outcome(
    span: Span, reading: Reading, table: AliasTable, *, child_http_status: int | None = None
) -> Outcome:
    """How `span` ended; `child_http_status` is that of the HTTP request that it made."""
    exceptions = table.file.events.exception
    errors = [event.attributes for event in span.events if event.name in exceptions]
    error_type: str | None = reading.first("error_type")
    is_failed = span.status == "error" or error_type is not None
    if is_failed and error_type is None:
        error_type = _first(Reading(error, table).first("error_type") for error in errors)
    texts = [text for text in (error_type, span.status_message, *_messages(errors)) if text]
    given = reading.first("http_status")
    http_status = given if given is not None and given in _HTTP_STATUSES else None
    if http_status is None and is_failed:
        http_status = _http_status(texts)
    if http_status is None and (is_failed or (child_http_status or 0) < _FIRST_ERROR):
        http_status = child_http_status
    finish_reason = _finish_reason(reading.first("finish_reason"))
    if finish_reason is None and span.events:
        chosen = [event.attributes.get("finish_reason") for event in span.events]
        finish_reason = _finish_reason(chosen)
    status = _status(is_failed, http_status, finish_reason, texts)
    return Outcome(
        status=status,
        error_type=None if status == "ok" else error_type,
        http_status=http_status,
        finish_reason=finish_reason,
    )


def joined(views: Sequence[Outcome]) -> Outcome:
    """One outcome of a call from its views, innermost first: the outermost failure counts."""
    failed = [view for view in reversed(views) if view.status != "ok"]
    return Outcome(
        status=failed[0].status if failed else "ok",
        error_type=_first(view.error_type for view in failed),
        http_status=_first(view.http_status for view in failed or views),
        finish_reason=_first(view.finish_reason for view in views),
    )


def _status(
    is_failed: bool, http_status: int | None, finish_reason: str | None, texts: Sequence[str]
) -> Status:
    by_reason = _FAILED_REASONS.get(finish_reason or "")
    if not (is_failed or (http_status or 0) >= _FIRST_ERROR or by_reason):
        return "ok"
    if http_status in _TIMEOUT_CODES or any(_TIMEOUT.search(text) for text in texts):
        return "timeout"
    if http_status == _CLIENT_CLOSED or any(_CANCELLED.search(text) for text in texts):
        return "cancelled"
    return by_reason or "error"


def _messages(errors: Sequence[Mapping[str, Json]]) -> list[str]:
    return [message for error in errors if (message := as_text(error.get("exception.message")))]


def _http_status(texts: Sequence[str]) -> int | None:
    """The HTTP status that an error's type or message names."""
    for text in texts:
        if re.fullmatch(r"[1-5]\d\d", text):
            return int(text)
        found = _HTTP_IN_TEXT.search(text)
        if found is not None:
            return int(found.group(1))
    return None


def _finish_reason(raw: Json) -> str | None:
    """The reasons of all choices, each once, in order; `raw` is a reason, or a list of either."""
    if raw is None:
        return None
    given = parsed_json(raw)
    reasons = given if isinstance(given, list | tuple) else [given]
    texts = [
        as_text(reason.get("finish_reason") if isinstance(reason, dict) else reason)
        for reason in reasons
    ]
    return ",".join(dict.fromkeys(text for text in texts if text)) or None


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
