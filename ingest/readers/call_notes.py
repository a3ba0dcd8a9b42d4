"""What is said of a call beside its columns, and its amounts as the ledger keeps them.

Owns the note of tokens that are missing and of instants that the ledger cannot hold, for readers
of records. Refuses to leave a gap without its reason.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ingest.calls.call import COST_CURRENCY, COST_STEP, MAX_COST
from ingest.calls.missing import missing_note
from ingest.calls.timing import outside_notes, quality
from ingest.readers.native_columns import amount_of, native_value
from ingest.readers.rejection import RecordError
from ingest.records import Json

_TIMEOUT = re.compile(r"time[ds]?[ _-]?out|deadline", re.IGNORECASE)
_TIMEOUT_CODES = frozenset({408, 504})
_CLIENT_CLOSED = 499


def with_notes(call: Mapping[str, Any], *notes: str | None) -> dict[str, Any]:
    """The columns of a call with `tokens_note`: its own, what is missing and why, then `notes`."""
    missing = missing_note(
        call.get("uncached_input_tokens"),
        call.get("visible_output_tokens"),
        status=call.get("status", "ok"),
        http_status=call.get("http_status"),
        is_stream=call.get("stream") is True,
        operation=call.get("operation", "chat"),
    )
    said = [call.get("tokens_note"), missing, *outside_notes(call), *notes]
    return {**call, "tokens_note": "; ".join(note for note in said if note) or None}


def failed_as(http_status: int | None, *texts: str | None) -> str:
    """How a call that failed ended, by the status of HTTP and the words of its error."""
    if http_status in _TIMEOUT_CODES or any(_TIMEOUT.search(text) for text in texts if text):
        return "timeout"
    return "cancelled" if http_status == _CLIENT_CLOSED else "error"


def instants(
    arrived_at: int | None, first_token_at: int | None, ended_at: int | None
) -> dict[str, Any]:
    """The columns of time of a call that its client or its gateway timed."""
    source = "stream" if first_token_at is not None else "span"
    if ended_at is None or arrived_at is None:
        source = "tokens"
    return {
        "arrived_at": arrived_at,
        "first_token_at": first_token_at,
        "ended_at": ended_at,
        "timing_source": source,
        "timing_quality": quality(arrived_at, None, first_token_at, ended_at),
    }


def reported_cost(value: Json) -> dict[str, Any]:
    """The columns of a cost in dollars; none where it is absent. Raises `RecordError`."""
    if value is None:
        return {}
    cost = amount_of("reported_cost", value)
    if not 0 <= cost < MAX_COST:
        return {}
    return {"reported_cost": cost.quantize(COST_STEP), "reported_currency": COST_CURRENCY}


def client_cost(given: Mapping[str, Json], key: str) -> dict[str, Any]:
    """The columns of a cost that a client reckoned itself, in dollars: 0 stands for no price.

    Raises `RecordError` for what is no amount, or is below 0.
    """
    value = given.get(key)
    cost = Decimal(0) if value is None else amount_of("reported_cost", value)
    if cost < 0:
        raise RecordError(f"{key} {value} is below 0")
    return reported_cost(value) if cost else {}


def request_parameters(given: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Any]:
    """The columns of `names` that the request gives, each read as what it is."""
    return {
        column: native_value(column, given[name])
        for column, name in names.items()
        if given.get(name) is not None
    }
