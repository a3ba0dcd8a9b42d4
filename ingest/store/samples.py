"""Samples of engine metrics into the ledger, one a series and instant.

Owns the digest of a series. Refuses to interpret a value: resets and rates are the view's.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import orjson
import pyarrow as pa

from ingest.ledger import Connection
from ingest.records import Reject, Sample
from ingest.store.arrow import Row, append, fitting_table
from ingest.store.deliveries import MergeCounts
from ingest.store.statements import statement

SAMPLE_COLUMNS: dict[str, pa.DataType] = {
    "engine": pa.string(),
    "metric": pa.string(),
    "kind": pa.string(),
    "name": pa.string(),
    "name_rank": pa.int32(),
    "model": pa.string(),
    "instance": pa.string(),
    "pool_reported": pa.string(),
    "labels": pa.string(),
    "digest": pa.string(),
    "sampled_at": pa.int64(),
    "began_at": pa.int64(),
    "value": pa.float64(),
}
SAMPLE_SCHEMA = pa.schema(SAMPLE_COLUMNS)


def stage_sample_table(connection: Connection, table: pa.Table, *, delivery_id: int) -> None:
    """Put the rows of `table`, as `sample_table` makes it, beside the ledger."""
    if table.num_rows:
        append(connection, statement("samples_append"), table, {"delivery_id": delivery_id})


def sample_table(samples: Sequence[Sample]) -> tuple[pa.Table, list[Reject]]:
    """`samples` as rows of `SAMPLE_SCHEMA`, and what fits no row."""
    rows: list[Row] = []
    kept: list[Sample] = []
    rejects: list[Reject] = []
    for sample in samples:
        try:
            rows.append(_row(sample))
            kept.append(sample)
        except TypeError as error:
            rejects.append(_reject(sample, f"it holds a text that cannot be kept: {error}"))
    table, unfit = fitting_table(rows, SAMPLE_SCHEMA)
    return table, rejects + [_reject(kept[row.index], row.reason) for row in unfit]


def _reject(sample: Sample, reason: str) -> Reject:
    return Reject(position=f"sample of {sample.name}", reason=reason)


def _row(sample: Sample) -> Row:
    labels = orjson.dumps(sample.labels, option=orjson.OPT_SORT_KEYS).decode()
    series = (
        sample.engine,
        sample.metric,
        sample.kind,
        sample.name,
        sample.model,
        sample.instance,
        sample.pool_reported,
        labels,
    )
    return (
        *series[:4],
        sample.rank,
        *series[4:],
        _digest(series),
        sample.at,
        sample.began_at,
        sample.value,
    )


@lru_cache(maxsize=16_384)
def _digest(series: tuple[str | None, ...]) -> str:
    return blake2b(orjson.dumps(series), digest_size=16).hexdigest()


def merge_samples(connection: Connection) -> MergeCounts:
    """Bring the staged samples into the ledger; how many were read, new, and of another value."""
    ((staged_count,),) = connection.execute("select count(*) from staged_samples").fetchall()
    if staged_count == 0:
        return MergeCounts(0, 0, 0)
    connection.execute(statement("series_merge"))
    connection.execute(statement("samples_merge"))
    ((read, new, conflict),) = connection.execute(statement("samples_counts")).fetchall()
    return MergeCounts(int(read), int(new), int(conflict))
