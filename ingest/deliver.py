"""The path of one delivery: a source through its reader, and then part by part into the ledger.

Owns the order of things and the transaction around each part. Refuses to take anything of a source
that cannot be read to its end, and to hold more of it than a part. While it reads and between two
parts, the ledger is left to those who wait for it. After a crash or an interrupt the ledger has
whole parts, and delivering again adds the others.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from ingest.calls.derive import DERIVATION_VERSION
from ingest.charging import charge
from ingest.config import Configuration
from ingest.files import RefusedSourceError, Source, open_sources
from ingest.files.beside import beside_data
from ingest.hold import PART_RECORDS, Hold
from ingest.ledger import Ledger
from ingest.readers import reader_dated, reader_named, recognise
from ingest.readers.mapped_files import MappedFile
from ingest.readers.mapping_file import RowMapping
from ingest.readers.other_format import read_as
from ingest.readers.reader import Reader
from ingest.rows import RowMaker, Rows
from ingest.stage import Stage
from ingest.store.deliveries import (
    Delivery,
    DeliveryCounts,
    RejectReason,
    keep_delivery,
    next_delivery_id,
    reject_reasons,
)
from ingest.store.statements import statement

Progress = Callable[[Source], None]
"""Told after every batch; `source.read_position()` says how far the reader is, in bytes."""

Clock = Callable[[], int]
"""Gives the present, nanoseconds since 1970."""

Delivered = tuple[int, DeliveryCounts]
"""The number of a delivery, and what became of its records."""

MAP_FACT = "map_digest"
"""The ledger's fact that tells with which rules and which `[map]` its calls were derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryResult:
    """What became of one source: its counts, or in `error` why it could not be read."""

    source: str
    format_name: str | None
    counts: DeliveryCounts | None = None
    reject_reasons: tuple[RejectReason, ...] = ()
    error: str | None = None
    is_companion: bool = False
    is_skipped: bool = False
    """Whether it lay beside data in a folder, and is by its name none."""


def deliver_paths(
    ledger: Ledger,
    paths: Sequence[str],
    configuration: Configuration,
    *,
    format_name: str | None = None,
    map_override: Mapping[str, tuple[str, ...]] | None = None,
    mapping: RowMapping | None = None,
    scraped_at: int | None = None,
    progress: Progress | None = None,
    clock: Clock = time.time_ns,
) -> list[DeliveryResult]:
    """What became of each source under `paths`; one that cannot be read does not stop the others.

    Afterwards what they touched is charged again.
    `map_override` takes the place of the configured `[map]` for these sources alone; `mapping`
    reads each of them as rows, whatever it looks like. `scraped_at`, nanoseconds since 1970, dates
    the samples of an engine that nothing else dates. Raises the error of `reader_named` for an
    unknown `format_name`.
    """
    reader: Reader | None = None if mapping is None else MappedFile(mapping)
    if format_name is not None:
        reader = reader_named(format_name)
    if not is_mapped(ledger, configuration):
        derive_again(ledger, configuration)
    terms = configuration
    if map_override is not None:
        terms = msgspec.structs.replace(configuration, map=dict(map_override))

    def take(source: Source, reader: Reader) -> Delivered:
        dated = reader if scraped_at is None else reader_dated(reader, scraped_at)
        return _deliver(ledger, source, dated, terms, progress, clock)

    results = [
        _skipped_if_beside(_result(ledger, opened, reader, take), paths)
        for opened in open_sources(paths)
    ]
    charge(ledger, configuration)
    return results


def _result(
    ledger: Ledger,
    opened: Source | RefusedSourceError,
    reader: Reader | None,
    take: Callable[[Source, Reader], Delivered],
) -> DeliveryResult:
    name = None if reader is None else reader.name
    if isinstance(opened, RefusedSourceError):
        return DeliveryResult(source=opened.name, format_name=name, error=opened.found)
    try:
        reader = reader or recognise(opened)
        name = reader.name
        delivery_id, counts = take(opened, reader)
    except RefusedSourceError as error:
        return DeliveryResult(
            source=opened.name,
            format_name=name,
            error=error.found,
            is_companion=error.is_companion,
        )
    reasons = reject_reasons(ledger.connection, delivery_id) if counts.rejected else []
    return DeliveryResult(
        source=opened.name, format_name=name, counts=counts, reject_reasons=tuple(reasons)
    )


