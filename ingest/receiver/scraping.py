"""Engines that are scraped: their metrics into the inbox, every so many seconds.

Owns what a target is, and the thread that asks each. Refuses to let one engine that does not answer
hold up the others, or the doors: its trouble is told, and it is asked again.
"""

import logging
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from ingest.errors import ConfigurationError
from ingest.readers.exposition import Scrape
from ingest.receiver.inbox import InboxFullError
from ingest.receiver.reception import STORE_TIMEOUT_S, BusyError, Reception, not_stored

DOOR = "scrape"
PATH = "/metrics"
TIMEOUT_S = 10.0
MAX_BYTES = 64 * 2**20
THREADS = 16

_TARGET = re.compile(r"(?:(?:(?P<pool>[^/=]+)/)?(?P<replica>[^/=]+)=)?(?P<url>https?://.+)")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An engine's metrics: where they are, and whose they are where labels do not tell."""

    url: str
    replica: str
    pool: str | None = None


def parse_target(text: str) -> Target:
    """The target of "http://10.0.0.7:8000", "vllm-0=http://…" or "chat/vllm-0=http://…".

    Without a path it is /metrics; without a replica it is host and port. Raises
    `ConfigurationError` for another form.
    """
    match = _TARGET.fullmatch(text.strip())
    parts = urlsplit(match["url"]) if match else None
    if match is None or parts is None or not parts.hostname:
        raise ConfigurationError(
            f"{text!r} is nothing to scrape; write URL, REPLICA=URL or POOL/REPLICA=URL, such as "
            "chat/vllm-0=http://10.0.0.7:8000/metrics"
        )
    url = match["url"] if parts.path.strip("/") else match["url"].rstrip("/") + PATH
    address = parts.netloc.rpartition("@")[2]
    return Target(url=url, replica=match["replica"] or address, pool=match["pool"])


class Scraping:
    """Asks each target every `every_s` seconds; `trouble` names those that did not answer last."""

    def __init__(self, targets: Sequence[Target], reception: Reception, every_s: float) -> None:
        self.trouble: dict[str, str] = {}
        self._targets = targets
        self._reception = reception
        self._every_s = every_s
        self._is_stopping = threading.Event()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Scrape again and again while the context lasts."""
        thread = threading.Thread(target=self._run, name="scraper", daemon=True)
        if self._targets:
            thread.start()
        try:
            yield
        finally:
            self._is_stopping.set()
            if self._targets:
                thread.join()

    def _run(self) -> None:
        limits = httpx.Limits(max_connections=THREADS)
        with (
            httpx.Client(timeout=TIMEOUT_S, limits=limits, follow_redirects=True) as client,
            ThreadPoolExecutor(THREADS, thread_name_prefix="scrape") as pool,
        ):
            pause_s = 0.0
            while not self._is_stopping.wait(pause_s):
                began_at = time.monotonic()
                list(pool.map(lambda target: self._scrape(client, target), self._targets))
                pause_s = max(0.0, self._every_s - (time.monotonic() - began_at))

    def _scrape(self, client: httpx.Client, target: Target) -> None:
        """One scrape of one target, on the disk when this returns; or its trouble noted."""
        try:
            body = _body(client, target.url)
            scrape = Scrape(instance=target.replica, pool_reported=target.pool)
            taken, stored = self._reception.take_scrape(body, scrape, DOOR)
            stored.result(STORE_TIMEOUT_S)
        except httpx.HTTPStatusError as error:  # its text has the URL, password and all
            self._note(target, f"the answer is {error.response.status_code}", "failed")
            return
        except (InboxFullError, BusyError, sqlite3.Error, TimeoutError) as error:
            self._note(target, not_stored(error), "busy")
            return
        except (httpx.HTTPError, OSError, ValueError) as error:
            self._note(target, f"{type(error).__name__}: {error}", "failed")
            return
        self._reception.count(DOOR, "acknowledged", taken)
        if taken.accepted:
            self.trouble.pop(target.replica, None)
        else:
            self._note(target, "no metric of vLLM, SGLang or llama.cpp in the answer", "empty")

    def _note(self, target: Target, trouble: str, outcome: str) -> None:
        if outcome != "empty":
            self._reception.count(DOOR, outcome)
        if self.trouble.get(target.replica) != trouble:
            _logger.warning("%s is not scraped: %s", target.replica, trouble)
        self.trouble[target.replica] = trouble


def _body(client: httpx.Client, url: str) -> bytes:
    """The body of an answer of 200. Raises `httpx.HTTPError`, or `ValueError` for one too large."""
    with client.stream("GET", url, headers={"Accept": "text/plain"}) as answer:
        answer.raise_for_status()
        chunks: list[bytes] = []
        size = 0
        for chunk in answer.iter_bytes():
            size += len(chunk)
            if size > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES:,} bytes")
            chunks.append(chunk)
    return b"".join(chunks)
