"""Lanes: what shares GPUs, and the calls on them as arrays.

Owns the reading of calls from the ledger. Refuses to charge them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ingest.charging.kernel import Choices, Instants
from ingest.charging.partitions import Partition
from ingest.charging.statements import statement
from ingest.ledger import Connection

Lane = tuple[str, str | None]
"""Pool and replica: what shares GPUs. The replica is None where only the pool is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCalls:
    """Parallel arrays of the calls of a chunk; `lane` is a position in the chunk's lanes.

    `choices` is None where every call has one.
    """

    call_no: npt.NDArray[np.int64]
    cohort_id: npt.NDArray[np.int32]
    lane: npt.NDArray[np.int32]
    started_at: Instants
    first_token_at: Instants
    ended_at: Instants
    choices: Choices | None

    @classmethod
    def of(cls, rows: pa.Table) -> "ChunkCalls":
        """The columns of `rows`, which has them all without nulls."""
        columns: dict[str, Any]
        columns = {name: rows[name].to_numpy() for name in cls.__dataclass_fields__}
        if pc.max(rows["choices"]).as_py() in (None, 1):
            columns["choices"] = None
        return cls(**columns)


def lanes_of(partitions: Sequence[Partition]) -> list[Lane]:
    """The distinct lanes of `partitions`."""
    lanes = {(p.pool, p.replica) for p in partitions if p.pool is not None}
    return sorted(lanes, key=lambda lane: (lane[0], lane[1] or ""))


def read_calls(connection: Connection, lanes: Sequence[Lane], since: int, until: int) -> ChunkCalls:
    """What lies in [since, until), in nanoseconds, of the calls on `lanes`.

    Reads the view that `ingest.charging.estimates.time_calls` defines.
    """
    connection.register("chunk_lanes", _lane_table(lanes))
    window = {"since": since, "until": until}
    rows = connection.sql(statement("chunk_calls"), params=window).to_arrow_table()
    connection.unregister("chunk_lanes")
    return ChunkCalls.of(rows)


def _lane_table(lanes: Sequence[Lane]) -> pa.Table:
    return pa.table(
        {
            "lane": pa.array(range(len(lanes)), pa.int32()),
            "pool": pa.array([pool for pool, _ in lanes], pa.string()),
            "replica": pa.array([replica for _, replica in lanes], pa.string()),
        }
    )
