"""What of the sample was asked before: the counts that a reader must find, by walking the truth.

Owns the walk, which takes one request after the other and remembers answers. Refuses to read the
files or the product.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sample_data.company import SECOND_NS
from sample_data.exchanges import Exchange, Tried

TTL_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: what makes it the same as another, and when it began and was answered.

    `answered_at` is None where it failed; instants are nanoseconds since 1970.
    """

    key: Hashable
    endpoint: str
    result: Hashable
    begun_at: int
    answered_at: int | None


Finds = Callable[[Asked, int], bool]
"""Whether a request that begins at an instant finds the answer of another."""


def repeats(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """Repeated calls, searches and attempts by endpoint, under an hour's life of an answer."""
    calls = [*_calls(exchanges)]
    return {
        "ttl_s": TTL_S,
        "duplicates": _walk(calls, _out_of_cache),
        "in_flight": _walk(calls, _is_in_flight),
        "retrievals": _walk([*_searches(exchanges)], _out_of_cache),
        "failed_attempts": _failed(exchanges),
    }


def _out_of_cache(source: Asked, at: int) -> bool:
    answered_at = source.answered_at or 0
    return answered_at <= at < answered_at + TTL_S * SECOND_NS


def _is_in_flight(source: Asked, at: int) -> bool:
    return at < (source.answered_at or 0)


def _walk(requests: Iterable[Asked], finds: Finds) -> dict[str, int]:
    """Endpoint to how many requests find an answer; the others are computed and may be found."""
    by_key: dict[Hashable, list[Asked]] = defaultdict(list)
    for request in sorted(requests, key=lambda one: one.begun_at):
        by_key[request.key].append(request)
    counts: Counter[str] = Counter()
    for group in by_key.values():
        source: Asked | None = None
        for request in group:
            if source is not None and finds(source, request.begun_at):
                counts[request.endpoint] += request.result == source.result
            elif request.answered_at is not None and _is_over(source, request.begun_at):
                source = request
    return {endpoint: count for endpoint, count in sorted(counts.items()) if count}


def _is_over(source: Asked | None, at: int) -> bool:
    """Whether no answer of `source` is there or to come at that instant."""
    return source is None or at >= (source.answered_at or 0)


def _calls(exchanges: Iterable[Exchange]) -> Iterator[Asked]:
    """Every attempt of which a prompt is told."""
    for exchange in exchanges:
        endpoint = exchange.request.endpoint
        for tried in exchange.tried:
            message = tried.attempt.step.message
            if message is not None:
                model = exchange.request.model or endpoint.model
                yield Asked(
                    key=(endpoint.route, model, message),
                    endpoint=endpoint.route,
                    result=None,
                    begun_at=_arrived_at(tried),
                    answered_at=_answered_at(tried),
                )


def _arrived_at(tried: Tried) -> int:
    view = tried.engine_view
    return tried.attempt.sent_at if view is None else view.arrived_at


def _answered_at(tried: Tried) -> int | None:
    view, attempt = tried.engine_view, tried.attempt
    if attempt.outcome != "ok":
        return None
    return attempt.received_at if view is None else view.ended_at


def _searches(exchanges: Iterable[Exchange]) -> Iterator[Asked]:
    for exchange in exchanges:
        for tried in exchange.tried:
            search = tried.attempt.step.retrieval
            if search is not None and tried.attempt.attempt_no == 1:
                ended_at = tried.attempt.sent_at - 1_000_000
                yield Asked(
                    key=search.query,
                    endpoint=exchange.request.endpoint.route,
                    result=search.chunks,
                    begun_at=ended_at - round(search.duration_s * 1e9),
                    answered_at=ended_at,
                )


def _failed(exchanges: Iterable[Exchange]) -> dict[str, dict[str, int]]:
    """Endpoint to outcome to how many attempts failed so, of calls that were tried again."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for exchange in exchanges:
        tries: dict[int, list[str]] = defaultdict(list)
        for tried in exchange.tried:
            tries[tried.attempt.step_no].append(tried.attempt.outcome)
        for outcomes in tries.values():
            if len(outcomes) > 1:
                route = exchange.request.endpoint.route
                counts[route].update(outcome for outcome in outcomes if outcome != "ok")
    return {route: dict(sorted(counts[route].items())) for route in sorted(counts)}
