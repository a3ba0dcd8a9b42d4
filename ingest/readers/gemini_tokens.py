"""Token counts of the Gemini API, whatever its client calls them.

Owns what lies inside of what: cached tokens are a part of the prompt, thoughts come on top of the
answer, and the results of the API's own tools on top of the prompt.
"""

from typing import Any

from ingest.calls.tokens import buckets, token_count
from ingest.records import Json


def gemini_columns(
    *, prompt: Json, tool: Json, answer: Json, thoughts: Json, cached: Json, total: Json
) -> dict[str, Any]:
    """The token columns of a call, in tokens; the reported ones are the sums of both parts."""
    return buckets(
        input_tokens=_with(prompt, tool),
        output_tokens=_with(answer, thoughts),
        cache_read_tokens=cached,
        reasoning_tokens=thoughts,
        total_tokens=total,
    ).columns()


def _with(count: Json, more: Json) -> Json:
    """The sum of two counts; the first as it is where the second is none."""
    added = token_count(more)
    if added is None:
        return count
    first = 0 if count is None else token_count(count)
    return count if first is None else first + added
