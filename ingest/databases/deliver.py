"""Databases into the ledger: which table is meant, and what became of each.

Owns the choice of the table. Refuses to guess a mapping: it proposes one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ingest.charging import charge
from ingest.config import Configuration
from ingest.databases.address import Address
from ingest.databases.deliver_table import Progress, TableDelivery
from ingest.databases.errors import DatabaseSourceError
from ingest.databases.opening import Snapshot, snapshot
from ingest.databases.readings import SPEND_LOGS, Reading, is_spend_logs, mapped_table, spend_logs
from ingest.databases.shape import Shape, shape_of, table_names
from ingest.databases.statements import sample
from ingest.deliver import DeliveryResult
from ingest.ledger import Ledger
from ingest.readers.mapping_file import RowMapping
from ingest.readers.mapping_proposal import matches, proposed_mapping


@dataclass(frozen=True, slots=True)
class Proposal:
    """A mapping for a table that has none, as the text of a file."""

    source: str
    text: str


def deliver_databases(
    ledger: Ledger,
    addresses: Sequence[str],
    configuration: Configuration,
    *,
    mapping: RowMapping | None = None,
    table: str | None = None,
    progress: Progress | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> list[DeliveryResult | Proposal]:
    """What became of the table of each address; one that cannot be read does not stop the others.

    `table` names it where the mapping does not; else it is that of LiteLLM. A proposal stands for
    a table that is not known and has no mapping. Raises `ConfigurationError` for a mapping that
    does not fit its table.
    """
    take = partial(TableDelivery, ledger=ledger, configuration=configuration, clock=clock)
    results = [
        _delivered(Address(given), mapping, table, configuration, partial(take, progress=progress))
        for given in addresses
    ]
    charge(ledger, configuration)
    return results


def _delivered(
    address: Address,
    mapping: RowMapping | None,
    table: str | None,
    configuration: Configuration,
    take: Callable[..., TableDelivery],
) -> DeliveryResult | Proposal:
    delivery: TableDelivery | None = None
    error: str | None = None
    try:
        with snapshot(address) as now:
            shape = _meant(now, mapping, table)
            reading = _reading(shape, mapping, configuration)
            if reading is None:
                return _proposal(now, shape)
            delivery = take(snapshot=now, shape=shape, reading=reading)
            delivery.run()
    except DatabaseSourceError as found:
        error = found.found
    if delivery is None:
        return DeliveryResult(source=address.shown, format_name=None, error=error)
    return DeliveryResult(
        source=delivery.source,
        format_name=delivery.reading.format_name,
        counts=delivery.counts,
        reject_reasons=tuple(delivery.reasons.values()),
        error=error,
    )


def _meant(now: Snapshot, mapping: RowMapping | None, table: str | None) -> Shape:
    """The table that is named, else that of LiteLLM, else the one that looks most like calls."""
    named = table or (mapping.table.name if mapping is not None else None)
    if named is not None:
        return shape_of(now, named)
    known = table_names(now)
    if not known:
        raise DatabaseSourceError(now.address, "it has no table that this user may see")
    logs = [entry for entry in known if entry[1] == SPEND_LOGS]
    if len(logs) > 1:
        shown = ", ".join(f"{schema}.{name}" if schema else name for schema, name in logs)
        raise DatabaseSourceError(
            now.address, f"{SPEND_LOGS} is there more than once: {shown}; name one with --table"
        )
    if logs:
        return shape_of(now, ".".join(part for part in logs[0] if part))
    if mapping is not None:
        raise DatabaseSourceError(
            now.address, "the mapping names no table; say [table] name or --table"
        )
    shapes = [shape_of(now, ".".join(part for part in entry if part)) for entry in known]
    return max(shapes, key=lambda shape: len(matches(shape.types)))


def _proposal(now: Snapshot, shape: Shape) -> Proposal:
    rows = now.all(sample(shape, list(shape.types)))
    samples = {
        name: [row[place] for row in rows if row[place] is not None]
        for place, name in enumerate(shape.types)
    }
    text = proposed_mapping(samples, name=shape.shown, primary_key=shape.primary_key)
    return Proposal(f"{now.address.shown}#{shape.shown}", text)


def _reading(
    shape: Shape, mapping: RowMapping | None, configuration: Configuration
) -> Reading | None:
    if is_spend_logs(shape):
        return spend_logs(shape, mapping, with_texts=configuration.content != "off")
    return None if mapping is None else mapped_table(shape, mapping)
