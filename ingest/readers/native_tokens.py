"""Token columns of a native record: buckets as given, or made from totals.

Owns the check that totals and buckets agree. Refuses a record in which they do not.
"""

from collections.abc import Mapping
from typing import Any

from ingest.calls.timing import REPLAYED_TIMES
from ingest.calls.tokens import buckets
from ingest.readers.rejection import RecordError

_INPUT = ("uncached_input_tokens", "cache_read_tokens", "cache_write_tokens")
_OUTPUT = ("visible_output_tokens", "reasoning_tokens")


def token_columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that follow from the given ones; none of those that were given changes.

    Totals contain their parts: `input_tokens` the cached ones, `output_tokens` the reasoning.
    """
    input_tokens = _total(given, "input_tokens", _INPUT)
    output_tokens = _total(given, "output_tokens", _OUTPUT)
    is_made = _lacks_bucket(given, "input_tokens", _INPUT) or _lacks_bucket(
        given, "output_tokens", _OUTPUT
    )
    if not is_made:
        is_known = input_tokens is not None or output_tokens is not None
        return {} if "tokens_source" in given or is_known else {"tokens_source": "unknown"}
    made = buckets(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=given.get("cache_read_tokens"),
        cache_write_tokens=given.get("cache_write_tokens"),
        reasoning_tokens=given.get("reasoning_tokens"),
        total_tokens=given.get("reported_total_tokens"),
    )
    return {key: value for key, value in made.columns().items() if key not in given}


def replayed_columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an answer out of a cache: what it repeats is kept, and nothing was used.

    It was in service nowhere, so its arrival is the only instant it has.
    """
    told = {
        f"reported_{total}": given.get(f"reported_{total}", _total(given, total, parts))
        for total, parts in (("input_tokens", _INPUT), ("output_tokens", _OUTPUT))
    }
    used = dict.fromkeys((*_INPUT, *_OUTPUT)) | {_INPUT[0]: 0, _OUTPUT[0]: 0}
    arrived_at = given.get("arrived_at", given.get("started_at"))
    source = {"tokens_source": given.get("tokens_source", "estimated")}
    totals = dict.fromkeys(("input_tokens", "output_tokens"))
    return {**told, **used, **totals, **source, **REPLAYED_TIMES, "arrived_at": arrived_at}


def _lacks_bucket(given: Mapping[str, Any], total: str, parts: tuple[str, ...]) -> bool:
    return total in given and parts[0] not in given


def _total(given: Mapping[str, Any], total: str, parts: tuple[str, ...]) -> Any:
    """The total as given or as the sum of its buckets, which must agree."""
    if parts[0] not in given:
        return given.get(total)
    sum_tokens = sum(given.get(part) or 0 for part in parts)
    if total in given and given[total] != sum_tokens:
        raise RecordError(
            f"{total} {given[total]} is not the sum {sum_tokens} of {' + '.join(parts)}"
        )
    return sum_tokens
