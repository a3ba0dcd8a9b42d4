"""Planned visits become served attempts: balancing, queues, timeouts, retries, in event order.

Owns the event loop and what a client does when a call fails. Refuses to write telemetry: an
`Attempt` is what happened, whoever saw it.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Literal

from sample_data import company
from sample_data.company import REPLICA_ADDED, SECOND_NS
from sample_data.engine import Job, Replica
from sample_data.planned import Request, Step, Visit
from sample_data.shapes import SHAPES

ORIGIN = company.at("2026-08-31 00:00")
MOST_ATTEMPTS = SHAPES["failures"]["attempts"]
Outcome = Literal["ok", "error", "timeout", "refused"]


def instant_ns(seconds: float) -> int:
    """Nanoseconds since 1970 of simulated `seconds`, on a whole microsecond."""
    return ORIGIN + round(seconds * 1e6) * 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What an engine did for one attempt; instants are nanoseconds since 1970."""

    replica: str
    arrived_at: int
    started_at: int
    first_token_at: int
    ended_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of one planned call. `sent_at` and `received_at` are the client's instants.

    `served` is None for an API. `generated_tokens` is what was produced, whoever read it.
    """

    visit_no: int
    request_no: int
    step_no: int
    attempt_no: int
    request: Request
    step: Step
    outcome: Outcome
    sent_at: int
    received_at: int
    served: Served | None
    cached_tokens: int
    generated_tokens: int


@dataclass(slots=True, kw_only=True)
class _Flow:
    """Where one visit stands."""

    visit_no: int
    visit: Visit
    request_no: int = 0
    step_no: int = 0
    attempt_no: int = 1
    thread_replica: str | None = None

    @property
    def request(self) -> Request:
        return self.visit.requests[self.request_no]

    @property
    def step(self) -> Step:
        return self.request.steps[self.step_no]


@dataclass(slots=True, kw_only=True)
class _Sent:
    """One attempt on its way; it becomes an `Attempt` when all sides are done with it."""

    flow: _Flow
    request_no: int
    step_no: int
    attempt_no: int
    sent_s: float
    received_s: float | None = None
    outcome: Outcome = "ok"
    job: Job | None = None
    replica: Replica | None = None

    @property
    def request(self) -> Request:
        return self.flow.visit.requests[self.request_no]

    @property
    def step(self) -> Step:
        return self.request.steps[self.step_no]

    @property
    def fails(self) -> bool:
        """Whether the planned failure strikes: it does so at the first attempt only."""
        return self.step.failure is not None and self.attempt_no == 1

    def attempt(self) -> Attempt:
        """The finished attempt."""
        is_refused = self.outcome == "refused"
        cached = self.step.shared_tokens if self.job is None else self.job.cached_tokens
        generated = self.step.output_tokens if self.job is None else self.job.generated
        return Attempt(
            visit_no=self.flow.visit_no,
            request_no=self.request_no,
            step_no=self.step_no,
            attempt_no=self.attempt_no,
            request=self.request,
            step=self.step,
            outcome=self.outcome,
            sent_at=instant_ns(self.sent_s),
            received_at=instant_ns(self.received_s or 0.0),
            served=self._served(),
            cached_tokens=0 if is_refused else cached,
            generated_tokens=0 if is_refused else generated,
        )

    def _served(self) -> Served | None:
        if self.job is None or self.replica is None:
            return None
        return Served(
            replica=self.replica.name,
            arrived_at=instant_ns(self.job.arrived_s),
            started_at=instant_ns(self.job.started_s),
            first_token_at=instant_ns(self.job.first_token_s),
            ended_at=instant_ns(self.job.ended_s),
        )


class Traffic:
    """The event loop. `run()` returns every attempt, by the time it was sent."""

    def __init__(self, visits: Sequence[Visit]) -> None:
        self._visits = visits
        self._random = Random(f"{company.SEED}/network")
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._keys = count()
        self._in_engine: dict[int, _Sent] = {}
        self._attempts: list[Attempt] = []
        self._replicas = {
            pool.name: [Replica(f"{pool.name}-{number}", pool.law) for number in range(2)]
            for pool in company.POOLS
        }

    def run(self) -> list[Attempt]:
        """Play everything; the attempts in the order in which they were sent."""
        for number, visit in enumerate(self._visits):
            flow = _Flow(visit_no=number, visit=visit)
            arrived_s = (visit.arrived_at - ORIGIN) / SECOND_NS
            self._at(arrived_s + flow.request.pause_before_s, self._send, flow)
        while self._events:
            now_s, _, action, arguments = heapq.heappop(self._events)
            action(now_s, *arguments)
        return sorted(self._attempts, key=lambda attempt: (attempt.sent_at, attempt.visit_no))

    def _at(self, when_s: float, action: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (when_s, next(self._order), action, arguments))

    def _send(self, now_s: float, flow: _Flow) -> None:
        sent = _Sent(
            flow=flow,
            request_no=flow.request_no,
            step_no=flow.step_no,
            attempt_no=flow.attempt_no,
            sent_s=now_s,
        )
        endpoint = flow.request.endpoint
        if endpoint.pool is None:
            self._ask_api(now_s, sent)
        else:
            self._at(now_s + self._hop_s(), self._arrive, sent, endpoint.pool)
            self._at(now_s + endpoint.timeout_s, self._give_up, sent)

    def _hop_s(self) -> float:
        return self._random.uniform(0.0015, 0.004)

    def _ask_api(self, now_s: float, sent: _Sent) -> None:
        if sent.fails:
            sent.outcome = "refused"
            ended_s = now_s + self._random.uniform(0.04, 0.09)
        else:
            first_s = now_s + self._random.uniform(0.35, 0.9)
            ended_s = first_s + sent.step.output_tokens * self._random.uniform(0.008, 0.012)
        self._at(ended_s, self._receive, sent)

    def _arrive(self, now_s: float, sent: _Sent, pool: str) -> None:
        replicas = self._replicas[pool]
        if pool == company.CHAT_POOL.name and instant_ns(now_s) < REPLICA_ADDED:
            replicas = replicas[:1]
        replica = min(replicas, key=lambda one: one.load)
        step, block = sent.step, replica.law.block_tokens
        thread = step.thread_tokens if replica.name == sent.flow.thread_replica else 0
        shared = max(thread, step.shared_tokens) // block * block
        sent.flow.thread_replica = replica.name
        sent.replica = replica
        sent.job = Job(
            key=next(self._keys),
            input_tokens=step.input_tokens,
            cached_tokens=min(shared, step.input_tokens - 1),
            output_tokens=max(1, step.output_tokens // 3) if sent.fails else step.output_tokens,
            arrived_s=now_s,
        )
        self._in_engine[sent.job.key] = sent
        self._schedule(replica, replica.submit(sent.job, now_s))

    def _schedule(self, replica: Replica, end_s: float | None) -> None:
        if end_s is not None:
            self._at(end_s, self._stretch_ends, replica, replica.stretch_no)

    def _stretch_ends(self, now_s: float, replica: Replica, stretch_no: int) -> None:
        if stretch_no != replica.stretch_no:
            return
        for job in replica.finish_stretch(now_s):
            self._engine_done(now_s, self._in_engine.pop(job.key))
        self._schedule(replica, replica.start(now_s))

    def _engine_done(self, now_s: float, sent: _Sent) -> None:
        if sent.received_s is not None:
            self._attempts.append(sent.attempt())
            return
        if sent.fails:
            sent.outcome = "error"
        self._at(now_s + self._hop_s(), self._receive, sent)

    def _give_up(self, now_s: float, sent: _Sent) -> None:
        """The client's patience ends; the engine knows nothing of it and goes on."""
        is_done = sent.job is not None and sent.job.key not in self._in_engine
        if is_done or sent.received_s is not None:
            return
        sent.outcome = "timeout"
        sent.received_s = now_s
        self._go_on(now_s, sent)

    def _receive(self, now_s: float, sent: _Sent) -> None:
        sent.received_s = now_s
        self._attempts.append(sent.attempt())
        self._go_on(now_s, sent)

    def _go_on(self, now_s: float, sent: _Sent) -> None:
        """Send what follows: the next attempt, the next step, or the next request."""
        flow = sent.flow
        if sent.outcome != "ok":
            if flow.attempt_no < MOST_ATTEMPTS:
                backoff_s = SHAPES["failures"]["backoff_s"][flow.attempt_no - 1]
                flow.attempt_no += 1
                self._at(now_s + backoff_s, self._send, flow)
            return
        flow.attempt_no = 1
        if flow.step_no + 1 < len(flow.request.steps):
            flow.step_no += 1
            pause_s = flow.step.tool.duration_s + 0.004 if flow.step.tool else 0.004
        elif flow.request_no + 1 < len(flow.visit.requests):
            flow.request_no, flow.step_no = flow.request_no + 1, 0
            pause_s = flow.request.pause_before_s
        else:
            return
        self._at(now_s + pause_s, self._send, flow)


def serve(visits: Sequence[Visit]) -> list[Attempt]:
    """Every attempt that the visits led to, by the time it was sent."""
    return Traffic(visits).run()
