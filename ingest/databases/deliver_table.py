"""The path of a table into the ledger: what is new, what is late, what changed.

Owns the order in which stretches are read, and the transaction that keeps rows and memory
together. Refuses to trust that rows come in order: the newest are read again each time, and the
others where they are no more what was read.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ingest.config import Configuration
from ingest.databases import statements
from ingest.databases.cutting import Cuts
from ingest.databases.errors import DatabaseSourceError
from ingest.databases.marks import earlier, is_reached
from ingest.databases.opening import Snapshot
from ingest.databases.readings import Reading
from ingest.databases.segments import Measures, Memory, Segment, Tally, remembered, tally, written
from ingest.databases.shape import Shape
from ingest.ledger import Ledger
from ingest.readers.reader import MAX_BATCH_CHARACTERS
from ingest.readers.rejection import rejected
from ingest.records import Batch, Call, Reject
from ingest.rows import RowMaker
from ingest.stage import Stage
from ingest.store.deliveries import (
    Delivery,
    DeliveryCounts,
    RejectReason,
    keep_delivery,
    next_delivery_id,
    reject_reasons,
)

STRETCH_ROWS = 20_000
"""Rows that are delivered together: so many, at most, are read again after an interruption."""
BATCH_ROWS = 1_000

Row = tuple[Any, ...]
Progress = Callable[[str, DeliveryCounts], None]
"""Told after every stretch: the table, and what became of its rows so far."""


@dataclass(slots=True, kw_only=True)
class TableDelivery:
    """One table on its way into a ledger."""

    ledger: Ledger
    snapshot: Snapshot
    shape: Shape
    reading: Reading
    configuration: Configuration
    clock: Callable[[], int]
    progress: Progress | None = None
    counts: DeliveryCounts = field(default_factory=DeliveryCounts)
    reasons: dict[str, RejectReason] = field(default_factory=dict)
    _measures: Measures = field(init=False)
    _memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self._measures = Measures.of(
            self.shape, self.reading.columns, self.reading.summed, self.reading.changed
        )
        terms = hashlib.sha256(repr((self.reading.columns, self.reading.said)).encode())
        self._memory = remembered(self.ledger.fact(self._fact), terms.hexdigest())

    @property
    def source(self) -> str:
        """The table as it is shown and kept: the address without its secrets, and the name."""
        return f"{self.snapshot.address.shown}#{self.shape.shown}"

    @property
    def _fact(self) -> str:
        return f"database:{self.snapshot.address.key}#{self.shape.shown}"

    def run(self) -> None:
        """Bring every row that the ledger lacks; `counts` tells what was read, also if it fails."""
        self._claim_namespace()
        watermark = self.reading.watermark
        if watermark is None:
            self._whole()
            return
        try:
            self._incremental(watermark)
        except TypeError as error:
            raise DatabaseSourceError(
                self.snapshot.address,
                f"{watermark} holds values of several kinds, which have no order ({error}); "
                "name another column in [table] watermark",
            ) from error

    def _whole(self) -> None:
        rows = self.snapshot.rows(statements.every(self.shape, self.reading.columns))
        while stretch := list(islice(rows, STRETCH_ROWS)):
            self._deliver(stretch, lambda memory, _made: memory)

    def _incremental(self, watermark: str) -> None:
        [(high,)] = self.snapshot.all(statements.latest(self.shape, watermark))
        is_unplaced_new = not self._memory.segments
        for since, until in self._changed_stretches(watermark):
            if until is statements.UNPLACED:
                is_unplaced_new = True
            else:
                self._read_again(watermark, since, until)
        if is_unplaced_new:
            self._read_unplaced(watermark)
        is_held = not (isinstance(high, str) and self.shape.may_be_endless(watermark))
        settled_at = earlier(high, self.reading.lag, self.reading.unit) if is_held else None
        self._read_newest(watermark, settled_at)

    def _changed_stretches(self, watermark: str) -> list[tuple[Any, Any]]:
        """The stretches whose rows are no more what was read; `UNPLACED` for those without one."""
        memory = self._memory
        if not memory.segments or not self.reading.is_checked:
            return []
        bounds = [segment.until for segment in memory.segments]
        counted = statements.tallies(self.shape, watermark, bounds, self._measures)
        now = {
            int(row[0]): statements.tally_of(row, self._measures)
            for row in self.snapshot.all(counted)
        }
        stretches = zip([None, *bounds], memory.segments, strict=False)
        found: list[tuple[Any, Any]] = [
            (since, segment.until)
            for number, (since, segment) in enumerate(stretches)
            if now.get(number, Tally()) != segment.tally
        ]
        if now.get(statements.UNPLACED, Tally()) != memory.unplaced:
            found.append((None, statements.UNPLACED))
        return found

    def _read_again(self, watermark: str, since: Any, until: Any) -> None:
        """Read a stretch that changed; it is remembered anew when all of it is delivered."""
        cuts = Cuts(self.reading.columns.index(watermark), STRETCH_ROWS, None)
        made: list[Segment] = []
        tallied = Tally()
        for number, rows in self._stretches(cuts, watermark, since, until):
            tallied = self._deliver(rows, lambda memory, _made: memory)
            made.append(Segment(cuts.ends.get(number, until), tallied))
        if not made or made[-1].until != until:
            made.append(Segment(until, Tally()))
        with self.ledger.transaction():
            self._remember(self._memory.with_segments(since, made, until))

    def _read_newest(self, watermark: str, settled_at: Any) -> None:
        """Read from where the memory ends; what lies before `settled_at` is remembered."""
        since = self._memory.read_until
        cuts = Cuts(self.reading.columns.index(watermark), STRETCH_ROWS, settled_at)
        made: list[Segment] = []
        for number, rows in self._stretches(cuts, watermark, since, None):

            def keep(memory: Memory, tallied: Tally, number: int = number) -> Memory:
                until = cuts.ends.get(number)
                is_settled = until is not None and is_reached(settled_at, until)
                if not is_settled or (since is not None and is_reached(since, until)):
                    return memory
                made.append(Segment(until, tallied))
                return memory.with_segments(since, made, None)

            self._deliver(rows, keep)

    def _read_unplaced(self, watermark: str) -> None:
        rows = self.snapshot.rows(statements.unplaced(self.shape, self.reading.columns, watermark))
        total = Tally()
        while stretch := list(islice(rows, STRETCH_ROWS)):
            total = total.plus(self._deliver(stretch, lambda memory, _made: memory))
        with self.ledger.transaction():
            self._remember(replace(self._memory, unplaced=total))

    def _stretches(
        self, cuts: Cuts, watermark: str, since: Any, until: Any
    ) -> Iterator[tuple[int, Iterator[Row]]]:
        wanted = statements.stretch(self.shape, self.reading.columns, watermark, since, until)
        return cuts.stretches(self.snapshot.rows(wanted))

    def _deliver(self, rows: Iterable[Row], keep: Callable[[Memory, Tally], Memory]) -> Tally:
        """Take `rows` and what `keep` makes of the memory into the ledger, both or neither."""
        total = Tally()
        digest = hashlib.sha256()
        with self.ledger.transaction() as connection:
            delivery_id = next_delivery_id(connection)
            maker = RowMaker(connection, self.configuration)
            stage = Stage(connection, delivery_id, self.configuration)
            for batch, records in self._batches(rows):
                for row in batch:
                    digest.update(repr(row).encode("utf-8", "surrogatepass"))
                total = total.plus(tally(batch, self.reading.columns, self._measures))
                stage.take(maker.rows(records))
            counts = stage.settle() + DeliveryCounts(masked=maker.masked)
            delivery = Delivery(
                delivery_id=delivery_id,
                source=self.source,
                format_name=self.reading.format_name,
                checksum=digest.hexdigest(),
                delivered_at=self.clock(),
            )
            keep_delivery(connection, delivery, counts)
            self._remember(keep(self._memory, total))
        self._count(delivery_id, counts)
        self.ledger.give_way()
        return total

    def _batches(self, rows: Iterable[Row]) -> Iterator[tuple[list[Row], Batch]]:
        """Rows with the calls and rejects of them, so many as are held at once."""
        batch: list[Row] = []
        calls: list[Call] = []
        rejects: list[Reject] = []
        characters = 0
        for row in rows:
            record = self._record_of(row)
            if isinstance(record, Call):
                calls.append(record)
                characters += len(record.prompt or "") + len(record.completion or "")
            else:
                rejects.append(record)
            batch.append(row)
            if len(batch) == BATCH_ROWS or characters > MAX_BATCH_CHARACTERS:
                yield batch, Batch(calls=calls, rejects=rejects)
                batch, calls, rejects, characters = [], [], [], 0
        if batch:
            yield batch, Batch(calls=calls, rejects=rejects)

    def _record_of(self, values: Row) -> Call | Reject:
        row = dict(zip(self.reading.columns, values, strict=True))
        try:
            return self.reading.call_of(row)
        except ValueError as error:
            return rejected(self.reading.position(row), error, row)

    def _count(self, delivery_id: int, counts: DeliveryCounts) -> None:
        self.counts += counts
        if self.progress is not None:
            self.progress(self.source, self.counts)
        if not counts.rejected:
            return
        for found in reject_reasons(self.ledger.connection, delivery_id):
            before = self.reasons.get(found.reason)
            count = found.count + (0 if before is None else before.count)
            self.reasons[found.reason] = replace(before or found, count=count)

    def _remember(self, memory: Memory) -> None:
        self.ledger.set_fact(self._fact, written(memory))
        self._memory = memory

    def _claim_namespace(self) -> None:
        """Stop before ids of another database are taken for those of the one that is known."""
        namespace = self.reading.namespace
        if namespace is None:
            return
        fact, key = f"database_rows:{namespace}", self.snapshot.address.key
        other = self.ledger.fact(fact)
        if other is None:
            self.ledger.set_fact(fact, key)
        elif other != key:
            raise DatabaseSourceError(
                self.snapshot.address,
                f"the ledger has the rows of {namespace} from {other}; if these are the same rows, "
                f'say [table] namespace = "{namespace}", if they are others give them a name of '
                "their own there",
            )
