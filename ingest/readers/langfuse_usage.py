"""Token counts and costs of a Langfuse observation under the names that the ledger reads.

Owns the many names of cached and reasoning counts, and kinds of tokens, such as audio, that the
total shows to lie outside of input and output. Refuses the 0 that Langfuse shows where it knows
neither usage nor cost.
"""

from collections.abc import Mapping
from typing import Any

from ingest.calls.tokens import token_count
from ingest.calls.values import converted, parsed_json
from ingest.readers.record_fields import record_of
from ingest.records import Json

_NAMES = {
    "input": ("input", "input_tokens", "prompt_tokens", "promptTokens"),
    "output": ("output", "output_tokens", "completion_tokens", "completionTokens"),
    "total": ("total", "total_tokens", "totalTokens"),
    "input_cached_tokens": (
        "input_cached_tokens",
        "input_cache_read",
        "input_cached",
        "cache_read_input_tokens",
        "prompt_details.cache_read",
        "prompt_tokens_details.cached_tokens",
    ),
    "cache_creation_input_tokens": (
        "cache_creation_input_tokens",
        "input_cache_creation",
        "prompt_details.cache_write",
    ),
    "output_reasoning_tokens": (
        "output_reasoning_tokens",
        "output_reasoning",
        "completion_details.reasoning",
        "completion_tokens_details.reasoning_tokens",
    ),
}
_OLD = {
    "input": ("inputUsage", "promptTokens", "input_usage", "prompt_tokens"),
    "output": ("outputUsage", "completionTokens", "output_usage", "completion_tokens"),
    "total": ("totalUsage", "totalTokens", "total_usage", "total_tokens"),
}
"""Columns beside the details, 0 where nothing is known."""
_SIDES = {"input": ("input_", "prompt_details."), "output": ("output_", "completion_details.")}


def usage_details(record: Mapping[str, Json]) -> dict[str, Any] | None:
    """Counts by the names of `_NAMES`; None where the observation has no usage."""
    given = _details(record, "usageDetails", "usage_details") or _details(record, "usage")
    if not given:
        old = {name: _first(record, names) for name, names in _OLD.items()}
        given = {name: count for name, count in old.items() if count is not None}
        if not any(token_count(count) for count in given.values()):
            return None
    named = {name: _first(given, names) for name, names in _NAMES.items()}
    found = {name: count for name, count in named.items() if count is not None}
    return _with_other_kinds(found, given) or None


def cost_details(record: Mapping[str, Json]) -> dict[str, Any] | None:
    """Costs in dollars with `total`; None where the observation tells none."""
    given = _details(record, "costDetails", "cost_details") or {}
    if given and given.get("total") is None:
        total = _first(record, ("totalCost", "total_cost"))
        return given if total is None else {**given, "total": total}
    if given:
        return given
    old = _first(record, ("totalCost", "total_cost", "calculatedTotalCost"))
    return {"total": old} if converted(old, "decimal") else None


def _with_other_kinds(found: dict[str, Any], given: Mapping[str, Json]) -> dict[str, Any]:
    """`found`, with kinds that it has no name for added to their side where the total needs them.

    Langfuse's own total is the sum of everything that it was told.
    """
    every = [count for name, value in given.items() if (count := _other(name, value)) is not None]
    if token_count(found.get("total")) != sum(every):
        return found
    known = {name for names in _NAMES.values() for name in names}
    for side, prefixes in _SIDES.items():
        more = [
            token_count(value) or 0
            for name, value in given.items()
            if name not in known and name.startswith(prefixes)
        ]
        if any(more):
            found[side] = (token_count(found.get(side)) or 0) + sum(more)
    return found


def _other(name: str, value: Json) -> int | None:
    return None if name in _NAMES["total"] else token_count(value)


def _details(record: Mapping[str, Json], *names: str) -> dict[str, Json] | None:
    """The object of one of the names, which may come as JSON text."""
    given = parsed_json(_first(record, names))
    return record_of(given) if given is not None else None


def _first(record: Mapping[str, Json], names: tuple[str, ...]) -> Json:
    return next((record[name] for name in names if record.get(name) is not None), None)
