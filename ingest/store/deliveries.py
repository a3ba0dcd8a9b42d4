"""One delivery as a row: what it was, how many records it had, which of them could not be taken.

Owns the counts and their identity, read = new + duplicate + rejected. Refuses a reject without
position and reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ingest.ledger import Connection
from ingest.records import Reject
from ingest.store.arrow import append, arrow_table
from ingest.store.statements import statement

REJECT_COLUMNS: dict[str, pa.DataType] = {
    "position": pa.string(),
    "reason": pa.string(),
    "record": pa.string(),
}
REJECT_SCHEMA = pa.schema(REJECT_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCounts:
    """Records of one delivery; `conflict` counts those duplicates whose content differs.

    `ignored` counts values beside the records that were sound and that no question reads,
    `masked` texts in which a mask found something, by mask.
    """

    read: int = 0
    new: int = 0
    duplicate: int = 0
    rejected: int = 0
    conflict: int = 0
    ignored: int = 0
    masked: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "DeliveryCounts") -> "DeliveryCounts":
        """The counts of two deliveries as those of one."""
        return DeliveryCounts(
            read=self.read + other.read,
            new=self.new + other.new,
            duplicate=self.duplicate + other.duplicate,
            rejected=self.rejected + other.rejected,
            conflict=self.conflict + other.conflict,
            ignored=self.ignored + other.ignored,
            masked=dict(Counter(self.masked) + Counter(other.masked)),
        )


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """Records compared with the ledger; what is neither new nor rejected is a duplicate."""

    read: int
    new: int
    conflict: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What was delivered: its number, where it came from and when, nanoseconds since 1970."""

    delivery_id: int
    source: str
    format_name: str
    checksum: str
    delivered_at: int


@dataclass(frozen=True, slots=True)
class RejectReason:
    """Why `count` records of a delivery were not taken, and where the first of them stands."""

    reason: str
    count: int
    first_position: str


def next_delivery_id(connection: Connection) -> int:
    """The number of the delivery that is being made."""
    ((delivery_id,),) = connection.execute(
        "select coalesce(max(delivery_id), 0) + 1 as delivery_id from deliveries"
    ).fetchall()
    return int(delivery_id)


def rejects_table(rejects: Sequence[Reject]) -> pa.Table:
    """`rejects`, which have passed the privacy setting, as rows that can be stored."""
    rows = [(_storable(r.position), _storable(r.reason), _storable(r.record)) for r in rejects]
    return arrow_table(rows, REJECT_SCHEMA)


def keep_rejects(connection: Connection, delivery_id: int, table: pa.Table) -> None:
    """Store what could not be taken: the rows of `table`, as `rejects_table` makes it."""
    append(connection, statement("rejects_append"), table, {"delivery_id": delivery_id})


def keep_delivery(connection: Connection, delivery: Delivery, counts: DeliveryCounts) -> None:
    """Store the delivery itself, in place of what was stored of it before."""
    connection.execute(
        statement("deliveries_insert"),
        {
            "delivery_id": delivery.delivery_id,
            "source": _storable(delivery.source),
            "format": delivery.format_name,
            "checksum": delivery.checksum,
            "delivered_at": delivery.delivered_at,
            "read_count": counts.read,
            "new_count": counts.new,
            "duplicate_count": counts.duplicate,
            "rejected_count": counts.rejected,
            "conflict_count": counts.conflict,
            "ignored_count": counts.ignored,
        },
    )


def reject_reasons(connection: Connection, delivery_id: int) -> list[RejectReason]:
    """The reasons of a delivery's rejects, the most frequent first, ten at most."""
    terms = {"delivery_id": delivery_id}
    rows = connection.execute(statement("rejects_by_reason"), terms).fetchall()
    return [RejectReason(str(reason), int(count), str(first)) for reason, count, first in rows]


def _storable(text: str | None) -> str | None:
    """`text` without lone surrogates, which no UTF-8 column can hold."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")
