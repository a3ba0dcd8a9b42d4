"""The path of one delivery: a source through its reader into the ledger, all of it or nothing.

Owns the order of things and the transaction around them. Refuses to hold more of a source than a
batch, and to commit half of one: a crash or an interrupt leaves the ledger as it was.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from ingest.calls.derive import DERIVATION_VERSION
from ingest.charging import charge
from ingest.config import Configuration
from ingest.files import RefusedSourceError, Source, open_sources
from ingest.files.beside import beside_data
from ingest.ledger import Ledger
from ingest.readers import reader_dated, reader_named, recognise
from ingest.readers.mapped_files import MappedFile
from ingest.readers.mapping_file import RowMapping
from ingest.readers.other_format import read_as
from ingest.readers.reader import Reader
from ingest.redact import Redaction
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


def deliver_paths(  # noqa: PLR0913 - what and how, then three that only a few callers set
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

    Each source is a transaction of its own. Afterwards what they touched is charged again.
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

    def take(source: Source, reader: Reader) -> DeliveryCounts:
        dated = reader if scraped_at is None else reader_dated(reader, scraped_at)
        return deliver(ledger, source, dated, terms, progress, clock=clock)

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
    take: Callable[[Source, Reader], DeliveryCounts],
) -> DeliveryResult:
    name = None if reader is None else reader.name
    if isinstance(opened, RefusedSourceError):
        return DeliveryResult(source=opened.name, format_name=name, error=opened.found)
    try:
        reader = reader or recognise(opened)
        name = reader.name
        counts = take(opened, reader)
    except RefusedSourceError as error:
        return DeliveryResult(
            source=opened.name,
            format_name=name,
            error=error.found,
            is_companion=error.is_companion,
        )
    reasons = reject_reasons(ledger.connection) if counts.rejected else []
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


def deliver(  # noqa: PLR0913 - the parts of a delivery, and time as an argument
    ledger: Ledger,
    source: Source,
    reader: Reader,
    configuration: Configuration,
    progress: Progress | None = None,
    *,
    clock: Clock = time.time_ns,
) -> DeliveryCounts:
    """How many records of `source` were read, new, duplicate and rejected, once all are stored.

    One transaction; charges are marked stale and not computed. Raises `UnreadableSourceError`
    where the source turns out to be damaged, and then takes nothing of it.
    """
    with ledger.transaction() as connection:
        delivery = Delivery(
            delivery_id=next_delivery_id(connection),
            source=Redaction(configuration).text(source.name),
            format_name=reader.name,
            checksum=source.checksum,
            delivered_at=clock(),
        )
        stage = Stage(connection, delivery.delivery_id, configuration)
        for batch in read_as(reader, source):
            stage.take(batch)
            if progress is not None:
                progress(source)
        counts = stage.settle()
        keep_delivery(connection, delivery, counts)
    return counts


def is_mapped(ledger: Ledger, configuration: Configuration) -> bool:
    """Whether the calls of the ledger were derived with the `[map]` of `configuration`."""
    return ledger.fact(MAP_FACT) == _map_digest(configuration)


def derive_again(ledger: Ledger, configuration: Configuration) -> None:
    """Derive the calls of every trace of the ledger again, as `configuration` maps them now."""
    with ledger.transaction() as connection:
        stage = Stage(connection, next_delivery_id(connection) - 1, configuration)
        connection.execute(statement("traces_touch_all"))
        stage.settle()
        ledger.set_fact(MAP_FACT, _map_digest(configuration))


def _map_digest(configuration: Configuration) -> str:
    terms = (DERIVATION_VERSION, configuration.map)
    return sha256(msgspec.json.encode(terms, order="sorted")).hexdigest()
