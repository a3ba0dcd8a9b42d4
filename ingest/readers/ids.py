"""Trace and span ids as lower-case hex, from the forms that exporters write.

Owns hex, base64 and the ids of spans that have none. Refuses an id of another length: that span
is rejected, its neighbours are not.
"""

import base64
import binascii
import hashlib
import re

from ingest.readers.identity import canonical_bytes
from ingest.readers.rejection import RecordError
from ingest.records import Json

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8

_HEX = re.compile(r"[0-9a-fA-F]+")


def trace_id_of(value: Json) -> str | None:
    """32 hex digits; None where the id is absent or zero. A 64-bit id gets leading zeros."""
    if isinstance(value, str) and len(value) == 2 * SPAN_ID_BYTES:
        return short_hex_id(value, TRACE_ID_BYTES)
    return _id_of(value, TRACE_ID_BYTES)


def span_id_of(value: Json) -> str | None:
    """16 hex digits; None where the id is absent or zero."""
    return _id_of(value, SPAN_ID_BYTES)


def id_of_bytes(value: bytes, size: int) -> str | None:
    """Hex digits of a binary id; None where it is absent or zero.

    A trace id of 64 bits gets leading zeros, as in hex.
    """
    if len(value) == size:
        return value.hex() if any(value) else None
    if not value:
        return None
    if (size, len(value)) == (TRACE_ID_BYTES, SPAN_ID_BYTES):
        return id_of_bytes(bytes(SPAN_ID_BYTES) + value, size)
    raise RecordError(f"an id of {len(value)} bytes, not {size}")


def short_hex_id(value: Json, size: int) -> str | None:
    """Hex digits of an id that may lack its leading zeros; None where it is absent or zero."""
    if isinstance(value, str) and len(value) < 2 * size and _HEX.fullmatch(value):
        value = value.zfill(2 * size)
    return _id_of(value, size)


def derived_ids(canonical: Json) -> tuple[str, str]:
    """Trace id and span id for a span that has none: the same span always gets the same."""
    digest = hashlib.sha256(canonical_bytes(canonical)).hexdigest()
    return digest[: 2 * TRACE_ID_BYTES], digest[2 * TRACE_ID_BYTES :][: 2 * SPAN_ID_BYTES]


def _id_of(value: Json, size: int) -> str | None:
    if value is None or value == "":
        return None
    digits = _hex_digits(value, size) if isinstance(value, str) else None
    if digits is None:
        raise RecordError(
            f"id {str(value)[:60]!r} is neither {2 * size} hex digits nor base64 of {size} bytes"
        )
    return digits if digits.strip("0") else None


def _hex_digits(value: str, size: int) -> str | None:
    if len(value) == 2 * size and _HEX.fullmatch(value):
        return value.lower()
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded.hex() if len(decoded) == size else None
