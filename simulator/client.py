"""The replay client: sends each call at its intended time and notes when its tokens came.

Owns the clock of a pass. It is open-loop: nothing that the engine does delays a send, there is no
cap on what is in flight and no retry. Refuses to judge: it reports what it saw.
"""

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import httpx

from simulator.engines.engine import Frame, Served
from simulator.errors import EngineError

Status = Literal["ok", "error", "timeout", "cancelled"]
DATA = b"data:"
END_OF_STREAM = b"[DONE]"
CONNECT_DEADLINE_S = 10.0
LEAD_S = 0.05
LEAD_PER_REQUEST_S = 0.0001
"""Second zero lies this far ahead, so that every request waits for its time before the first."""

DEATH_GRACE_S = 0.2
"""A process that was killed is gone this long after its connections broke."""

SENT_EVENT = "http11.send_request_body.complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One request: at `at_s` from the start of the pass, or `think_s` after `after` has ended."""

    at_s: float
    after: int | None = None
    think_s: float = 0.0
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where requests go and how frames are read. `stall_s` without a byte ends a request.

    `raise_if_dead` is asked after a broken connection: a dead engine ends the pass at once.
    `processor_s` reads the engine's processor seconds, None where they are unknown.
    """

    url: str
    read_frame: Callable[[bytes], Frame]
    raise_if_dead: Callable[[float], None] = lambda _grace_s: None
    processor_s: Callable[[], float | None] = lambda: None
    stall_s: float


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one request; all times in seconds from the start of the pass.

    `intended_s` is None while a request waits for its parent, `sent_s` until its last byte is
    written. `output_tokens` counts the token ids that came. The `..._processor_s` are what the
    engine's processor seconds had grown to: before the send, at the first token, at the last frame.
    """

    position: int
    intended_s: float | None = None
    sent_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    ended_s: float | None = None
    sent_processor_s: float | None = None
    first_token_processor_s: float | None = None
    ended_processor_s: float | None = None
    status: Status = "cancelled"
    http_status: int | None = None
    error: str | None = None
    output_tokens: int = 0
    served: Served | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass over a trace. `started_at` is the wall clock (ns) at second zero of its outcomes.

    `client_cpu_ratio` is the share of one processor that the client used. An interrupted pass has
    the outcomes of all requests that were sent.
    """

    started_at: int
    duration_s: float
    outcomes: tuple[Outcome, ...]
    client_cpu_ratio: float
    is_interrupted: bool


def run_pass(
    planned: Sequence[Planned], target: Target, on_end: Callable[[], None] = lambda: None
) -> Pass:
    """Send everything at its time and wait for the last answer; `on_end` is called once each.

    Ctrl-C ends the pass and keeps what was measured.
    """
    gc.collect()
    gc.disable()  # a collection in the middle would be a late send
    try:
        return asyncio.run(_Pass(planned, target, on_end).run())
    finally:
        gc.enable()


class _Pass:
    def __init__(
        self, planned: Sequence[Planned], target: Target, on_end: Callable[[], None]
    ) -> None:
        self._planned = planned
        self._target = target
        self._on_end = on_end
        self._outcomes = [Outcome(position=position) for position in range(len(planned))]
        self._ended = [asyncio.Event() for _ in planned]
        self._zero_s = 0.0

    async def run(self) -> Pass:
        timeout = httpx.Timeout(
            connect=CONNECT_DEADLINE_S, read=self._target.stall_s, write=None, pool=None
        )
        # A connection is used once: a kept one may be closed by the server at the moment of use.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False) as client:
            await self._first_contact(client)
            requests = [self._request(client, position) for position in range(len(self._planned))]
            cpu_s = time.process_time()
            lead_s = LEAD_S + LEAD_PER_REQUEST_S * len(requests)
            started_at = time.time_ns() + round(lead_s * 1e9)
            self._zero_s = time.monotonic() + lead_s
            is_interrupted = await self._send_all(client, requests)
            duration_s = self._now_s()
            cpu_s = time.process_time() - cpu_s
        return Pass(
            started_at=started_at,
            duration_s=duration_s,
            outcomes=tuple(o for o in self._outcomes if o.sent_s is not None or o.error),
            client_cpu_ratio=cpu_s / duration_s,
            is_interrupted=is_interrupted,
        )

    async def _first_contact(self, client: httpx.AsyncClient) -> None:
        """Pay what only a first request pays, such as imports; its answer does not matter."""
        with contextlib.suppress(httpx.HTTPError):
            await client.get(self._target.url, timeout=CONNECT_DEADLINE_S)

    def _request(self, client: httpx.AsyncClient, position: int) -> httpx.Request:
        """The request as it will be sent, made before the clock runs."""

        async def note_sent(event: str, _info: object) -> None:
            if event == SENT_EVENT:
                self._outcomes[position].sent_s = self._now_s()

        return client.build_request(
            "POST",
            self._target.url,
            content=self._planned[position].body,
            headers={"content-type": "application/json"},
            extensions={"trace": note_sent},
        )

    async def _send_all(self, client: httpx.AsyncClient, requests: Sequence[httpx.Request]) -> bool:
        """Whether the pass was interrupted before its last answer."""
        tasks = [
            asyncio.create_task(self._call(client, position, request))
            for position, request in enumerate(requests)
        ]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            return True
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return False

    async def _call(self, client: httpx.AsyncClient, position: int, request: httpx.Request) -> None:
        planned, outcome = self._planned[position], self._outcomes[position]
        intended_s = planned.at_s
        if planned.after is not None:
            await self._ended[planned.after].wait()
            parent = self._outcomes[planned.after]
            intended_s = (parent.ended_s or 0.0) + planned.think_s
        outcome.intended_s = intended_s
        await asyncio.sleep(intended_s - self._now_s())
        outcome.sent_processor_s = self._target.processor_s()
        try:
            await self._stream(client, request, outcome)
        except httpx.TimeoutException as error:
            outcome.status, outcome.error = "timeout", repr(error)
        except EngineError as error:
            outcome.status, outcome.error = "error", str(error)
        except httpx.HTTPError as error:
            outcome.status, outcome.error = "error", str(error) or repr(error)
            self._target.raise_if_dead(DEATH_GRACE_S)
        finally:
            outcome.ended_s = self._now_s()
            self._ended[position].set()
            self._on_end()

    async def _stream(
        self, client: httpx.AsyncClient, request: httpx.Request, outcome: Outcome
    ) -> None:
        response = await client.send(request, stream=True)
        try:
            outcome.http_status = response.status_code
            if response.is_error:
                await response.aread()
                outcome.status, outcome.error = "error", response.text[:400]
                return
            rest = b""
            async for chunk in response.aiter_raw():
                *lines, rest = (rest + chunk).split(b"\n")
                self._read(lines, outcome)
        finally:
            await response.aclose()
        if outcome.served is None:
            outcome.status, outcome.error = "error", "the stream ended without its last frame"
            return
        outcome.status = "ok"

    def _read(self, lines: Sequence[bytes], outcome: Outcome) -> None:
        """Note the frames of one chunk, which all came at the same instant."""
        now_s = self._now_s()
        for line in lines:
            data = line[len(DATA) :].strip() if line.startswith(DATA) else b""
            if not data or data == END_OF_STREAM:
                continue
            frame = self._target.read_frame(data)
            outcome.output_tokens += frame.output_tokens
            if frame.has_output:
                outcome.last_token_s = now_s
                if outcome.first_token_s is None:
                    outcome.first_token_s = now_s
                    outcome.first_token_processor_s = self._target.processor_s()
            if frame.served is not None:
                outcome.served = frame.served
                outcome.ended_processor_s = self._target.processor_s()

    def _now_s(self) -> float:
        return time.monotonic() - self._zero_s
