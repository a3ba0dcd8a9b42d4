"""How one record is refused without its neighbours: the error, and the reject that keeps it.

Owns the form of a reject. Refuses to keep more than 2,000 characters of a record.
"""

import orjson

from ingest.records import Json, Reject

MAX_REJECT_CHARACTERS = 2_000


class RecordError(ValueError):
    """One record that cannot be taken; the message is the reason of its reject."""


def rejected(position: str, reason: object, record: Json = None) -> Reject:
    """The reject of the record at `position`, with the beginning of the record as text."""
    return Reject(position=position, reason=str(reason), record=_as_text(record))


def _as_text(record: Json) -> str | None:
    if record is None:
        return None
    if isinstance(record, bytes):
        return record[:MAX_REJECT_CHARACTERS].decode("utf-8", "replace")
    if isinstance(record, str):
        return record[:MAX_REJECT_CHARACTERS]
    try:
        return orjson.dumps(record)[:MAX_REJECT_CHARACTERS].decode("utf-8", "replace")
    except TypeError:
        return _as_python_text(record)


def _as_python_text(record: Json) -> str | None:
    """The beginning of what JSON cannot write; None where it is nested too deep to be written."""
    try:
        return repr(record)[:MAX_REJECT_CHARACTERS]
    except RecursionError:
        return None
