"""Fields of spans that every tracing format has: kinds, status codes, instants, ids.

Owns their names in the ledger. Refuses to drop an instant that cannot be true: it is kept, and
the call that has it is marked.
"""

from collections.abc import Iterable
from dataclasses import fields, replace

from ingest.readers.ids import derived_ids
from ingest.readers.instants import MAX_INT64, held
from ingest.readers.json_text import named
from ingest.records import REPEATED_KEYS, Json, Span

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
"""By the number that OTLP gives them."""
STATUSES = ("unset", "ok", "error")

_UINT64 = 2**64


def signed_instant(nanoseconds: int) -> int | None:
    """An unsigned OTLP instant as a signed one; None for 0, which means "not set".

    A clock that was never set (year 1 in Go) arrives as a large unsigned number, or below 0.
    """
    if nanoseconds == 0:
        return None
    is_wrapped = MAX_INT64 < nanoseconds < _UINT64
    return held(nanoseconds - _UINT64 if is_wrapped else nanoseconds)


def integer_of_text(text: str) -> int | str:
    """The integer of 64 bits that `text` writes; `text` itself where it writes none."""
    if not _is_plain(text):
        return text
    try:
        number = int(text)
    except ValueError:
        return text
    return number if -MAX_INT64 - 1 <= number <= MAX_INT64 else text


def double_of_text(text: str) -> float | str:
    """The number that `text` writes, NaN and infinities as text, `text` itself for no number."""
    if not _is_plain(text):
        return text
    try:
        return named(float(text))
    except ValueError:
        return text


def _is_plain(text: str) -> bool:
    """Whether the digits of a number are those of every format: ASCII, not grouped by `_`."""
    return text.isascii() and "_" not in text


def text_or_none(value: Json) -> str | None:
    """The text of a value that should be text; None where it is absent or empty."""
    return None if value is None or value == "" else str(value)


def of_repeated(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """Attributes of which some keys are repeated: the last value that is no null counts.

    `REPEATED_KEYS` lists, in order, the keys whose values disagree.
    """
    attributes: dict[str, Json] = {}
    disagreeing: set[str] = set()
    for key, value in pairs:
        before = attributes.get(key)
        if before is not None and value is not None and before != value:
            disagreeing.add(key)
        attributes[key] = before if value is None else value
    return {**attributes, REPEATED_KEYS: sorted(disagreeing)} if disagreeing else attributes


def with_ids(span: Span) -> Span:
    """The span with the ids it lacks, derived from what it says: the same span, the same ids."""
    content = {field.name: getattr(span, field.name) for field in fields(span)}
    trace_id, span_id = derived_ids(content)
    return replace(span, trace_id=span.trace_id or trace_id, span_id=span.span_id or span_id)
