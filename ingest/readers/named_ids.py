"""Trace and span ids from the ids of products that write none of OpenTelemetry's.

Owns the rule that a name is always the same id, whichever file brings it. Refuses to drop a span
for the form of its id.
"""

import hashlib
import re

from ingest.readers.ids import SPAN_ID_BYTES, TRACE_ID_BYTES
from ingest.records import Json

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]+")


def named_trace_id(value: Json) -> str | None:
    """32 hex digits: those of the id or of a UUID, else a digest of it; None where it is absent."""
    text = "" if value is None else str(value)
    digits = text.replace("-", "") if _UUID.fullmatch(text) else text
    return _id(digits, TRACE_ID_BYTES)


def named_span_id(value: Json) -> str | None:
    """16 hex digits: those of the id, else a digest of it; None where it is absent."""
    return _id("" if value is None else str(value), SPAN_ID_BYTES)


def _id(text: str, size: int) -> str | None:
    if not text:
        return None
    if len(text) == 2 * size and _HEX.fullmatch(text) and text.strip("0"):
        return text.lower()
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()
