"""Token counts of Anthropic's API as its clients write them.

Owns that `input_tokens` leaves out what the cache read and wrote: the source defines it so, and a
small cache count would not show it. Refuses to count the lifetimes of a cache write twice.
"""

from collections.abc import Mapping
from typing import Any

from ingest.calls.tokens import buckets, token_count
from ingest.readers.rejection import RecordError
from ingest.records import Json

SYNTHETIC = "<synthetic>"
"""The model of a message that the client wrote itself, without asking one."""


def claude_columns(usage: Json) -> dict[str, Any]:
    """The token columns of a call, in tokens, from the `usage` of an answer; None is unknown."""
    if usage is None:
        return buckets().columns()
    if not isinstance(usage, dict):
        raise RecordError(f"usage {str(usage)[:40]!r} is no object")
    return exclusive_columns(
        uncached=usage.get("input_tokens"),
        cache_read=usage.get("cache_read_input_tokens"),
        cache_write=_written(usage),
        output=usage.get("output_tokens"),
    )


def exclusive_columns(
    *, uncached: Json, cache_read: Json, cache_write: Json, output: Json
) -> dict[str, Any]:
    """The token columns of a call whose input leaves cached tokens out."""
    cached = (token_count(cache_read) or 0) + (token_count(cache_write) or 0)
    counted = token_count(uncached)
    made = buckets(
        input_tokens=uncached if counted is None else counted + cached,
        output_tokens=output,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
    )
    return {**made.columns(), "reported_input_tokens": counted}


def _written(usage: Mapping[str, Json]) -> Json:
    """Tokens written to the cache, also where only their lifetimes are told apart."""
    total = usage.get("cache_creation_input_tokens")
    parts = usage.get("cache_creation")
    if total is not None or not isinstance(parts, dict):
        return total
    counts = [count for part in parts.values() if (count := token_count(part)) is not None]
    return sum(counts) if counts else None
