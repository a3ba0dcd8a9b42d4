"""The request log of the legacy batch service: one JSON object a call, in the native format.

Owns the log's keys. The replica stands in it only once the pool's engines are told apart.
"""

import json
from datetime import UTC, datetime
from typing import Any

from sample_data.company import SECOND_NS
from sample_data.exchanges import Tried
from sample_data.traffic import Served


def rfc3339(instant: int) -> str:
    """`instant` in UTC with microseconds."""
    whole = datetime.fromtimestamp(instant // SECOND_NS, tz=UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{instant % SECOND_NS // 1_000:06d}Z"


def log_line(tried: Tried, served: Served) -> str:
    """One call of the batch service as a line of its log."""
    attempt, endpoint = tried.attempt, tried.attempt.request.endpoint
    first_token_at = served.first_token_at
    if tried.flaw == "first token after end":
        first_token_at = served.ended_at + SECOND_NS
    row: dict[str, Any] = {
        "call_id": tried.told_id,
        "service": endpoint.service,
        "endpoint": endpoint.route,
        "team": endpoint.team,
        "operation": "chat",
        "model": endpoint.model,
        "pool": endpoint.pool,
        "timing_source": "engine",
        "arrived_at": rfc3339(served.arrived_at),
        "started_at": rfc3339(served.started_at),
        "first_token_at": rfc3339(first_token_at),
        "ended_at": rfc3339(served.ended_at),
        "uncached_input_tokens": attempt.step.input_tokens - attempt.cached_tokens,
        "cache_read_tokens": attempt.cached_tokens,
        "visible_output_tokens": attempt.generated_tokens,
        "status": "ok",
        "finish_reason": "stop",
        "max_tokens": endpoint.max_output_tokens,
        "temperature": endpoint.temperature,
        "stream": False,
    }
    if tried.replica is not None:
        row["replica"] = tried.replica
    return json.dumps(row, separators=(",", ":"))
