"""From the inbox into the ledger, exactly once.

Owns the transaction that takes arrivals and remembers their numbers: after a crash between the
ledger's commit and the inbox's, they are known as taken. Refuses to let one arrival that cannot
be taken hold up the others: it is tried alone, a few times, and then left for a person.
"""

import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import duckdb

from ingest.config import Configuration
from ingest.current import make_current
from ingest.ledger import Ledger, open_for_writing
from ingest.receiver.inbox import Arrival, Inbox, Waiting
from ingest.receiver.intake import SAMPLE_FORMATS, unpacked
from ingest.stage import Stage
from ingest.store.deliveries import Delivery, keep_delivery, next_delivery_id

MAX_FAILURES = 3
GROUP_BYTES = 16 * 2**20
GROUP_RECORDS = 1_000
"""Packed bytes and records of arrivals that are taken in one transaction, about."""

WRITE_ERRORS = (duckdb.IOException, duckdb.TransactionException)
"""What a statement, or the commit, raises where the ledger's file cannot be written."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What one run took: arrivals and their records, the new ones among them, and what failed."""

    arrivals: int = 0
    records: int = 0
    new: int = 0
    failed: int = 0

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(
            arrivals=self.arrivals + other.arrivals,
            records=self.records + other.records,
            new=self.new + other.new,
            failed=self.failed + other.failed,
        )


class Settler:
    """Takes what waits in the inbox into the ledger, in groups; after a failure one by one."""

    def __init__(self, ledger_path: Path, inbox: Inbox, configuration: Configuration) -> None:
        self._ledger_path = ledger_path
        self._inbox = inbox
        self._configuration = configuration
        self._is_one_by_one = False

    def settle(self, *, until: float = math.inf) -> Settled:
        """Take what waits and charge it; after `until`, on the monotonic clock, leave the rest.

        Raises what `open_for_writing` raises, and `WRITE_ERRORS` where the ledger cannot be
        written: nothing is lost then, the inbox keeps it.
        """
        total = Settled()
        memory_limit = self._configuration.memory_limit
        with open_for_writing(self._ledger_path, memory_limit=memory_limit) as ledger:
            self._forget_taken(ledger)
            while group := self._next_group():
                try:
                    total += self._take(ledger, group)
                except WRITE_ERRORS:  # a full disk is no fault of what waits
                    raise
                except Exception:  # a reader may fail in any way; the inbox keeps the group
                    _logger.exception("%d arrivals could not be taken into the ledger", len(group))
                    total += self._failed(group)
                    break
                if time.monotonic() >= until:
                    break
            else:
                self._is_one_by_one = False
            make_current(ledger, self._configuration)
        return total

    def _next_group(self) -> list[Waiting]:
        records = 1 if self._is_one_by_one else GROUP_RECORDS
        return self._inbox.waiting(
            max_bytes=GROUP_BYTES, max_records=records, max_failures=MAX_FAILURES
        )

    def _failed(self, group: Sequence[Waiting]) -> Settled:
        """Find out which arrival of `group` it was: the next run takes them one by one."""
        self._is_one_by_one = True
        if len(group) > 1:
            return Settled()
        self._inbox.mark_failed(group[0].arrival_id)
        return Settled(failed=1)

    def _forget_taken(self, ledger: Ledger) -> None:
        """Drop from the inbox what the ledger took just before a crash."""
        taken = ledger.fact(_fact(self._inbox))
        if taken is not None:
            self._inbox.forget(json.loads(taken))

    def _take(self, ledger: Ledger, group: Sequence[Waiting]) -> Settled:
        """Take `group` in one transaction, then out of the inbox."""
        numbers = [waiting.arrival_id for waiting in group]
        arrivals = sorted((waiting.arrival for waiting in group), key=_door_and_format)
        total = Settled()
        with ledger.transaction():
            for _, alike in groupby(arrivals, key=_door_and_format):
                total += _deliver(ledger, list(alike), self._configuration)
            ledger.set_fact(_fact(self._inbox), json.dumps(numbers))
        self._inbox.forget(numbers)
        return total


def _door_and_format(arrival: Arrival) -> tuple[str, str]:
    return arrival.door, arrival.format_name


def _deliver(ledger: Ledger, arrivals: Sequence[Arrival], configuration: Configuration) -> Settled:
    """The delivery that `arrivals`, which came by one door in one format, make together."""
    connection = ledger.connection
    delivery = Delivery(
        delivery_id=next_delivery_id(connection),
        source=arrivals[0].door,
        format_name=arrivals[0].format_name,
        checksum=sha256("".join(a.checksum for a in arrivals).encode()).hexdigest(),
        delivered_at=max(arrival.received_at for arrival in arrivals),
    )
    stage = Stage(connection, delivery.delivery_id, configuration)
    for arrival in arrivals:
        is_of_samples = arrival.format_name in SAMPLE_FORMATS
        take = stage.take_samples if is_of_samples else stage.take_spans
        take(*unpacked(arrival.content))
    counts = stage.settle()
    keep_delivery(connection, delivery, counts)
    return Settled(arrivals=len(arrivals), records=counts.read, new=counts.new)


def _fact(inbox: Inbox) -> str:
    return f"taken_from_inbox_{inbox.name}"


class Pace:
    """How long to wait between two runs, so that questions find the ledger free.

    A rest is four times the run before it; where the run left something, it is as long.
    """

    def __init__(self, least_s: float = 0.3, most_s: float = 30.0) -> None:
        self._least_s, self._most_s = least_s, most_s
        self._began_at = time.monotonic()

    def begin(self) -> None:
        """A run begins."""
        self._began_at = time.monotonic()

    def pause_s(self, left: int) -> float:
        """Seconds to wait after the run that began last and left `left` arrivals."""
        took_s = time.monotonic() - self._began_at
        return min(max(self._least_s, (1.0 if left else 4.0) * took_s), self._most_s)
