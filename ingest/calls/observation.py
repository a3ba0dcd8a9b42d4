"""What one view of a call saw of time, from attributes and events.

Owns units: seconds, milliseconds and timestamps become nanoseconds here. Refuses a timestamp that
cannot be read.
"""

from datetime import UTC, datetime, timedelta

from ingest.calls.aliases import AliasTable
from ingest.calls.timing import EngineLatency, Observation, nanoseconds
from ingest.calls.views import View

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def observation(view: View, table: AliasTable) -> Observation:
    """Start and end of the span, the engine's durations, and the first token that was seen."""
    reading = view.reading
    return Observation(
        started_at=view.span.started_at,
        ended_at=view.span.ended_at,
        latency=EngineLatency(
            queue_s=reading.seconds("queue_s"),
            prefill_s=reading.seconds("prefill_s"),
            decode_s=reading.seconds("decode_s"),
            ttft_s=reading.seconds("ttft_s"),
            e2e_s=reading.seconds("e2e_s"),
        ),
        first_token_at=_first_token_at(view, table),
    )


def streamed_chunks(view: View, table: AliasTable) -> int | None:
    """Chunks of output that this view saw; None where it does not tell."""
    events = sum(event.name in table.file.events.chunk for event in view.span.events)
    given = view.reading.first("chunk_count")
    return events or (int(given) if isinstance(given, int) else None)


def _first_token_at(view: View, table: AliasTable) -> int | None:
    ttft_s = view.reading.seconds("ttft_s")
    if ttft_s is not None and view.span.started_at is not None:
        return view.span.started_at + nanoseconds(ttft_s)
    named = view.reading.first("first_token_time")
    if named is not None:
        return _instant(named)
    names = (*table.file.events.first_token, *table.file.events.chunk)
    seen = [event.at for event in view.span.events if event.name in names and event.at is not None]
    return min(seen, default=None)


def _instant(text: str) -> int | None:
    """Nanoseconds since 1970 of an ISO timestamp; one without a zone is taken as UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1) * 1000
