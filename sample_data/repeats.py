"""What of the sample was asked before: the calls, searches and runs that a reader must find.

Owns the walk, which takes one request after the other and remembers answers. Refuses to read the
files or the product.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sample_data.company import SECOND_NS
from sample_data.exchanges import Exchange, Tried

TTL_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: what makes it the same as another, and when it began and was answered.

    `told_id` is its id in the telemetry, `owner` the endpoint, tool or source that was asked.
    `answered_at` is None where it failed; instants are nanoseconds since 1970.
    """

    told_id: str
    key: Hashable
    owner: str
    result: Hashable
    begun_at: int
    answered_at: int | None


Finds = Callable[[Asked, int], bool]
"""Whether a request that begins at an instant finds the answer of another."""

Groups = Mapping[str, list[list[str]]]
"""Owner to the ids of requests that found an answer, a list for each group of equal ones."""


def repeats(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """How many calls, searches and attempts were repeated, by endpoint, under an hour's life."""
    return {
        "ttl_s": TTL_S,
        "duplicates": counts(duplicates(exchanges)),
        "in_flight": counts(in_flight(exchanges)),
        "retrievals": counts(walk(_searches(exchanges), out_of_cache())),
        "failed_attempts": {
            route: {outcome: len(ids) for outcome, ids in by_outcome.items()}
            for route, by_outcome in failed(exchanges).items()
        },
    }


def counts(groups: Groups) -> dict[str, int]:
    """Owner to how many of its requests found an answer."""
    return {owner: sum(len(ids) for ids in found) for owner, found in groups.items()}


def duplicates(exchanges: Iterable[Exchange], ttl_s: int = TTL_S) -> Groups:
    """Calls by endpoint that a cache of answers would have answered."""
    return walk(_calls(exchanges), out_of_cache(ttl_s))


def in_flight(exchanges: Iterable[Exchange]) -> Groups:
    """Calls by endpoint that were sent while another one was computing their answer."""
    return walk(_calls(exchanges), _is_in_flight)


def retrievals(exchanges: Iterable[Exchange]) -> Groups:
    """Searches by data source that had found the same within the hour."""
    return walk(_searches(exchanges, owner="handbook"), out_of_cache())


def tools(exchanges: Iterable[Exchange]) -> Groups:
    """Runs by tool that had found the same within the hour."""
    return walk(_runs(exchanges), out_of_cache())


def out_of_cache(ttl_s: int = TTL_S) -> Finds:
    """A cache whose answers live for `ttl_s` seconds."""

    def finds(source: Asked, at: int) -> bool:
        answered_at = source.answered_at or 0
        return answered_at <= at < answered_at + ttl_s * SECOND_NS

    return finds


def _is_in_flight(source: Asked, at: int) -> bool:
    return at < (source.answered_at or 0)


def walk(requests: Iterable[Asked], finds: Finds) -> Groups:
    """The requests that find an answer; the others are computed and may be found."""
    by_key: dict[Hashable, list[Asked]] = defaultdict(list)
    for request in sorted(requests, key=lambda one: one.begun_at):
        by_key[request.key].append(request)
    found: dict[str, list[list[str]]] = defaultdict(list)
    for group in by_key.values():
        ids = [request.told_id for request in _answered(group, finds)]
        if ids:
            found[group[0].owner].append(ids)
    return {owner: found[owner] for owner in sorted(found)}


def _answered(group: Sequence[Asked], finds: Finds) -> Iterator[Asked]:
    source: Asked | None = None
    for request in group:
        if source is not None and finds(source, request.begun_at):
            if request.result == source.result:
                yield request
        elif request.answered_at is not None and _is_over(source, request.begun_at):
            source = request


def _is_over(source: Asked | None, at: int) -> bool:
    """Whether no answer of `source` is there or to come at that instant."""
    return source is None or at >= (source.answered_at or 0)


def _calls(exchanges: Iterable[Exchange]) -> Iterator[Asked]:
    """Every attempt of which a prompt is told."""
    for exchange in exchanges:
        endpoint = exchange.request.endpoint
        for tried in exchange.tried:
            prompt = tried.attempt.step.prompt
            if prompt is not None:
                yield Asked(
                    told_id=tried.told_id,
                    key=(endpoint.route, exchange.request.model or endpoint.model, prompt),
                    owner=endpoint.route,
                    result=None,
                    begun_at=tried.arrived_at,
                    answered_at=tried.answered_at,
                )


def _searches(exchanges: Iterable[Exchange], owner: str | None = None) -> Iterator[Asked]:
    for exchange in exchanges:
        for tried in _first_attempts(exchange):
            search = tried.attempt.step.retrieval
            if search is not None:
                ended_at = tried.attempt.sent_at - 1_000_000
                yield Asked(
                    told_id=tried.call_id,
                    key=search.query,
                    owner=owner or exchange.request.endpoint.route,
                    result=search.chunks,
                    begun_at=ended_at - round(search.duration_s * 1e9),
                    answered_at=ended_at,
                )


def _runs(exchanges: Iterable[Exchange]) -> Iterator[Asked]:
    """Every run of a tool: it begins when the call before it was answered."""
    for exchange in exchanges:
        for before, tried in zip(exchange.tried, exchange.tried[1:], strict=False):
            tool = tried.attempt.step.tool
            if tool is not None and tried.attempt.attempt_no == 1:
                begun_at = before.attempt.received_at + 2_000_000
                yield Asked(
                    told_id=tried.call_id,
                    key=(tool.name, tool.arguments),
                    owner=tool.name,
                    result=tool.result,
                    begun_at=begun_at,
                    answered_at=begun_at + round(tool.duration_s * 1e9),
                )


def _first_attempts(exchange: Exchange) -> Iterator[Tried]:
    return (tried for tried in exchange.tried if tried.attempt.attempt_no == 1)


def failed(exchanges: Sequence[Exchange]) -> dict[str, dict[str, list[str]]]:
    """Endpoint to outcome to the attempts that failed so, of calls that were tried again."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for exchange in exchanges:
        for tried in (tried for tries in operations(exchange) if tries[1:] for tried in tries):
            if tried.attempt.outcome != "ok":
                found[exchange.request.endpoint.route][tried.attempt.outcome].append(tried.told_id)
    return {route: dict(sorted(found[route].items())) for route in sorted(found)}


def operations(exchange: Exchange) -> list[list[Tried]]:
    """The calls of one request, each with all its attempts in order."""
    return [list(group) for _, group in groupby(exchange.tried, lambda one: one.attempt.step_no)]
