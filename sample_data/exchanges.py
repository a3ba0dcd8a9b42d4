"""Served attempts grouped as telemetry sees them: one HTTP request, its attempts, their ids.

Owns ids, the flaws that a few spans carry, and which attempts an engine reported. Refuses
attribute names: those belong to each service.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from sample_data.company import CHAT, DIGEST, MONTH_STARTS, RAG, RAG_ENGINE_TRACING
from sample_data.planned import Request
from sample_data.traffic import Attempt, Served
from sample_data.wire import Ids

CHUNK_LAG_NS = 2_000_000
"""How much later than the engine a client sees the first chunk."""

Flaw = Literal["ends before it starts", "negative queue", "first token after end"]

FLAWED: tuple[tuple[str, int, Flaw], ...] = (
    (RAG.route, 500, "ends before it starts"),
    (CHAT.route, 1_800, "negative queue"),
    (DIGEST.route, 700, "first token after end"),
)
"""Endpoint, how many of its attempts come before, and what is impossible about this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt with the ids that its spans get; `call_id` is the request id of the engine."""

    attempt: Attempt
    span_id: str
    engine_span_id: str
    call_id: str
    flaw: Flaw | None = None

    @property
    def told_id(self) -> str:
        """The id of this call in the telemetry: of its client's span, or of its line in the log."""
        is_logged = self.attempt.request.endpoint == DIGEST
        return f"digest-{self.call_id}" if is_logged else self.span_id

    @property
    def engine_view(self) -> Served | None:
        """What the engine told the collector or the batch log; None where nobody was told."""
        served, endpoint = self.attempt.served, self.attempt.request.endpoint
        if served is None or endpoint == DIGEST:
            return served
        is_traced = endpoint != RAG or served.arrived_at >= RAG_ENGINE_TRACING
        return served if is_traced else None

    @property
    def arrived_at(self) -> int:
        """When the engine had it, or the client sent it where no engine told."""
        view = self.engine_view
        return self.attempt.sent_at if view is None else view.arrived_at

    @property
    def answered_at(self) -> int | None:
        """When it was answered, by the engine or else the client; None where it failed."""
        if self.attempt.outcome != "ok":
            return None
        view = self.engine_view
        return self.attempt.received_at if view is None else view.ended_at

    @property
    def replica(self) -> str | None:
        """The replica, where the telemetry names it."""
        view, endpoint = self.engine_view, self.attempt.request.endpoint
        if view is None or (endpoint == DIGEST and view.arrived_at < RAG_ENGINE_TRACING):
            return None
        return view.replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One HTTP request with all its attempts; instants are nanoseconds since 1970."""

    request: Request
    trace_id: str
    root_span_id: str
    agent_span_id: str
    tried: tuple[Tried, ...]

    @property
    def received_at(self) -> int:
        """When the server began with it: before the first call, its search included."""
        first = self.tried[0].attempt
        search = first.step.retrieval
        lead_ns = 2_000_000 if search is None else 3_000_000 + round(search.duration_s * 1e9)
        return first.sent_at - lead_ns

    @property
    def answered_at(self) -> int:
        """When the server had answered."""
        return self.tried[-1].attempt.received_at + 1_000_000

    @property
    def is_answered(self) -> bool:
        """Whether the last attempt went well."""
        return self.tried[-1].attempt.outcome == "ok"


def exchanges(
    attempts: Sequence[Attempt], flawed: Sequence[tuple[str, int, Flaw]] = FLAWED
) -> list[Exchange]:
    """Every HTTP request with its attempts in order, by arrival of the visit."""
    flaws = _flaws(attempts, flawed)
    ids = Ids("spans")

    def key(attempt: Attempt) -> tuple[int, int]:
        return attempt.visit_no, attempt.request_no

    ordered = sorted(attempts, key=lambda one: (*key(one), one.step_no, one.attempt_no))
    return [
        Exchange(
            request=group[0].request,
            trace_id=ids.trace(),
            root_span_id=ids.span(),
            agent_span_id=ids.span(),
            tried=tuple(
                Tried(
                    attempt=attempt,
                    span_id=ids.span(),
                    engine_span_id=ids.span(),
                    call_id=ids.span(),
                    flaw=flaws.get(id(attempt)),
                )
                for attempt in group
            ),
        )
        for group in (list(found) for _, found in groupby(ordered, key=key))
    ]


def is_second_month(instant: int) -> bool:
    """Whether `instant` lies in the second month or after it, in the company's time zone."""
    return instant >= MONTH_STARTS[1]


def _flaws(attempts: Sequence[Attempt], flawed: Sequence[tuple[str, int, Flaw]]) -> dict[int, Flaw]:
    found: dict[int, Flaw] = {}
    for route, before, flaw in flawed:
        plain = [
            attempt
            for attempt in attempts
            if attempt.request.endpoint.route == route and attempt.outcome == "ok"
        ]
        found[id(plain[before])] = flaw
    return found
