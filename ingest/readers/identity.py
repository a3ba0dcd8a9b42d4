"""Identity of records that carry no id: what they say, and which of the identical ones they are.

Two identical rows of a file are two calls; the same file delivered twice is the same calls.
Refuses to make a timestamp a key by itself.
"""

import hashlib
from collections import Counter

import orjson

from ingest.readers.rejection import RecordError
from ingest.records import Json


def canonical_bytes(record: Json) -> bytes:
    """What a record says, whatever the order of its keys and the blanks between them."""
    try:
        return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise RecordError(f"cannot be written as JSON again: {error}") from error


class Occurrences:
    """Counts identical records of one file of one format."""

    def __init__(self, format_name: str) -> None:
        self._format_name = format_name
        self._seen: Counter[bytes] = Counter()

    def identity(self, canonical: bytes) -> str:
        """The identity of the next record that says `canonical`."""
        digest = hashlib.blake2b(canonical, digest_size=16).digest()
        self._seen[digest] += 1
        return f"{self._format_name}:{digest.hex()}:{self._seen[digest]}"
