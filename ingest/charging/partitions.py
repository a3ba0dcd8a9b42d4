"""Partitions: what has to be charged again when calls come, go or move.

Owns `charge_partitions`. A partition is one replica over one UTC day; calls of which only the pool
is known share one a day, and so do calls that are priced by the token, whose pool is null. Refuses
to charge: it marks, and says what is marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ingest.charging.statements import statement
from ingest.ledger import Connection, Ledger

VERSION_FACT = "charging_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One replica over one UTC day (days since 1970); `pool` is None for token-priced calls."""

    partition_id: int
    pool: str | None
    replica: str | None
    day: int


def mark_stale(connection: Connection, touched: str) -> None:
    """Mark what the calls of temp table `touched` lie in; call it before and after they change.

    The table has `cohort_id`, `replica`, `arrived_at`, `started_at` and `ended_at` of every call
    row that was inserted or removed. A cohort that no configuration has been applied to yet counts
    as priced by the token until `apply_configuration` resolves it and marks its calls anew.
    """
    connection.execute(statement("touched_partitions"), {"touched": touched})
    connection.execute(statement("partitions_mark"))


def mark_other_version(ledger: Ledger, version: int) -> None:
    """Mark every partition stale where charges were made by another version of the formula."""
    if ledger.fact(VERSION_FACT) != str(version):
        ledger.connection.execute(statement("partitions_mark_all"))
        ledger.set_fact(VERSION_FACT, str(version))


def mark_mixed(connection: Connection) -> None:
    """Mark the whole day of a pool of known and unknown replicas where a part of it is stale."""
    connection.execute(statement("partitions_mark_mixed"))


def has_stale_partitions(connection: Connection) -> bool:
    """Whether any partition is to be charged again."""
    found = connection.execute("select count(*) from charge_partitions where is_stale")
    return found.fetchall() != [(0,)]


def stale_partitions(connection: Connection) -> list[Partition]:
    """The partitions of GPU-charged calls that are to be charged again, by day."""
    found = connection.sql(statement("partitions_stale"))
    return [Partition(**row) for row in found.to_arrow_table().to_pylist()]


def partitions_of_day(connection: Connection, day: int) -> list[Partition]:
    """The partitions of GPU-charged calls on one UTC day (days since 1970)."""
    found = connection.sql(statement("partitions_of_day"), params={"day": day})
    return [Partition(**row) for row in found.to_arrow_table().to_pylist()]


def partition_table(partitions: Sequence[Partition]) -> pa.Table:
    """`partitions` as rows, to join with."""
    return pa.table(
        {
            "partition_id": pa.array([p.partition_id for p in partitions], pa.int32()),
            "pool": pa.array([p.pool for p in partitions], pa.string()),
            "replica": pa.array([p.replica for p in partitions], pa.string()),
            "day": pa.array([p.day for p in partitions], pa.int32()),
        }
    )