def _skipped_if_beside(result: DeliveryResult, paths: Sequence[str]) -> DeliveryResult:
    """`result`, skipped where a folder or a pattern, and not the user, names what is no data."""
    is_named = result.source in {*paths, *(str(Path(path)) for path in paths)}
    what = beside_data(result.source) if result.error and not is_named else None
    if what is None:
        return result
    return replace(result, error=f"{what}, no telemetry", is_skipped=True)


def deliver(
    ledger: Ledger,
    source: Source,
    reader: Reader,
    configuration: Configuration,
    progress: Progress | None = None,
    *,
    clock: Clock = time.time_ns,
) -> DeliveryCounts:
    """How many records of `source` were read, new, duplicate and rejected, once all are stored.

    Charges are marked stale and not computed. Raises `UnreadableSourceError` where the source turns
    out to be damaged, and then takes nothing of it.
    """
    return _deliver(ledger, source, reader, configuration, progress, clock)[1]


def _deliver(  # noqa: PLR0917 - the parts of a delivery
    ledger: Ledger,
    source: Source,
    reader: Reader,
    configuration: Configuration,
    progress: Progress | None,
    clock: Clock,
) -> Delivered:
    maker = RowMaker(ledger.connection, configuration)
    with Hold(maker.none(), ledger.path) as hold:
        for batch in read_as(reader, source):
            hold.add(maker.rows(batch))
            if hold.is_large:
                ledger.release()
            ledger.give_way()
            if progress is not None:
                progress(source)
        delivery = Delivery(
            delivery_id=0,
            source=maker.text(source.name),
            format_name=reader.name,
            checksum=source.checksum,
            delivered_at=clock(),
        )
        told = DeliveryCounts(ignored=maker.ignored_count, masked=maker.masked)
        return _take_parts(ledger, hold.parts(), delivery, told, configuration)


def _take_parts(
    ledger: Ledger,
    parts: Iterable[Rows],
    delivery: Delivery,
    counts: DeliveryCounts,
    configuration: Configuration,
) -> Delivered:
    """Take each part in a transaction with the counts so far; the first gives the number."""
    for rows in parts:
        with ledger.transaction() as connection:
            if not delivery.delivery_id:
                delivery = replace(delivery, delivery_id=next_delivery_id(connection))
            stage = Stage(connection, delivery.delivery_id, configuration)
            stage.take(rows)
            counts += stage.settle()
            keep_delivery(connection, delivery, counts)
        ledger.give_way()
    return delivery.delivery_id, counts


def is_mapped(ledger: Ledger, configuration: Configuration) -> bool:
    """Whether the calls of the ledger were derived with the `[map]` of `configuration`."""
    return ledger.fact(MAP_FACT) == _map_digest(configuration)


def derive_again(ledger: Ledger, configuration: Configuration) -> None:
    """Derive the calls of every trace of the ledger again, as `configuration` maps them now.

    Part by part: after an interruption the ledger is not mapped, and all are derived again.
    """
    connection = ledger.connection
    connection.execute(statement("traces_plan"), {"part_spans": PART_RECORDS})
    parts = connection.execute("select distinct part_no from planned_traces order by 1").fetchall()
    for (part_no,) in parts:
        with ledger.transaction():
            stage = Stage(connection, next_delivery_id(connection) - 1, configuration)
            connection.execute(statement("traces_touch"), {"part_no": part_no})
            stage.settle()
    connection.execute("drop table planned_traces")
    ledger.set_fact(MAP_FACT, _map_digest(configuration))


def _map_digest(configuration: Configuration) -> str:
    terms = (DERIVATION_VERSION, configuration.map)
    return sha256(msgspec.json.encode(terms, order="sorted")).hexdigest()
