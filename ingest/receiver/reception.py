"""What every door does with a request: room for it, its decoding, its way into the inbox.

Owns how much may be in memory at once, who may send, and the receiver's own metrics. Refuses
more than there is room for, so that a flood of requests ends in retries and not in a dead process.
"""

import hmac
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from ingest.config import Configuration
from ingest.errors import ConfigurationError
from ingest.readers.exposition import Scrape
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import Intake, Taken
from ingest.receiver.signals import Signal

MIB = 2**20
RETRY_AFTER_S = 5
STORE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bytes: of a body, as sent and again decompressed, of all bodies in memory, of the inbox."""

    body: int = 64 * MIB
    in_memory: int = 512 * MIB
    inbox: int = 4096 * MIB


class BusyError(Exception):
    """There is no room for the request now; the sender is to send it again."""


def not_stored(error: Exception) -> str:
    """What is said of a request that did not get onto the disk; a timeout has no words itself."""
    return f"it cannot be stored: {str(error) or f'the disk took more than {STORE_TIMEOUT_S:g} s'}"


class Tokens:
    """The bearer tokens that senders may show; without any, everyone may send."""

    def __init__(self, tokens: tuple[str, ...] = ()) -> None:
        self._tokens = tuple(token.encode() for token in tokens)

    @property
    def are_wanted(self) -> bool:
        """Whether a sender has to show one."""
        return bool(self._tokens)

    def allow(self, authorization: str | None) -> bool:
        """Whether the header `Bearer TOKEN` shows one of the tokens."""
        if not self._tokens:
            return True
        scheme, _, shown = (authorization or "").partition(" ")
        given = shown.strip().encode()
        found = [hmac.compare_digest(given, token) for token in self._tokens]
        return scheme.lower() == "bearer" and any(found)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file, one a line; blank lines and lines that begin with # are left out.

    Raises `ConfigurationError` where it cannot be read or has none.
    """
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the token file {path} cannot be read: {error}") from error
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise ConfigurationError(f"the token file {path} has no token; write one a line")
    return Tokens(tokens)


class Reception:
    """Requests from any door into the inbox. Any thread may use it."""

    def __init__(
        self,
        configuration: Configuration,
        inbox: Inbox,
        limits: Limits,
        meter: Meter,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.limits = limits
        self._inbox = inbox
        self._intake = Intake(configuration, clock)
        self._room = _Room(limits.in_memory)
        self._records = meter.create_counter(
            "gpuledger.receiver.records",
            "{record}",
            "Spans, log records and samples by outcome: accepted, rejected or ignored",
        )
        self._requests = meter.create_counter(
            "gpuledger.receiver.requests", "{request}", "Requests by door and outcome"
        )
        meter.create_observable_counter(
            "gpuledger.receiver.masked",
            [self._observe_masked],
            "{text}",
            "Texts in which a mask found something, by mask; unreadable ones were dropped",
        )
        meter.create_observable_gauge(
            "gpuledger.receiver.inbox.size",
            [self._observe_inbox],
            "By",
            "Bytes that wait to be taken into the ledger",
        )

    def _observe_masked(self, _options: CallbackOptions) -> Iterator[Observation]:
        for mask, count in self._intake.masked.items():
            yield Observation(count, {"mask": mask})

    def take(
        self, signal: Signal, body: bytes, encoding: str, door: str
    ) -> "tuple[Taken, Future[None]]":
        """The request decoded, and what is done once it is on the disk.

        Raises `BadRequestError`, `InboxFullError` and `BusyError`.
        """
        with self._room.of(len(body)):
            taken = self._intake.take(signal, body, encoding, door)
            return taken, self._inbox.put(taken.arrival)

    def take_scrape(self, body: bytes, scrape: Scrape, door: str) -> "tuple[Taken, Future[None]]":
        """A scrape decoded, and what is done once it is on the disk; raises as `take` does."""
        with self._room.of(len(body)):
            taken = self._intake.scraped(body, scrape, door)
            return taken, self._inbox.put(taken.arrival)

    def count(self, door: str, outcome: str, taken: Taken | None = None) -> None:
        """Note how one request ended: acknowledged, refused, busy, failed."""
        self._requests.add(1, {"door": door, "outcome": outcome})
        if taken is not None:
            self._records.add(taken.accepted, {"outcome": "accepted"})
            self._records.add(taken.rejected, {"outcome": "rejected"})
            self._records.add(taken.ignored, {"outcome": "ignored"})

    def _observe_inbox(self, _options: CallbackOptions) -> Iterator[Observation]:
        yield Observation(self._inbox.waiting_bytes)


class _Room:
    """Bytes of bodies that are in memory at once."""

    def __init__(self, size: int) -> None:
        self._size, self._taken = size, 0
        self._lock = threading.Lock()

    @contextmanager
    def of(self, size: int) -> Iterator[None]:
        """Keep `size` bytes of the room. Raises `BusyError` where they are not free."""
        with self._lock:
            if self._taken and self._taken + size > self._size:
                raise BusyError(f"{self._taken:,} bytes of requests are being read already")
            self._taken += size
        try:
            yield
        finally:
            with self._lock:
                self._taken -= size
