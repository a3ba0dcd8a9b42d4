"""The receiver as a running service: its doors, its inbox, and the thread that empties it.

Owns start and stop. A stop closes the doors, finishes the requests that are in, and takes what
waits into the ledger if that can be done soon; the rest is there at the next start.
"""

import logging
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from opentelemetry.metrics import Meter

from ingest.config import Configuration
from ingest.errors import LedgerError, LedgerLockedError
from ingest.receiver.address import Address, listening_socket
from ingest.receiver.beside import inbox_path
from ingest.receiver.grpc_door import grpc_server
from ingest.receiver.http_door import http_app
from ingest.receiver.inbox import Inbox
from ingest.receiver.reception import Limits, Reception, Tokens
from ingest.receiver.scraping import Scraping, Target
from ingest.receiver.settle import MAX_FAILURES, Pace, Settler

HOLD_S = 0.5
"""Seconds after which the settler lets others have the ledger, though more waits."""
STOP_S = 10.0
"""Seconds that a stop gives the requests that are in, and again the inbox."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the receiver listens (None: that door is closed), who may send, how much it holds.

    `targets` are engines that it scrapes every `scrape_every_s` seconds.
    """

    http: Address
    grpc: Address | None
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    targets: tuple[Target, ...] = ()
    scrape_every_s: float = 15.0


def serve(
    ledger_path: Path,
    configuration: Configuration,
    settings: Settings,
    meter: Meter,
    announce: Callable[[str, Address], None],
) -> None:
    """Receive until SIGINT or SIGTERM; `announce` is told each door and where it is.

    Raises `LedgerError` where the ledger or the inbox cannot be used, `ConfigurationError` where
    an address is taken.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(listening_socket(settings.http))
        path = inbox_path(ledger_path)
        inbox = stack.enter_context(Inbox(path, max_bytes=settings.limits.inbox))
        settling = _Settling(Settler(ledger_path, inbox, configuration), inbox)
        settling.begin()
        stack.enter_context(settling.going_on())
        reception = Reception(configuration, inbox, settings.limits, meter)
        scraping = Scraping(settings.targets, reception, settings.scrape_every_s)
        stack.enter_context(scraping.going_on())
        if settings.grpc is not None:
            server, port = grpc_server(reception, settings.tokens, settings.grpc)
            server.start()
            stack.callback(lambda: server.stop(STOP_S).wait())
            announce("OTLP/gRPC", Address(settings.grpc.host, port))
        app = http_app(reception, settings.tokens, lambda: _health(inbox, settling, scraping))
        options = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=int(STOP_S),
        )
        announce("OTLP/HTTP", Address(settings.http.host, listener.getsockname()[1]))
        with _signals_wait():
            uvicorn.Server(options).run(sockets=[listener])


@contextmanager
def _signals_wait() -> Iterator[None]:
    """The HTTP server ends at a signal and then raises it again, which is to end nothing more."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda _number, _frame: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _health(inbox: Inbox, settling: "_Settling", scraping: Scraping) -> dict[str, object]:
    is_full = inbox.waiting_bytes >= inbox.max_bytes
    return {
        "status": "full" if is_full else "failing" if inbox.trouble else "ok",
        "inbox_bytes": inbox.waiting_bytes,
        "inbox_requests": inbox.waiting_count,
        "failed_requests": inbox.failed_count(MAX_FAILURES),
        "settled_at": settling.settled_at,
        "trouble": inbox.trouble or settling.trouble,
        "scrape_trouble": dict(scraping.trouble),
    }


class _Settling:
    """The thread that takes what waits into the ledger, at a pace that leaves room for readers."""

    def __init__(self, settler: Settler, inbox: Inbox) -> None:
        self.settled_at: float | None = None
        self.trouble: str | None = None
        self._settler = settler
        self._inbox = inbox
        self._is_stopping = threading.Event()

    def begin(self) -> None:
        """Take the first of what an earlier run left; raises where the ledger cannot be used."""
        try:
            self._settler.settle(until=time.monotonic())
        except LedgerLockedError as error:
            self._note(str(error))

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Settle again and again while the context lasts, and once more at its end."""
        thread = threading.Thread(target=self._run, name="settler", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_stopping.set()
            thread.join()
            if waiting := self._inbox.waiting_count:
                _logger.warning(
                    "requests that wait in %s: %d; the next `gpuledger receive` on this ledger "
                    "takes them into it",
                    self._inbox.path,
                    waiting,
                )

    def _run(self) -> None:
        pace = Pace()
        while not self._is_stopping.wait(pace.pause_s(self._left())):
            pace.begin()
            if self._left() or self.trouble:  # else the ledger stays shut
                self._settle(until=time.monotonic() + HOLD_S)
        self._settle(until=time.monotonic() + STOP_S)

    def _left(self) -> int:
        """Arrivals that are still to be tried."""
        waiting = self._inbox.waiting_count
        try:
            if self._inbox.trouble:
                self._inbox.try_again()
            return waiting - self._inbox.failed_count(MAX_FAILURES) if waiting else 0
        except sqlite3.Error as error:  # the inbox is held, or its disk is full: ask again
            self._note(f"{type(error).__name__}: {error}")
            return waiting

    def _settle(self, until: float) -> None:
        try:
            self._settler.settle(until=until)
        except LedgerError as error:
            self._note(str(error))
            return
        except Exception as error:  # noqa: BLE001 - the doors stay open, the inbox keeps the data
            self._note(f"{type(error).__name__}: {error}")
            return
        self.settled_at, self.trouble = time.time(), None

    def _note(self, trouble: str) -> None:
        if trouble != self.trouble:
            _logger.warning("not in the ledger yet: %s", trouble)
        self.trouble = trouble
